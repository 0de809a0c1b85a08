"""Rows of a table as they come, block after block: held in memory, or written to a file and read from there.

Knows nothing of what the columns mean. What was read is the same either way; a file's rows take room only as far as
they are looked at, and the system takes it back when it is short.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Rows:
    """A table that grows.

    Args:
        columns: how many there are.
        dtype: of all of them.
        file: where rows are written as they come; None to hold them.
    """

    def __init__(self, columns: int, dtype: DTypeLike, file: Path | None = None) -> None:
        self._columns, self._dtype, self._file = columns, np.dtype(dtype), file
        self._blocks: list[NDArray[Any]] = []
        self._number = 0
        if file is not None:
            file.write_bytes(b"")

    def add(self, block: NDArray[Any]) -> None:
        """Rows [any number, columns], which are copied."""
        rows = np.array(block, self._dtype, order="C")
        self._number += len(rows)
        if self._file is None:
            self._blocks.append(rows)
            return
        with self._file.open("ab") as end:
            rows.tofile(end)

    def all(self) -> NDArray[Any]:
        """Every row, of a file as a view of it [rows, columns]; nothing can be added afterwards."""
        shape = (self._number, self._columns)
        if self._file is not None and self._number:  # no view can be made of an empty file
            return np.memmap(self._file, self._dtype, "r", shape=shape)
        joined = np.concatenate([np.zeros((0, self._columns), self._dtype), *self._blocks])
        self._blocks.clear()
        return joined
