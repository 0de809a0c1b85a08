"""The house stays legible: few files in a folder, few lines in a file."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES, MOST_LINES = 20, 300
LONGER = {"specsim/verification/compiled/rules.py"}  # one file, since numba keeps its code by file


@pytest.mark.parametrize("top", ["specsim", "tests", "benchmarks"])
def test_no_folder_holds_more_than_a_reader_takes_in(top):
    counts = {path.parent: 0 for path in (ROOT / top).rglob("*.py")}
    for path in (ROOT / top).rglob("*.py"):
        counts[path.parent] += 1
    assert not {str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > MOST_FILES}


@pytest.mark.parametrize("top", ["specsim", "benchmarks"])
def test_no_file_is_longer_than_one_idea(top):
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / top).rglob("*.py")
    }
    assert not {name: n for name, n in lengths.items() if n > MOST_LINES and name not in LONGER}


def test_exceptions_are_still_needed():
    assert all(len((ROOT / name).read_text(encoding="utf-8").splitlines()) > MOST_LINES for name in LONGER)
