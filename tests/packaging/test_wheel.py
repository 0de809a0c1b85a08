"""A wheel carries the catalogue, and what is unpacked from it finds the catalogue by name."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("specsim", "hardware", "scenarios", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, source / part)
    arguments = ["-m", "pip", "wheel", "--no-deps", "--disable-pip-version-check", "--wheel-dir", built, source]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300)
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("needs hatchling, which cannot be fetched here")
    assert done.returncode == 0, done.stderr
    (file,) = built.glob("specsim_llm-*.whl")
    return file


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(unpacked, *arguments):
    # as it stands: compiling anew, in each of the processes, would take longer than all that is run here
    environment = os.environ | {"PYTHONPATH": str(unpacked), "SPECSIM_CORE": "numpy"}
    command = [sys.executable, "-m", "specsim", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=unpacked, env=environment)


@pytest.mark.slow
def test_the_catalogue_is_inside(unpacked):
    data = unpacked / "specsim" / "_data"
    for part in ("hardware", "scenarios"):
        shipped = {file.relative_to(ROOT) for file in (ROOT / part).rglob("*") if file.is_file()}
        assert {file.relative_to(data) for file in (data / part).rglob("*") if file.is_file()} == shipped


@pytest.mark.slow
def test_nothing_else_is_inside(unpacked):
    top = {path.name for path in unpacked.iterdir()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"specsim"}


@pytest.mark.slow
def test_what_is_installed_finds_its_own_catalogue(unpacked):
    doctor = run(unpacked, "list", "scenarios")
    assert doctor.returncode == 0, doctor.stderr
    assert " llama3.1-8b-h100-eagle3 " in doctor.stdout
    place = "from specsim.inputs.read import catalogue; print(catalogue.ROOT)"
    environment = os.environ | {"PYTHONPATH": str(unpacked)}
    found = subprocess.run([sys.executable, "-c", place], capture_output=True, text=True, env=environment, cwd=unpacked)
    assert Path(found.stdout.strip()) == (unpacked / "specsim" / "_data").resolve()


@pytest.mark.slow
def test_what_is_installed_simulates_a_scenario_by_name(unpacked, tmp_path):
    small = ("--set", "run.replications=2", "--set", "workload.num_requests=8", "--set", "workload.load.concurrency=4")
    done = run(unpacked, "simulate", "azure-conversation-h100-eagle3", *small, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "summary.json").is_file()
