"""Every table under invalid_tables/ is refused in full: each problem of each row once, with line, column and remedy.

A file's leading ``# expects:`` lines each describe one problem, by texts that its line of the message holds.
"""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "invalid_tables"
FILES = sorted(FOLDER.glob("*.csv"))
MARK = "# expects: "


def expected_problems(file):
    lines = file.read_text().splitlines()
    return [line.removeprefix(MARK).split(" | ") for line in lines if line.startswith(MARK)]


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_problem_is_named_once(command, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    option = "--steps" if file.stem.startswith("steps") else "--measurements"
    code, out, err = command("validate", option, file, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    headline, *found = err.splitlines()
    expected = expected_problems(file)
    plural = "s" if len(expected) > 1 else ""
    assert headline == f"specsim: invalid input ({len(expected)} problem{plural}):", err
    for fragments in expected:
        matching = [line for line in found if all(fragment in line for fragment in fragments)]
        assert len(matching) == 1, (fragments, found)
    assert all(line.startswith(f"  {file}: ") for line in found), "each names its file"
    assert not list(tmp_path.iterdir())


def test_the_corpus_is_found():
    assert len(FILES) > 6
    assert all(expected_problems(file) for file in FILES)
