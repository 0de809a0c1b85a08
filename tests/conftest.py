"""What every part of the suite may need: the data that a checkout can have beside it, and the command line."""

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytest_plugins = ("support.engine",)


class Outcome(NamedTuple):
    """What a command leaves on the terminal."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared, which is not beside this checkout")
    return folder


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs ``specsim`` with arguments, in this process."""
    from specsim.cli.main import main

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["specsim", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        return Outcome(stop.value.code or 0, *capsys.readouterr())

    return run
