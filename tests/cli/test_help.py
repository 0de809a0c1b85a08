"""Every command explains itself with an example, and asking for help costs no heavy import."""

import re
import subprocess
import sys

import pytest

import specsim
from specsim.cli.main import PANELS

COMMANDS = [name for commands in PANELS.values() for name in commands]
HEAVY = ("numpy", "scipy", "pandas", "matplotlib", "pydantic", "yaml", "numba")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_each_command_has_an_example(command, name, option):
    code, out, err = command(name, option)
    assert (code, err) == (0, "")
    assert re.search(rf"^ *(• |Example: )specsim {name}\b", out, re.MULTILINE)  # each on a line of its own


def test_the_command_names_what_it_can_do(command):
    code, out, _ = command("--help")
    assert code == 0
    assert all(f" {name} " in out for name in COMMANDS)


def test_no_arguments_are_a_call_for_help(command):
    code, out, err = command()
    assert code == 2
    assert "curve" in out + err


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--help",), ()])
def test_help_imports_nothing_heavy(arguments):
    script = (
        "import sys\n"
        f"sys.argv = ['specsim', *{arguments}]\n"
        "from specsim.cli.main import main\n"
        "try:\n    main()\n"
        "finally:\n"
        f"    print('loaded:', [name for name in {HEAVY} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1] == "loaded: []"


def test_the_version(command):
    assert command("--version")[:2] == (0, f"specsim {specsim.__version__}\n")
