"""How far predictions lie from measurements: relative errors, and whether two break-even loads agree.

Knows nothing of how either was obtained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim.analysis.crossings import Crossings, crossings_of_band, find_crossings
from specsim.arrays import Floats


@dataclass(frozen=True)
class ErrorSummary:
    """Relative errors of predictions, predicted / measured - 1.

    Attributes:
        n: number of points.
        mape: mean absolute error, as a fraction.
        median, p90: of the absolute errors.
        bias: mean error; positive where predictions are high.
        worst: index of the largest absolute error.
        worst_error: that error, with its sign.
    """

    n: int
    mape: float
    median: float
    p90: float
    bias: float
    worst: int
    worst_error: float


def error_summary(predicted: ArrayLike, measured: ArrayLike) -> ErrorSummary | None:
    """Relative errors of positive predictions and measurements in one unit, both [points]; None if empty."""
    errors = np.asarray(predicted, dtype=np.float64) / np.asarray(measured, dtype=np.float64) - 1
    if errors.size == 0:
        return None
    size, worst = np.abs(errors), int(np.abs(errors).argmax())
    median, p90 = (float(value) for value in np.percentile(size, (50, 90)))
    return ErrorSummary(errors.size, float(size.mean()), median, p90, float(errors.mean()), worst, float(errors[worst]))


@dataclass(frozen=True)
class BreakEven:
    """The load above which speculation stops paying, as far as a sweep shows it.

    Attributes:
        load: where the mean curve last falls through a speedup of 1.0 [requests]; NaN where it does not within the
            sweep.
        low, high: its interval [requests]; 0 or infinity where it runs out of the sweep.
    """

    load: float
    low: float
    high: float

    @property
    def crosses(self) -> bool:
        """Whether the mean curve falls through 1.0 within the sweep."""
        return not math.isnan(self.load)

    def __str__(self) -> str:
        """Whole loads, such as ``58 [51, 64]``; ``> 64`` or ``< 1`` beyond the sweep."""
        if not self.crosses:
            return f"> {self.low:.0f}" if math.isinf(self.high) else f"< {self.high:.0f}"
        ends = ["?" if end in (0, math.inf) else f"{end:.0f}" for end in (self.low, self.high)]
        return f"{self.load:.0f} [{', '.join(ends)}]"


def measured_break_even(loads: ArrayLike, speedups: ArrayLike, uncertainty: ArrayLike) -> BreakEven:
    """Break-even of measured speedups, each known within a relative half-width.

    Between two loads the logarithms of the speedup and of its ends are linear in the logarithm of the load; the
    interval is where the band from speedup·(1 - u) to speedup/(1 - u) contains 1.

    Args:
        loads: concurrent requests, ascending [loads].
        speedups: ratios of throughput, positive [loads].
        uncertainty: relative half-widths u, below 1 [loads].
    """
    loads, mean = np.asarray(loads, dtype=np.float64), np.log(np.asarray(speedups, dtype=np.float64))
    half = -np.log1p(-np.asarray(uncertainty, dtype=np.float64))
    return _last_stop(crossings_of_band(loads, mean, mean - half, mean + half), loads, mean)


def predicted_break_even(loads: ArrayLike, speedups: ArrayLike, model_error: float | None = None) -> BreakEven:
    """Break-even of simulated speedups [replications, loads] at loads [loads], from the t interval of their mean.

    One replication has no spread; its curve is taken as exact. With a model's error, the half-width of the logarithm of
    measured over predicted, the interval is where the band of that contains 1.

    Raises:
        ValueError: as ``find_crossings``, with two replications or more.
    """
    loads, speedups = np.asarray(loads, dtype=np.float64), np.asarray(speedups, dtype=np.float64)
    mean = np.log(speedups).mean(axis=0)
    if model_error is None and len(speedups) > 1:
        return _last_stop(find_crossings(loads, speedups), loads, mean)
    half = model_error or 0.0
    found = crossings_of_band(loads, mean, mean - half, mean + half)
    return _last_stop(found, loads, mean)


def _last_stop(found: Crossings, loads: Floats, mean: Floats) -> BreakEven:
    stops = [crossing for crossing in found.crossings if crossing.stops_paying]
    if stops:
        last = stops[-1]
        return BreakEven(last.batch, last.low or 0.0, math.inf if last.high is None else last.high)
    if mean[-1] >= 0:  # it still pays at the largest load; an interval reaches back while the band there contains 1
        return BreakEven(math.nan, _begin_of_last(found, float(loads[-1])), math.inf)
    return BreakEven(math.nan, 0.0, float(loads[0]))


def _begin_of_last(found: Crossings, last: float) -> float:
    return min([span.low for span in found.undecided if span.high == last], default=last)


def same_break_even(one: BreakEven, other: BreakEven) -> bool:
    """Whether two intervals overlap."""
    below, above = sorted((one, other), key=lambda interval: interval.low)
    return below.high >= above.low


def octaves_apart(predicted: BreakEven, measured: BreakEven) -> float:
    """log2 of predicted over measured load; NaN where one of them does not cross."""
    return math.log2(predicted.load / measured.load)
