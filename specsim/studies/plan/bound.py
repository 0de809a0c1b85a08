"""What an arm was found to serve within limits: a rate by seed, their mean, and a bound that a fresh run meets.

The bound is the lower limit of a prediction interval, mean − t·s·√(1 + 1/n) of the logarithms over n seeds with t of
n − 1 degrees of freedom (Hahn and Meeker, "Statistical Intervals", 1991, ch. 4): a fresh run of the same length meets
the limits at the bound with a probability of 95 %, where half of them would miss a confidence bound of the mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from specsim.analysis.intervals import (
    Interval,
    mean_interval,
    paired_speedup_interval,
    t_quantile,
    unpaired_speedup_interval,
)
from specsim.arrays import Floats

CONFIDENCE = 0.95
BELOW = 2
"""Widths that the bound may lie below the mean."""


class Capacity(NamedTuple):
    """The rate that one arm serves.

    Attributes:
        rates: largest rate of each seed that meets the limits, float64 [seeds] [requests/s]; all 0 where none does.
        num_requests: of each run.
        saturated: throughput while requests always wait [requests/s]; None where an empty system misses a limit.
        binding: index of the limit that the next rate of the grid breaks in most seeds; None where throughput itself is
            the limit.
    """

    rates: Floats
    num_requests: int
    saturated: float | None
    binding: int | None

    @property
    def mean(self) -> float:
        """The geometric mean over seeds [requests/s]."""
        return float(np.exp(np.log(self.rates).mean())) if self.rates.all() else 0.0

    @property
    def bound(self) -> float:
        """The lower bound [requests/s]."""
        return lower_bound(self.rates)

    @property
    def gap(self) -> float:
        """Distance of the bound below the mean, as a fraction of the mean."""
        return 1 - self.bound / self.mean if self.mean else 0.0

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean, as a fraction of it."""
        if not self.rates.all():
            return 0.0
        interval = mean_interval(np.log(self.rates), CONFIDENCE)
        return interval.high - interval.estimate

    def over(self, width: float) -> float:
        """Ratio to the requested width of the mean's half-width, or of half the bound's distance if that is larger."""
        return max(self.half_width, self.gap / BELOW) / width


def lower_bound(rates: Floats) -> float:
    """The rate that a fresh run serves within limits in 95 of 100 cases, from rates [seeds ≥ 2]; all [requests/s]."""
    if not rates.all():
        return 0.0
    logs, n = np.log(rates), len(rates)
    if np.ptp(logs) == 0:
        return float(rates[0])
    return float(np.exp(logs.mean() - below_mean(float(logs.std(ddof=1)), n)))


def below_mean(deviation: float, seeds: int) -> float:
    """How far the bound lies below the mean of logarithms whose standard deviation over seeds is ``deviation``."""
    return t_quantile(2 * CONFIDENCE - 1, seeds - 1) * deviation * math.sqrt(1 + 1 / seeds)


def rate_ratio(one: Capacity, other: Capacity, *, paired: bool = True) -> Interval | None:
    """Ratio of mean rates, one over other, with its 95 % interval; None where either is 0.

    Args:
        one, other: capacities to compare.
        paired: whether equal seeds send the same requests. Where runs have the same length, common seeds are paired;
            otherwise the interval is that of independent samples.
    """
    if not (one.rates.all() and other.rates.all()):
        return None
    if paired and one.num_requests == other.num_requests:
        both = min(len(one.rates), len(other.rates))
        return paired_speedup_interval(one.rates[:both], other.rates[:both])
    return unpaired_speedup_interval(one.rates, other.rates)
