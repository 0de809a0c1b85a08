"""Writes a result folder whole or not at all, and never over an earlier one unasked."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from specsim.errors import InputError, Problem

Writer = Callable[[Path], None]


def refuse_existing(folder: Path, *, force: bool) -> None:
    """Say before any work is done that a folder would have to be overwritten.

    Raises:
        InputError: when it exists, is not empty and ``force`` is not given, or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError([Problem("--out", "", repr(str(folder)), "is a file; name a folder")])
    if folder.is_dir() and any(folder.iterdir()) and not force:
        remedy = "exists already; add --force to overwrite its results, or name another folder with --out"
        raise InputError([Problem("--out", "", repr(str(folder)), remedy)])
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        remedy = f"cannot be made, since {str(nearest)!r} cannot be written; name another folder with --out"
        raise InputError([Problem("--out", "", repr(str(folder)), remedy)])


def write_folder(folder: Path, writers: Mapping[str, Writer], *, force: bool) -> None:
    """Write every file beside the folder first, then move them in; other files in the folder are left alone.

    Args:
        folder: made if it does not exist.
        writers: file name → what writes it to a path.
        force: whether files of an earlier result may be replaced.

    Raises:
        InputError: as ``refuse_existing`` does.
    """
    refuse_existing(folder, force=force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, write in writers.items():
            write(scratch / name)
        folder.mkdir(exist_ok=True)
        for name in writers:
            os.replace(scratch / name, folder / name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def text_writer(text: str) -> Writer:
    """Writes a text as UTF-8."""

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def bytes_writer(content: bytes) -> Writer:
    """Writes bytes as they are."""

    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def table_writer(frame: pd.DataFrame) -> Writer:
    """Writes a table as CSV, with ten significant digits."""

    def write(path: Path) -> None:
        frame.to_csv(path, index=False, float_format="%.10g")

    return write
