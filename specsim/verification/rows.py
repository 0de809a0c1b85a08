"""Is a row of numbers a probability distribution, and if not, how to say which row and why.

Knows nothing of drafts and targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from specsim.errors import Problem
from specsim.verification.arrays import Floats, Ints
from specsim.verification.draws import parts


def row_sum_tolerance(dtype: DTypeLike, V: int) -> float:
    """How far from 1 a row of V probabilities may sum and still count as normalised: (V + 16)·ε/2.

    With unit roundoff u = ε/2 of the row's own type, dividing V positive numbers by their sum, itself added up in that
    type in any order, leaves |Σ - 1| ≤ (V - 1)·u for the sum plus u for the division (Higham, Accuracy and Stability
    of Numerical Algorithms, 2nd ed., section 4.2). Each further elementwise step (temperature, mask, mixture) adds u;
    16 leaves room for a dozen of them and for the float64 sum that is compared here.
    """
    return (V + 16) * float(np.finfo(np.dtype(dtype)).eps) / 2


def distribution_problems(
    name: str, table: Floats, index: tuple[Ints, ...], place: Mapping[str, Ints]
) -> Iterator[Problem]:
    """What keeps some rows of a table from being distributions, one problem for each kind.

    Args:
        name: what to call the table.
        table: probabilities, shape [..., V].
        index: which of its rows to look at: an array for each axis but the last, all of one length N.
        place: what to call these rows, as for `located`.
    """
    N, V = len(index[0]), table.shape[-1]
    finite = np.ones(N, dtype=np.bool_)
    lowest, total = np.zeros(N), np.ones(N)
    for part in parts(N, V):  # so that a large table is not copied whole
        rows = table[tuple(axis[part] for axis in index)]
        sound = np.asarray(np.isfinite(rows).all(axis=1))
        finite[part] = sound
        lowest[part] = rows.min(axis=1, where=sound[:, None], initial=0)
        total[part] = rows.sum(axis=1, where=sound[:, None], dtype=np.float64)

    bad = np.flatnonzero(~finite)
    rows = table[tuple(axis[bad] for axis in index)]
    token = np.asarray(~np.isfinite(rows)).argmax(axis=1)
    remedy = "is in a row that is read, as num_draft (or num_nodes) counts it, and must be finite"
    yield from located(name, place, bad, rows[np.arange(len(bad)), token], remedy)
    bad = np.flatnonzero(lowest < 0)
    yield from located(name, place, bad, lowest[bad], "is the lowest probability of the row, and must not be negative")
    tolerance = row_sum_tolerance(table.dtype, V)
    bad = np.flatnonzero(finite & (lowest >= 0) & (np.abs(total - 1) > tolerance))
    remedy = f"is the sum of the row, and must be 1 within {tolerance:.2g} ({V} numbers in {table.dtype}); divide by it"
    yield from located(name, place, bad, total[bad], remedy)


def located(
    name: str, place: Mapping[str, Ints], bad: NDArray[np.integer[Any]], values: Any, remedy: str
) -> Iterator[Problem]:
    """One problem that names the first place of a fault and counts the rest; nothing where there is none.

    Args:
        name: the argument at fault.
        place: for each name of an index ("b", "i") its values.
        bad: which of these places are at fault.
        values: what stands in the places at fault, shape [len(bad)].
        remedy: what is wrong.
    """
    if len(bad) == 0:
        return
    where = ", ".join(f"{axis}={index[bad[0]]}" for axis, index in place.items())
    others = f" ({len(bad) - 1} more like it)" if len(bad) > 1 else ""
    yield Problem(name, f"({where})", str(values[0]), remedy + others)


def listed(
    name: str, b: NDArray[np.integer[Any]], i: NDArray[np.integer[Any]] | None, values: Any, remedy: str
) -> Iterator[Problem]:
    """``located`` for places that are all at fault: rows b, or (row, position) pairs (b, i)."""
    place = {"b": b} if i is None else {"b": b, "i": i}
    yield from located(name, place, np.arange(len(b)), values, remedy)
