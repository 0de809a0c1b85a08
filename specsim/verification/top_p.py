"""Which tokens top-p drops, without sorting a whole vocabulary where a few tokens decide.

Knows nothing of the other filters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specsim.verification.arrays import Bools, Float64s

_FIRST_CANDIDATES = 64


def above_top_p(p: Float64s, top_p: NDArray[np.floating]) -> Bools:
    """Tokens before which, by probability, top_p is reached already: those to drop; shape [n, V].

    Args:
        p: distributions, shape [n, V].
        top_p: in (0, 1), shape [n].
    """
    dropped: Bools = p < _thresholds(p, top_p)[:, None]
    return dropped


def _thresholds(p: Float64s, top_p: NDArray[np.floating]) -> Float64s:
    """The probability of the token that crosses top_p, for each row.

    The most probable tokens are partitioned off and sorted, at first a few; rows where these fall short of top_p take
    eight times as many.
    """
    n, V = p.shape
    threshold = np.zeros(n)
    candidates, rows = _FIRST_CANDIDATES, np.arange(n)
    while len(rows):
        part = p[rows]
        if candidates < V:
            part = np.partition(part, V - candidates, axis=1)[:, V - candidates :]
        part = -np.sort(-part, axis=1)
        reached = part.cumsum(axis=1) >= top_p[rows, None]
        crossing = reached.argmax(axis=1)
        found = reached[:, -1]
        threshold[rows[found]] = part[found, crossing[found]]
        # By rounding the sum of all can fall short of a top_p just below 1: then nothing is dropped.
        rows = rows[~found] if candidates < V else rows[:0]
        candidates *= 8
    return threshold
