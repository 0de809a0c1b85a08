"""Pareto frontier of points in two coordinates. Knows nothing of what they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Bools

ROUNDING = 1e-9
"""A smaller share of a number is an error of floats: sums over a million steps err by less."""


def on_frontier(first: ArrayLike, second: ArrayLike) -> Bools:
    """Whether no other point is at least as good in both coordinates and better in one, bool [points]; more is better.

    Values that differ by rounding are equal, and equal points do not beat each other. A point with a NaN coordinate is
    never on the frontier.

    Args:
        first, second: coordinates in any unit, not negative [points].
    """
    x, y = (np.asarray(values, np.float64) for values in (first, second))
    as_good = (x[:, None] >= x * (1 - ROUNDING)) & (y[:, None] >= y * (1 - ROUNDING))
    better = (x[:, None] > x * (1 + ROUNDING)) | (y[:, None] > y * (1 + ROUNDING))
    return np.asarray(~(as_good & better).any(axis=0) & np.isfinite(x) & np.isfinite(y))
