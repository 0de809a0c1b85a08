"""Files and folders that are put in place whole or not at all: written under a name of their own, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

SCRATCH = ".specsim-"
"""What names of unfinished files and folders begin with; the rest is drawn, so that several writers never mix."""


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write one file elsewhere, then move it in.

    Args:
        path: of the file; what stands there is replaced.
        write: writes it to a path.

    Raises:
        OSError: when it cannot be written; what was there is kept.
    """
    handle, name = tempfile.mkstemp(prefix=SCRATCH, dir=path.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        write(scratch)
        scratch.chmod(0o666 & ~_umask())  # mkstemp's are for the owner alone
        os.replace(scratch, path)
    finally:
        with suppress(OSError):
            scratch.unlink()


def put_in_place(scratch: Path, folder: Path, replaced: Collection[str]) -> None:
    """Make a folder that was written elsewhere the one at a path, keeping what else lies there.

    One rename takes the old folder away and one puts the new in its place, so that nobody ever sees half of each. Where
    folders cannot be renamed (one that the process works in, a mount point), files are moved in one by one.

    Args:
        scratch: the new folder, on the same file system.
        folder: where it is to be; it need not exist.
        replaced: names in the old folder that belong to the earlier result and go with it.

    Raises:
        OSError: when it cannot be put there.
    """
    folder = folder.resolve()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch.chmod(0o777 & ~_umask())
        os.rename(scratch, folder)
        return
    if scratch.parent != folder.parent or Path.cwd().is_relative_to(folder) or not _swapped(scratch, folder, replaced):
        for name in replaced:
            (folder / name).unlink()
        for file in list(scratch.iterdir()):
            os.replace(file, folder / file.name)


def _swapped(scratch: Path, folder: Path, replaced: Collection[str]) -> bool:
    """Whether the folders could be renamed; if not, all is as before."""
    new = {file.name for file in scratch.iterdir()}
    scratch.chmod(folder.stat().st_mode & 0o7777)
    old = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder.parent))
    try:
        os.rename(folder, old)  # over a folder that is empty
    except OSError:
        old.rmdir()
        return False
    try:
        os.rename(scratch, folder)
    except OSError:
        return False
    finally:
        if not folder.exists():  # refused, or interrupted between the two
            os.rename(old, folder)
    for kept in list(old.iterdir()):
        if kept.name not in new and kept.name not in replaced:
            os.rename(kept, folder / kept.name)
    shutil.rmtree(old, ignore_errors=True)
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
