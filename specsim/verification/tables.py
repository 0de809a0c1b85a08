"""Drafts in the one form that compiled code takes: contiguous tables of distributions, and rows in them.

Dense arrays are tables already, seen without a copy. Knows no rule.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from specsim.verification.arrays import Floats, Int64s, Ints
from specsim.verification.drafts import ONE_HOT, Drafts

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


class Tables(NamedTuple):
    """Distributions and where drafts have theirs.

    Attributes:
        q, q_row: a table [Rq, V] and the rows drafts were sampled from, or ONE_HOT, [B, K].
        p, p_row: a table [Rp, V] and the rows that judge the drafts and follow them, [B, K+1].
    """

    q: Floats
    q_row: Int64s
    p: Floats
    p_row: Int64s


def tables_of(drafts: Drafts) -> Tables | None:
    """The tables of whole batches of drafts; None where their memory layout would require a copy."""
    B, K = drafts.draft.shape
    p = _table(drafts.p, drafts.p_row, B, K + 1)
    if drafts.q is None or drafts.q.size == 0:
        q = None if p is None else (p[0], _not_sampled(B, K))
    else:
        q = _table(drafts.q, drafts.q_row, B, K)
    return None if p is None or q is None else Tables(*q, *p)


def flat_rows(table: Floats, index: tuple[Ints, ...]) -> tuple[Floats, Int64s] | None:
    """Rows of a table [..., V] as rows of a contiguous one [R, V] and indices [N]; None if that needs a copy."""
    if table.dtype not in _DTYPES or not table.flags.c_contiguous:
        return None
    rows = index[0] if len(index) == 1 else np.ravel_multi_index(index, table.shape[:-1])
    return table.reshape(-1, table.shape[-1]), np.ascontiguousarray(rows, np.int64)


def _table(array: Floats, rows: Ints | None, B: int, width: int) -> tuple[Floats, Int64s] | None:
    if array.dtype not in _DTYPES:
        return None
    if rows is not None:
        return (array, np.ascontiguousarray(rows, np.int64)) if array.flags.c_contiguous else None
    if array.flags.c_contiguous:
        return array.reshape(-1, array.shape[-1]), _dense_rows(B, width)
    first = array[0]  # the same distributions for the whole batch, as a broadcast view has them
    if array.strides[0] == 0 and first.flags.c_contiguous:
        return first, _same_rows(B, width)
    return None


@lru_cache(maxsize=1024)
def _dense_rows(B: int, width: int) -> Int64s:
    return np.arange(B * width).reshape(B, width)


@lru_cache(maxsize=1024)
def _same_rows(B: int, width: int) -> Int64s:
    return np.ascontiguousarray(np.broadcast_to(np.arange(width), (B, width)))


@lru_cache(maxsize=1024)
def _not_sampled(B: int, K: int) -> Int64s:
    return np.full((B, K), ONE_HOT)
