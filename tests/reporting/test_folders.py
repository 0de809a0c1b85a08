"""A result folder is written whole or not at all, and never over an earlier one unasked."""

import os

import numpy as np
import pandas as pd
import pytest

from specsim.errors import InputError
from specsim.reporting.folders import (
    MANIFEST,
    bytes_writer,
    json_writer,
    manifest,
    refuse_existing,
    table_writer,
    text_writer,
    write_file,
    write_folder,
)

FILES = {"a.txt": text_writer("new"), "b.bin": bytes_writer(b"new")}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def broken(error):
    def write(path):
        path.write_text("half of it")
        raise error

    return write


def test_a_new_folder_with_its_parents(tmp_path):
    write_folder(tmp_path / "deep" / "down", FILES, force=False)
    assert names(tmp_path / "deep" / "down") == ["a.txt", "b.bin"]
    assert names(tmp_path) == ["deep"]
    assert names(tmp_path / "deep") == ["down"]


def test_an_empty_folder_may_be_used(tmp_path):
    write_folder(tmp_path, FILES, force=False)
    assert names(tmp_path) == ["a.txt", "b.bin"]


@pytest.mark.parametrize("error", [RuntimeError("a bug"), KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("place", ["new", "new/deeper", "."])
def test_a_failure_leaves_nothing_behind(tmp_path, error, place):
    with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        write_folder(tmp_path / place, FILES | {"c.txt": broken(error)}, force=False)
    assert names(tmp_path) == []


def test_a_failure_leaves_an_earlier_result_as_it_was(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(RuntimeError):
        write_folder(tmp_path, FILES | {"c.txt": broken(RuntimeError())}, force=True)
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(InputError, match="No space left on device"):
        write_folder(tmp_path / "new", {"c.txt": broken(OSError(28, "No space left on device"))}, force=False)


def test_force_replaces_its_own_files_and_leaves_others_alone(tmp_path):
    for name in ("a.txt", "notes.txt", "steps-3.csv", "steps-mine.csv"):
        (tmp_path / name).write_text("old")
    (tmp_path / MANIFEST).write_text(manifest(["a.txt", "steps-3.csv", "gone.csv", "../notes.txt", MANIFEST], {}))
    with pytest.raises(InputError, match="--force"):
        write_folder(tmp_path, FILES, force=False)
    write_folder(tmp_path, FILES, force=True)
    assert names(tmp_path) == ["a.txt", "b.bin", "notes.txt", "steps-mine.csv"]
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "notes.txt").read_text() == "old"


ELSEWHERE = '{"files": ["..", ".", "", "sub", "../notes.txt", "/etc/hostname", "a\\u0000b"]}'


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 3}', '{"files": [3]}', ELSEWHERE])
def test_a_manifest_that_names_no_file_of_the_folder_removes_nothing(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content)
    (tmp_path / "notes.txt").write_text("old")
    (tmp_path / "sub").mkdir()
    write_folder(tmp_path, FILES, force=True)
    assert names(tmp_path) == ["a.txt", "b.bin", MANIFEST, "notes.txt", "sub"]


def test_a_folder_in_the_place_of_a_file_leaves_an_earlier_result_whole(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / MANIFEST).write_text(manifest(["a.txt", MANIFEST], {}))
    (tmp_path / "b.bin").mkdir()
    with pytest.raises(InputError, match=r"holds folders called b\.bin"):
        write_folder(tmp_path, FILES, force=True)
    assert names(tmp_path) == ["a.txt", "b.bin", MANIFEST]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_what_is_read_must_lie_elsewhere(tmp_path):
    (tmp_path / "mine.yaml").write_text("")
    with pytest.raises(InputError, match=r"holds mine\.yaml, an input"):
        refuse_existing(tmp_path, force=True, read=[tmp_path / "mine.yaml"])


def test_a_file_is_not_a_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(InputError, match="is a file; name a folder"):
        refuse_existing(file, force=True)
    with pytest.raises(InputError, match="cannot be written"):
        refuse_existing(file / "below", force=True)


def test_a_parent_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be written, since"):
        refuse_existing(tmp_path / "new", force=False)
    with pytest.raises(InputError, match="cannot be written, since"):
        refuse_existing(tmp_path, force=True)


def test_one_file(tmp_path):
    file = tmp_path / "table.csv"
    write_file(file, text_writer("new"), force=False)
    with pytest.raises(InputError, match="--force"):
        write_file(file, text_writer("newer"), force=False)
    with pytest.raises(RuntimeError):
        write_file(file, broken(RuntimeError()), force=True)
    assert file.read_text() == "new"
    write_file(file, text_writer("newer"), force=True)
    assert file.read_text() == "newer"
    assert names(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("place", ["no/such/folder.csv", "."])
def test_one_file_where_it_cannot_be(tmp_path, place):
    with pytest.raises(InputError, match="cannot be written"):
        write_file(tmp_path / place, text_writer("new"), force=True)


def test_tables_keep_ten_digits(tmp_path):
    table_writer(pd.DataFrame({"x": [1 / 3], "n": [12]}))(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "x,n\n0.3333333333,12\n"


def test_json_has_no_numbers_that_are_not_finite(tmp_path):
    content = {"a": float("nan"), "b": (np.float64(1.5), np.inf, np.int64(2)), "c": {"d": [True, None, "é"]}}
    json_writer(content)(tmp_path / "t.json")
    text = (tmp_path / "t.json").read_text(encoding="utf-8")
    assert text == (
        '{\n  "a": null,\n  "b": [\n    1.5,\n    null,\n    2\n  ],\n  "c": {\n    "d": [\n      true,\n      null,\n'
        '      "é"\n    ]\n  }\n}\n'
    )


def test_the_new_folder_takes_the_place_of_the_old_in_one_step(tmp_path, monkeypatch):
    """Files that are no part of the earlier result stay; nobody who looks sees some of each."""
    out = tmp_path / "out"
    write_folder(
        out,
        FILES | {"old.txt": text_writer("old"), MANIFEST: text_writer('{"files": ["old.txt", "manifest.json"]}')},
        force=False,
    )
    (out / "mine.txt").write_text("mine")
    (out / "sub").mkdir()
    (out / "sub" / "mine.txt").write_text("mine")
    out.chmod(0o750)
    seen, rename = [], os.rename

    def watched(source, target):
        rename(source, target)
        seen.append(names(out) if out.exists() else None)

    monkeypatch.setattr(os, "rename", watched)
    write_folder(out, FILES | {"c.txt": text_writer("new")}, force=True)
    assert seen[:2] == [None, ["a.txt", "b.bin", "c.txt"]]
    assert names(out) == ["a.txt", "b.bin", "c.txt", "mine.txt", "sub"]
    assert (out / "sub" / "mine.txt").read_text() == "mine"
    assert out.stat().st_mode & 0o777 == 0o750
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("failing", [0, 1])
def test_folders_that_cannot_be_renamed_take_the_files_one_by_one(tmp_path, monkeypatch, failing):
    """Such as a mount point; in whichever of the two renames it shows."""
    out = tmp_path / "out"
    write_folder(out, FILES, force=False)
    (out / "mine.txt").write_text("mine")
    rename, calls = os.rename, []

    def refused(source, target):
        calls.append(1)
        if len(calls) - 1 == failing:
            raise OSError(16, "Device or resource busy")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refused)
    write_folder(out, {"a.txt": text_writer("newer")}, force=True)
    assert (out / "a.txt").read_text() == "newer"
    assert names(out) == ["a.txt", "b.bin", "mine.txt"]
    assert names(tmp_path) == ["out"]


def test_a_folder_that_one_works_in_stays_the_same_folder(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(out)
    before = out.stat().st_ino
    write_folder(out, FILES, force=False)
    assert out.stat().st_ino == before
    assert names(out) == ["a.txt", "b.bin"]
    assert names(tmp_path) == ["out"]


def test_two_writers_of_one_file_do_not_mix(tmp_path):
    """The second begins and ends while the first writes; whoever is last wins, whole."""
    path = tmp_path / "trace.json"

    def outer(scratch):
        scratch.write_text("first, ")
        write_file(path, text_writer("second"), force=True)
        assert path.read_text() == "second"
        with scratch.open("a") as file:
            file.write("still the first")

    write_file(path, outer, force=True)
    assert path.read_text() == "first, still the first"
    assert names(tmp_path) == ["trace.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_texts_that_a_spreadsheet_would_run_are_quoted(tmp_path):
    names_ = ["=1+1", "+a", "-b", "@c", "plain", "-0.5", None, "\tx"]
    table_writer(pd.DataFrame({"name": names_, "value": range(8)}))(tmp_path / "t.csv")
    found = [line.rsplit(",", 1)[0] for line in (tmp_path / "t.csv").read_text().splitlines()[1:]]
    assert found == ["'=1+1", "'+a", "'-b", "'@c", "plain", "-0.5", "", "'\tx"]
