"""Finds input files by path, or by the name of one that ships with specsim, in a checkout or an installed wheel."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

from specsim.errors import InputError, Problem

_PACKAGE = Path(__file__).resolve().parents[2]
ROOT = _PACKAGE / "_data" if (_PACKAGE / "_data").is_dir() else _PACKAGE.parent

# kind → (folder, file ending, the command that lists it)
KINDS = {
    "scenario": (ROOT / "scenarios", ".yaml", "specsim list scenarios"),
    "grid": (ROOT / "scenarios" / "grids", ".yaml", "specsim list grids"),
    "device": (ROOT / "hardware", ".yaml", "specsim list hardware"),
    "engine": (ROOT / "hardware" / "engines", ".yaml", "specsim list engines"),
    "model": (ROOT / "scenarios" / "models", ".json", "specsim list models"),
    "lengths": (ROOT / "scenarios" / "lengths", ".csv", "specsim list lengths"),
    "recording": (ROOT / "scenarios" / "recordings", ".jsonl", "none ships with specsim"),
    "text": (ROOT / "scenarios" / "texts", ".txt", "specsim list texts"),
    "measurements": (ROOT / "hardware" / "measured" / "serving", ".csv", "specsim list measurements"),
    "steps": (ROOT / "hardware" / "measured" / "steps", ".csv", "specsim list steps"),
}

PATH_ENDINGS = {".yaml", ".yml", ".json", ".jsonl", ".csv", ".txt", ".md"}


def names(kind: str) -> list[str]:
    """The catalogue names of one kind, sorted."""
    folder, ending, _ = KINDS[kind]
    return sorted(path.name.removesuffix(ending) for path in folder.glob(f"*{ending}"))


def find(kind: str, reference: str, folders: Sequence[Path], *, where: str, path: str) -> Path:
    """The file of a reference: a path if it looks like one, else a catalogue name.

    Args:
        kind: one of KINDS.
        reference: what the user wrote.
        folders: where a relative path is looked for, in this order.
        where, path: the place that holds the reference, for the message.

    Raises:
        InputError: when there is no such file or name.
    """
    folder, ending, command = KINDS[kind]
    looks_like_path = "/" in reference or "\\" in reference or Path(reference).suffix in PATH_ENDINGS
    if looks_like_path:
        for start in folders:
            if os.path.isfile(start / reference):  # Path.is_file raises for a name that no file could have
                return (start / reference).resolve()
        folders_named = [start / reference for start in folders if os.path.isdir(start / reference)]
        if folders_named:
            remedy = "is a folder; name a file in it"
            raise InputError([Problem(where, path, repr(reference), remedy)])
        tried = " and ".join(str(start) for start in dict.fromkeys(folders))
        remedy = f"no such file (looked in {tried}); correct the path or write a catalogue name ({command})"
        raise InputError([Problem(where, path, repr(reference), remedy)])
    if os.path.isfile(folder / f"{reference}{ending}"):
        return folder / f"{reference}{ending}"
    known = names(kind)
    begun = [name for name in known if name.startswith(reference)] if reference else []
    close = begun or difflib.get_close_matches(reference, known, n=1)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    remedy = f"no {kind} of that name; {hint}known: {', '.join(known)}; or give the path of a file"
    raise InputError([Problem(where, path, repr(reference), remedy)])
