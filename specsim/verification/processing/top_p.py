"""Which tokens top-p drops, without sorting a whole vocabulary where a few tokens decide.

Knows nothing of the other filters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specsim.verification.arrays import Bools, Float64s

# Up to this vocabulary all rows are sorted in one go; above it, row by row, only what can matter.
_SORTED_WHOLE = 1024


def above_top_p(p: Float64s, top_p: NDArray[np.floating]) -> Bools:
    """Tokens before which, by probability, top_p is reached already: those to drop; shape [n, V].

    Args:
        p: distributions, shape [n, V].
        top_p: in (0, 1), shape [n].
    """
    if p.shape[1] <= _SORTED_WHOLE:
        threshold = _crossing(p, top_p)
    else:
        threshold = np.array([_crossing_of_row(row, share) for row, share in zip(p, top_p, strict=True)])
    dropped: Bools = p < threshold[:, None]
    return dropped


def _crossing(p: Float64s, top_p: NDArray[np.floating]) -> Float64s:
    """The probability of the token that crosses top_p, for each row; 0 where rounding keeps the sum of all below it."""
    descending = -np.sort(-p, axis=1)
    reached = descending.cumsum(axis=1) >= top_p[:, None]
    crossing: Float64s = descending[np.arange(len(p)), reached.argmax(axis=1)]
    crossing[~reached.any(axis=1)] = 0.0
    return crossing


def _crossing_of_row(p: Float64s, top_p: float) -> float:
    """The same for one large row: tokens below (1 - top_p)/V have less than 1 - top_p together and cannot cross."""
    share = np.array([top_p])
    crossing = float(_crossing(p[p >= (1 - top_p) / len(p)][None], share)[0])
    return crossing or float(_crossing(p[None], share)[0])
