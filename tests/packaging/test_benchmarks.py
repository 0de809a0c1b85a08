"""The benchmarks run: nothing else would notice when what they call is renamed."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = [file for file in sorted(FOLDER.glob("*.py")) if file.name != "torch_samplers.py"]  # needs PyTorch


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_finds_what_it_calls(script):
    runpy.run_path(str(script))


@pytest.mark.slow
def test_each_kind_runs_once():
    """One shape of each, without timing."""
    pytest.importorskip("pytest_benchmark")
    chosen = ("--benchmark-disable", "-k", "1-3-4 or called_from_compiled", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", str(FOLDER), "-q", *chosen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
