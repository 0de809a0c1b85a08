"""Intervals for means over independent replications: Student's t, on values or on logarithms of paired ratios.

Knows nothing of what was measured. It takes replications as independent and their mean as close to normal; requests
within one run are neither, so reduce each run to one number first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats


@dataclass(frozen=True)
class Interval:
    """An estimate with a two-sided confidence interval.

    Attributes:
        estimate: the point estimate, in the unit of the data.
        low, high: ends of the interval, in the same unit.
        confidence: target coverage, such as 0.95.
        n: independent replications behind it.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n: int


def t_quantile(confidence: float, degrees_of_freedom: int) -> float:
    """Half-width of a two-sided t interval in standard errors (Student 1908); infinite without degrees of freedom.

    Raises:
        ValueError: the confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if degrees_of_freedom < 1:
        return math.inf
    from scipy.special import stdtrit  # here, so that importing this file stays cheap

    return float(stdtrit(degrees_of_freedom, (1 + confidence) / 2))


def mean_band(values: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Means over the first axis and half-widths of their pointwise t intervals.

    Args:
        values: at least one replication [replications, ...].
        confidence: coverage of each point taken alone.

    Returns:
        Means [...] and half-widths [...] in the unit of the values; with one replication half-widths are infinite, and
        replications that are all equal give exactly their value and a half-width of exactly 0.

    Raises:
        ValueError: there are no replications.
    """
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    if n == 0:
        raise ValueError("a mean needs at least one replication")
    # Taken about the first replication, equal values give no rounding error: their spread is zero, not 1e-17.
    offset = values - values[0]
    mean = values[0] + offset.mean(axis=0)
    if n == 1:
        return mean, np.full(mean.shape, np.inf)
    return mean, t_quantile(confidence, n - 1) * offset.std(axis=0, ddof=1) / math.sqrt(n)


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of independent replications [replications] with its t interval, in their unit; (−inf, inf) for only one.

    Raises:
        ValueError: there are no replications.
    """
    mean, half = (float(part) for part in mean_band(values, confidence))
    return Interval(mean, mean - half, mean + half, confidence, np.size(values))


def paired_speedup_interval(treated: ArrayLike, baseline: ArrayLike, confidence: float = 0.95) -> Interval:
    """Geometric mean of per-replication ratios treated/baseline, with a t interval on their logarithms.

    Replication r of both must have run on the same seed: the uniforms they share cancel in the ratio. Logarithms make
    the interval of a/b the mirror image of that of b/a. With one replication the interval is (0, inf).

    Args:
        treated: positive, for example output tokens/s with speculation [replications].
        baseline: positive, the same quantity without [replications].
        confidence: target coverage.

    Raises:
        ValueError: the two differ in shape.
    """
    treated, baseline = np.asarray(treated, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if treated.shape != baseline.shape:
        raise ValueError(f"pairs need equally many replications, not {treated.shape} and {baseline.shape}")
    logs = mean_interval(np.log(treated / baseline), confidence)
    return Interval(math.exp(logs.estimate), math.exp(logs.low), math.exp(logs.high), confidence, logs.n)


def unpaired_speedup_interval(treated: ArrayLike, baseline: ArrayLike, confidence: float = 0.95) -> Interval:
    """Ratio of geometric means treated/baseline of independent samples, which may differ in size.

    Half-widths of the two t intervals on logarithms add in quadrature, each with its own degrees of freedom. For
    samples of one size that is never narrower than Welch's interval, which has at least as many degrees of freedom as
    either.

    Args:
        treated, baseline: positive [replications of each].
        confidence: target coverage.
    """
    own, other = (mean_interval(np.log(np.asarray(values)), confidence) for values in (treated, baseline))
    log = own.estimate - other.estimate
    half = math.hypot(own.high - own.estimate, other.high - other.estimate)
    return Interval(math.exp(log), math.exp(log - half), math.exp(log + half), confidence, min(own.n, other.n))
