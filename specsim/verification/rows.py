"""Is a row of numbers a probability distribution, and if not, how to say which row and why.

Knows nothing of drafts and targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from specsim.errors import Problem
from specsim.verification.arrays import Floats, Int64s


def row_sum_tolerance(dtype: DTypeLike, V: int) -> float:
    """How far from 1 a row of V probabilities may sum and still count as normalised: (V + 16)·ε/2.

    With unit roundoff u = ε/2 of the row's own type, dividing V positive numbers by their sum, itself added up in that
    type in any order, leaves |Σ - 1| ≤ (V - 1)·u for the sum plus u for the division (Higham, Accuracy and Stability
    of Numerical Algorithms, 2nd ed., section 4.2). Each further elementwise step (temperature, mask, mixture) adds u;
    16 leaves room for a dozen of them and for the float64 sum that is compared here.
    """
    return (V + 16) * float(np.finfo(np.dtype(dtype)).eps) / 2


def distribution_problems(name: str, table: Floats, num_read: Int64s) -> Iterator[Problem]:
    """What keeps the first num_read[b] rows of table[b] from being distributions, one problem for each kind.

    Args:
        name: what to call the table.
        table: rows of probabilities, shape [B, N, V].
        num_read: rows to look at, shape [B]; the others are padding.
    """
    B, N, V = table.shape
    finite = np.ones((B, N), dtype=np.bool_)
    lowest, total = np.zeros((B, N)), np.ones((B, N))
    for i in range(N):  # one position at a time, so that a large table is not copied whole
        b = np.flatnonzero(num_read > i)
        rows = table[b, i]
        sound = np.isfinite(rows).all(axis=1)
        finite[b, i] = sound
        lowest[b, i] = rows.min(axis=1, where=sound[:, None], initial=0)
        total[b, i] = rows.sum(axis=1, where=sound[:, None], dtype=np.float64)

    b, j = np.nonzero(~finite)
    token = (~np.isfinite(table[b, j])).argmax(axis=1)
    remedy = "is in a row that is read, as num_draft counts it, and must be finite"
    yield from located(name, b, j, table[b, j, token], remedy)
    b, j = np.nonzero(lowest < 0)
    yield from located(name, b, j, lowest[b, j], "is the lowest probability of the row, and must not be negative")
    tolerance = row_sum_tolerance(table.dtype, V)
    b, j = np.nonzero(finite & (lowest >= 0) & (np.abs(total - 1) > tolerance))
    remedy = f"is the sum of the row, and must be 1 within {tolerance:.2g} ({V} numbers in {table.dtype}); divide by it"
    yield from located(name, b, j, total[b, j], remedy)


def located(
    name: str, b: NDArray[np.integer[Any]], i: NDArray[np.integer[Any]] | None, values: Any, remedy: str
) -> Iterator[Problem]:
    """One problem that names the first place (b, i) of a fault and counts the rest; nothing where there is none."""
    if len(b) == 0:
        return
    place = f"(b={b[0]})" if i is None else f"(b={b[0]}, i={i[0]})"
    others = f" ({len(b) - 1} more like it)" if len(b) > 1 else ""
    yield Problem(name, place, str(values[0]), remedy + others)
