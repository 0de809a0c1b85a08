"""Minimum and sum of rows of a table in one compiled pass: the same bits as `rows.extremes` in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, njit, types

from specsim.verification.arrays import Float64s, Floats, Int64s
from specsim.verification.compiled.forms import OPTIONS, cached, read_only
from specsim.verification.summation import BLOCK, LANES, SEQUENTIAL

_inner = njit(**OPTIONS)


@_inner
def _lower(number: float, other: float) -> float:
    """The lower number; the other one where the first is no number."""
    return number if number < other else other


def _extremes(table: Floats, rows: Int64s, lowest: Float64s, total: Float64s) -> None:
    """The minimum, or 0, and the sum of some rows of a table; see `rows.extremes`."""
    V = table.shape[1]
    least, w = np.empty(LANES, table.dtype), np.empty(LANES, table.dtype)
    for n in range(len(rows)):
        i, running = rows[n], 0.0
        least[:] = 0.0
        full = 0 if V <= SEQUENTIAL else V // BLOCK
        for k in range(full):
            w[:] = 0.0
            for start in range(k * BLOCK, (k + 1) * BLOCK, 4 * LANES):
                part = table[i, start : start + 4 * LANES]
                for x in range(LANES):
                    a, b, c, d = part[x], part[x + LANES], part[x + 2 * LANES], part[x + 3 * LANES]
                    w[x] = (((w[x] + a) + b) + c) + d
                    least[x] = _lower(a, _lower(b, _lower(c, _lower(d, least[x]))))
            for x in range(16):
                w[x] += w[x + 16]
            for x in range(8):
                w[x] += w[x + 8]
            running += np.float64(((w[0] + w[4]) + (w[2] + w[6])) + ((w[1] + w[5]) + (w[3] + w[7])))
        w[:] = 0.0
        for x in range(full * BLOCK, V):
            least[0] = _lower(table[i, x], least[0])
            if full:
                w[x % LANES] += table[i, x]
            else:
                running += table[i, x]
        if V % BLOCK and full:
            half = LANES // 2
            while half:
                for x in range(half):
                    w[x] += w[x + half]
                half //= 2
            running += w[0]
        lowest[n], total[n] = least.min(), running


@cache
def _extremes_for(table: np.dtype[Any]) -> Callable[..., None]:
    """`_extremes` for a table of this type."""
    result = types.Array(types.float64, 1, "C")
    return cached(_extremes, read_only(from_dtype(table), 2), read_only(types.int64, 1), result, result)


def extremes(table: Floats, rows: Int64s) -> tuple[Float64s, Float64s]:
    """(minimum or 0, sum) of some rows [N] of a table [R, V], in the table's unit; both float64 [N]."""
    lowest, total = np.empty((2, len(rows)))
    _extremes_for(table.dtype)(table, rows, lowest, total)
    return lowest, total
