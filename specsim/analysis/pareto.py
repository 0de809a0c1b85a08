"""Which points no other point beats. Knows nothing of what they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def on_frontier(first: ArrayLike, second: ArrayLike) -> NDArray[np.bool_]:
    """Whether no other point is at least as good in both coordinates and better in one [points]; more is better.

    Equal points do not beat each other. A point without one of its coordinates (NaN) is none.

    Args:
        first, second: [points].
    """
    x, y = (np.asarray(values, np.float64) for values in (first, second))
    as_good = (x[:, None] >= x) & (y[:, None] >= y)
    better = (x[:, None] > x) | (y[:, None] > y)
    return np.asarray(~(as_good & better).any(axis=0) & np.isfinite(x) & np.isfinite(y))
