"""Layers and lazy imports: a leaf must not load what only the top needs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# part → what importing it may not load
LIGHT = {
    "specsim": ("numpy", "pydantic", "yaml", "pandas", "matplotlib", "scipy", "numba", "typer"),
    "specsim.errors": ("numpy", "pydantic", "yaml", "pandas", "matplotlib", "scipy", "numba", "typer"),
    "specsim.verification": ("pydantic", "yaml", "pandas", "matplotlib", "numba", "typer", "rich"),
    "specsim.inputs.read.scenario": ("pandas", "matplotlib", "scipy.stats", "numba", "typer", "rich"),
    "specsim.engine.run": ("numba", "pandas", "matplotlib", "scipy.stats", "typer", "rich"),
    "specsim.simulation.replica": ("numba", "pandas", "matplotlib", "scipy.stats", "typer", "rich"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("part", "heavy"), LIGHT.items(), ids=LIGHT)
def test_importing_a_part_loads_only_what_it_needs(part, heavy):
    script = f"import sys, {part}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_arrows_point_down():
    program = Path(sys.executable).with_name("lint-imports")
    if not program.exists():
        pytest.skip("needs import-linter, which is not installed")
    done = subprocess.run([program, "--no-cache"], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout
