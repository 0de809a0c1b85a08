"""Files that would take too long or too much memory to read are refused before, or as soon as that shows."""

import os

import pytest

from specsim.errors import InputError
from specsim.inputs.read import documents
from specsim.inputs.read.documents import parse_yaml, read_lines, read_text


def bomb(levels, width=9):
    """Each level holds the one before ``width`` times."""
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(lines)


def test_aliases_that_multiply_are_counted_and_not_written_out():
    assert len(parse_yaml(bomb(6), "here")) == 6  # 9^5 = 59,049 in the last
    with pytest.raises(InputError, match="more than 1,000,000 values once its aliases"):
        parse_yaml(bomb(9), "here")


@pytest.mark.parametrize("text", ["? [a]\n: 1\n", "{[a]: 1}", "{{a: b}: 1}"])
def test_keys_are_words(text):
    with pytest.raises(InputError, match=r"line 1, column .*a key is a list or a mapping; write a single word"):
        parse_yaml(text, "here")


def test_what_is_no_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, type(tmp_path)("/dev/zero")):
        with pytest.raises(InputError, match="is a folder, a pipe or a device; give a file"):
            read_text(path)


def test_large_files_are_refused_by_their_size(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "LARGEST_TABLE", 2**20)
    (tmp_path / "table.csv").write_bytes(b"\n" * 2**20)
    assert len(read_lines(tmp_path / "table.csv")) == 2**20
    (tmp_path / "table.csv").write_bytes(b"\n" * (3 * 2**20))
    with pytest.raises(InputError, match="holds 3 MiB; at most 1 MiB are read, give a part"):
        read_lines(tmp_path / "table.csv")
    with open(tmp_path / "sparse.yaml", "wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(InputError, match="holds 17 MiB; at most 16 MiB are read"):
        read_text(tmp_path / "sparse.yaml")


def test_a_line_is_a_row(tmp_path):
    (tmp_path / "table.csv").write_text("a\n" + "1" * (2**20 + 1))
    with pytest.raises(InputError, match="line 2: has 1,048,577 characters"):
        read_lines(tmp_path / "table.csv")
