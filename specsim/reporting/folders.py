"""Writes a result folder whole or not at all, and never over an earlier one unasked."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from specsim.errors import InputError, Problem
from specsim.swapping import SCRATCH, put_in_place, write_whole

if TYPE_CHECKING:
    import pandas as pd

Writer = Callable[[Path], None]

MANIFEST = "manifest.json"
"""What a result folder holds, by name, and what the columns of its tables are."""


def refuse_existing(folder: Path, *, force: bool, read: Iterable[Path] = ()) -> None:
    """Say before any work is done that a folder would have to be overwritten.

    Args:
        folder: where results are to go.
        force: whether those of an earlier run may be replaced.
        read: files that the results are made from; they must lie elsewhere, since results may replace them.

    Raises:
        InputError: when it exists, is not empty and ``force`` is not given, or cannot be written; and where one of the
            files read lies there.
    """
    refuse_unwritable(folder)
    if folder.is_dir() and any(folder.iterdir()) and not force:
        remedy = "exists already; add --force to overwrite its results, or name another folder with --out"
        raise InputError([Problem("--out", "", repr(str(folder)), remedy)])
    lost = dict.fromkeys(file.name for file in read if file.resolve().parent == folder.resolve())
    if lost:
        remedy = f"holds {', '.join(lost)}, an input that would be overwritten; name another folder with --out"
        raise InputError([Problem("--out", "", repr(str(folder)), remedy)])


def refuse_unwritable(folder: Path, option: str = "--out") -> None:
    """Say before any work is done that nothing could be written into a folder, which need not exist.

    Raises:
        InputError: when it is a file, or cannot be made or written; ``option`` is what named it.
    """
    _refuse_long(folder, option)
    if folder.exists() and not folder.is_dir():
        raise InputError([Problem(option, "", repr(str(folder)), "is a file; name a folder")])
    nearest = _nearest(folder)
    if not (nearest.is_dir() and os.access(nearest, os.R_OK | os.W_OK | os.X_OK) and _takes_files(nearest)):
        remedy = f"cannot be written, since {str(nearest)!r} is not writable; name another folder with {option}"
        raise InputError([Problem(option, "", repr(str(folder)), remedy)])


def _refuse_long(path: Path, option: str) -> None:
    try:
        path.exists()
    except OSError as error:  # names of more than 255 bytes, or a path of more than 4,096
        shortened = repr(f"{str(path)[:40]}...")
        raise InputError([Problem(option, "", shortened, f"{error.strerror}; name a shorter one")]) from None


def _takes_files(folder: Path) -> bool:
    """By trying: where permissions allow it, file systems such as /proc still do not."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=SCRATCH, dir=folder))
    except OSError:
        return False
    return True


def _nearest(folder: Path) -> Path:
    """The folder, or the closest one above it that exists."""
    return next(place for place in (folder, *folder.absolute().parents) if os.path.exists(place))


def write_folder(folder: Path, writers: Mapping[str, Writer], *, force: bool) -> None:
    """Write every file elsewhere first, then move them in; other files in the folder are left alone.

    Args:
        folder: made if it does not exist.
        writers: file name → what writes it to a path.
        force: whether the files of an earlier result may be replaced; those not written anew are removed.

    Raises:
        InputError: as ``refuse_existing`` does, or when the files cannot be written.
    """
    refuse_existing(folder, force=force)
    with scratch_beside(_beside(folder)) as scratch:
        for name, write in writers.items():
            write(scratch / name)
        blocked = [name for name in writers if (folder / name).is_dir()]
        if blocked:
            remedy = (
                f"holds folders called {', '.join(blocked)}, as files of the result are; name another folder with --out"
            )
            raise InputError([Problem("--out", "", repr(str(folder)), remedy)])
        put_in_place(scratch, folder, [old.name for old in _earlier(folder)])


def _beside(folder: Path) -> Path:
    """Where a folder that takes its place can be written: beside it, or in it where that cannot be."""
    parent = folder.resolve().parent
    if folder.is_dir() and not (os.access(parent, os.W_OK | os.X_OK) and _takes_files(parent)):
        return folder
    return parent


def manifest(names: Iterable[str], dictionary: Mapping[str, list[dict[str, str]]]) -> str:
    """The text of a folder's manifest.

    Args:
        names: of all files of the result.
        dictionary: file name → what each column of that table is.
    """
    return json.dumps({"files": sorted(names), "columns": dictionary}, indent=2, ensure_ascii=False) + "\n"


def _earlier(folder: Path) -> list[Path]:
    """The files of an earlier result, as its manifest names them; other files are left alone."""
    try:
        names = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return [folder / name for name in names if name == Path(name).name and (folder / name).is_file()]
    except (OSError, ValueError, TypeError, KeyError):
        return []


@contextmanager
def scratch_beside(folder: Path) -> Iterator[Path]:
    """A folder for what a run writes while it goes on, on the file system of the results; it is removed at the end.

    Raises:
        InputError: when it cannot be made, or is full.
    """
    try:
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=_nearest(folder)))
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        remedy = f"cannot be written ({error.strerror or error}); name another folder with --out"
        raise InputError([Problem("--out", "", repr(str(folder)), remedy)]) from error


def refuse_file(path: Path, *, force: bool, option: str = "--out") -> None:
    """Say before any work is done that a file could not be written.

    Args:
        path: of the file.
        force: whether it may be replaced.
        option: what named it.

    Raises:
        InputError: when it is a folder, exists and ``force`` is not given, or its folder cannot be written to.
    """
    _refuse_long(path, option)
    remedy = ""
    if path.is_dir():
        remedy = "is a folder; name a file"
    elif path.exists() and not force:
        remedy = "exists already; add --force to replace it, or name another file"
    elif not (path.parent.is_dir() and os.access(path.parent, os.W_OK | os.X_OK)):
        remedy = "cannot be written; name a file in a writable folder that exists"
    if remedy:
        raise InputError([Problem(option, "", repr(str(path)), remedy)])


def write_file(path: Path, write: Writer, *, force: bool, option: str = "--out") -> None:
    """Write one file whole or not at all; arguments as of ``refuse_file``, and what writes it.

    Raises:
        InputError: when it exists and ``force`` is not given, or cannot be written.
    """
    if path.exists() and not force:
        remedy = "exists already; add --force to replace it, or name another file"
        raise InputError([Problem(option, "", repr(str(path)), remedy)])
    try:
        write_whole(path, write)
    except OSError as error:
        remedy = f"cannot be written ({error.strerror or error}); name another file"
        raise InputError([Problem(option, "", repr(str(path)), remedy)]) from error


def text_writer(text: str) -> Writer:
    """Writes a text as UTF-8."""

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def json_writer(content: Mapping[str, Any]) -> Writer:
    """Writes JSON, with null for numbers that are not finite."""
    return text_writer(json.dumps(_finite(content), indent=2, ensure_ascii=False) + "\n")


def _finite(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def bytes_writer(content: bytes) -> Writer:
    """Writes bytes as they are."""

    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def table_writer(frame: pd.DataFrame) -> Writer:
    """Writes a table as CSV, with ten significant digits."""

    def write(path: Path) -> None:
        texts = frame.select_dtypes(exclude="number").columns
        frame.assign(**{str(name): frame[name].map(_no_formula) for name in texts}).to_csv(
            path, index=False, float_format="%.10g"
        )

    return write


def _no_formula(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula, such as a name that begins with =, behind an apostrophe."""
    if not (isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
