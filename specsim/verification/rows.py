"""Is a row of numbers a probability distribution, and if not, how to say which row and why.

Knows nothing of drafts and targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from specsim.errors import Problem
from specsim.verification.arrays import Float64s, Floats, Ints
from specsim.verification.core import compiled_core
from specsim.verification.draws import parts
from specsim.verification.summation import mass
from specsim.verification.tables import flat_rows


def row_sum_tolerance(dtype: DTypeLike, V: int) -> float:
    """How far from 1 a row of V probabilities may sum and still count as normalised: (V + 48)·ε/2.

    With unit roundoff u = ε/2 of the row's own type, dividing V positive numbers by their sum, itself added up in that
    type in any order, leaves |Σ - 1| ≤ (V - 1)·u for the sum plus u for the division (Higham, Accuracy and Stability
    of Numerical Algorithms, 2nd ed., section 4.2). Each further elementwise step (temperature, mask, mixture) adds u;
    48 leaves room for two dozen of them and for the sum that is compared here, in which no number of a large row is
    rounded more than BLOCK/LANES + log2(LANES) = 21 times in the row's own type (`summation`).
    """
    return (V + 48) * float(np.finfo(np.dtype(dtype)).eps) / 2


def distribution_problems(
    name: str, table: Floats, index: tuple[Ints, ...], place: Mapping[str, Ints]
) -> Iterator[Problem]:
    """Why some rows of a table are not distributions, one problem of each kind.

    Args:
        name: what to call the table.
        table: probabilities [..., V].
        index: which rows to check: an array [N] for each axis but the last.
        place: what to call these rows, as for `located`.
    """
    V = table.shape[-1]
    lowest, total = extremes(table, index)
    suspect = np.flatnonzero(~np.isfinite(total))
    bad, values = suspect[:0], np.empty(0)
    for part in parts(len(suspect), V):
        rows = table[tuple(axis[suspect[part]] for axis in index)]
        sound = np.isfinite(rows)
        faulty = np.flatnonzero(~sound.all(axis=1))
        bad = np.append(bad, suspect[part][faulty])
        values = np.append(values, rows[faulty, sound[faulty].argmin(axis=1)])
    lowest[bad], total[bad] = 0.0, 1.0  # nothing more to be said of them
    remedy = "is in a row that is read, as num_draft (or num_nodes) counts it, and must be finite"
    yield from located(name, place, bad, values, remedy)
    bad = np.flatnonzero(lowest < 0)
    yield from located(name, place, bad, lowest[bad], "is the lowest probability of the row, and must not be negative")
    tolerance = row_sum_tolerance(table.dtype, V)
    bad = np.flatnonzero((lowest >= 0) & (np.abs(total - 1) > tolerance))
    remedy = f"is the sum of the row, and must be 1 within {tolerance:.2g} ({V} numbers in {table.dtype}); divide by it"
    yield from located(name, place, bad, total[bad], remedy)


def extremes(table: Floats, index: tuple[Ints, ...]) -> tuple[Float64s, Float64s]:
    """(minimum, sum) of some rows of a table [..., V], both float64 [N]; the minimum is 0 if no number is negative.

    Sums as in `summation`. The sum is NaN or infinite where a number of the row is; the minimum is then undefined. Each
    row is read once.
    """
    core = compiled_core()
    if core is not None and (rows := flat_rows(table, index)) is not None:
        found: tuple[Float64s, Float64s] = core.extremes(*rows)
        return found
    N = len(index[0])
    lowest, total = np.zeros(N), np.ones(N)
    for part in parts(N, table.shape[-1]):  # so that a large table is not copied whole
        numbers = table[tuple(axis[part] for axis in index)]
        lowest[part] = numbers.min(axis=1, initial=0)
        with np.errstate(invalid="ignore", over="ignore"):
            total[part] = mass(numbers)
    return lowest, total


def located(
    name: str, place: Mapping[str, Ints], bad: NDArray[np.integer[Any]], values: Any, remedy: str
) -> Iterator[Problem]:
    """One problem that names the first index at fault and counts the rest; nothing where there is none.

    Args:
        name: the argument at fault.
        place: for each name of an index ("b", "i") its values [n].
        bad: positions in ``place`` that are at fault.
        values: values there [len(bad)].
        remedy: what is wrong.
    """
    if len(bad) == 0:
        return
    where = ", ".join(f"{axis}={index[bad[0]]}" for axis, index in place.items())
    others = f" ({len(bad) - 1} more like it)" if len(bad) > 1 else ""
    yield Problem(name, f"({where})", str(values[0]), remedy + others)


def in_rows(name: str, rows: NDArray[np.integer[Any]], values: Any, remedy: str) -> Iterator[Problem]:
    """``located`` for rows [n] of a table that are all at fault."""
    yield from located(name, {"row": rows}, np.arange(len(rows)), values, remedy)


def listed(
    name: str, b: NDArray[np.integer[Any]], i: NDArray[np.integer[Any]] | None, values: Any, remedy: str
) -> Iterator[Problem]:
    """``located`` for indices that are all at fault: rows b [n], or (row, position) pairs (b, i), both [n]."""
    place = {"b": b} if i is None else {"b": b, "i": i}
    yield from located(name, place, np.arange(len(b)), values, remedy)
