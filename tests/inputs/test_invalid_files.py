"""Every file under invalid/ is refused in full: each problem once, with its place, its value and what to write instead.

A file's leading ``# expects:`` lines each describe one problem, by texts that its line of the message holds.
"""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "invalid"
FILES = sorted(FOLDER.glob("*.yaml"))
MARK = b"# expects: "


def expected_problems(file):
    lines = file.read_bytes().splitlines()
    return [line.removeprefix(MARK).decode().split(" | ") for line in lines if line.startswith(MARK)]


@pytest.fixture
def problems(command, tmp_path, monkeypatch):
    """What ``specsim simulate`` says of a file, a line a problem, after checking that it does nothing else."""
    monkeypatch.chdir(tmp_path)

    def read(file):
        code, out, err = command("simulate", file)
        assert (code, out) == (2, "")
        headline, *found = err.splitlines()
        assert headline.startswith("specsim: ")
        assert headline.endswith(f"({len(found)} problem{'s' if len(found) > 1 else ''}):")
        assert not list(tmp_path.iterdir())
        return found

    return read


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_problem_is_named_once(problems, file):
    found, expected = problems(file), expected_problems(file)
    assert len(found) == len(expected), "\n".join(found)
    for fragments in expected:
        matching = [line for line in found if all(fragment in line for fragment in fragments)]
        assert len(matching) == 1, (fragments, found)
    assert all(line.startswith(f"  {FOLDER}") for line in found), "each names its file"


def test_the_corpus_is_found():
    assert len(FILES) > 60
    assert all(expected_problems(file) for file in FILES)
