"""A table of numbers by number of rows, which grows on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specsim.arrays import Floats, Ints

FIRST_BLOCK = 2048  # rows of a table computed at once; covers most steps


class RowTable:
    """Columns of numbers by number of rows, computed once for each block on demand.

    Args:
        compute: numbers of rows [n] → columns, each [n].
    """

    def __init__(self, compute: Callable[[Ints], Sequence[Floats]]) -> None:
        self._compute = compute
        self._rows = np.zeros((0, 0))

    def up_to(self, rows: int) -> Floats:
        """The table [at least rows + 1, columns], its columns in the units of ``compute``."""
        while rows >= len(self._rows):
            block = np.arange(len(self._rows), max(2 * len(self._rows), FIRST_BLOCK))
            columns = np.column_stack(self._compute(block))
            self._rows = np.vstack([self._rows, columns]) if len(self._rows) else np.ascontiguousarray(columns)
        return self._rows
