"""Above which load does speculation stop paying? Every crossing of speedup 1.0, each with an interval.

Knows nothing of how speedups were obtained. Between measured loads it interpolates linearly in the logarithm of the
batch, and beyond them it claims nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from specsim.analysis.intervals import mean_band
from specsim.arrays import Bools, Floats

Verdict = Literal["always pays", "never pays", "crosses", "undecided"]


@dataclass(frozen=True)
class Span:
    """Batches from ``low`` to ``high``, both within what was measured; a point where they are equal."""

    low: float
    high: float


@dataclass(frozen=True)
class Crossing:
    """A load at which the speedup passes 1.0.

    Attributes:
        batch: where the mean curve crosses [requests].
        low, high: ends of the interval [requests]; None where it runs out of the measured range.
        stops_paying: True when speculation pays below and costs above, False for the reverse.
    """

    batch: float
    low: float | None
    high: float | None
    stops_paying: bool

    @property
    def established(self) -> bool:
        """True when paying on one side and costing on the other were both measured beyond doubt."""
        return self.low is not None and self.high is not None

    def __str__(self) -> str:
        """Whole batches, the interval widened to them: ``249 [245, 253]``; a question mark for an open end."""
        low = "?" if self.low is None else math.floor(self.low)
        high = "?" if self.high is None else math.ceil(self.high)
        return f"{self.batch:.0f} [{low}, {high}]"


@dataclass(frozen=True)
class Crossings:
    """What a measured curve says about 1.0. The three kinds of span cover the measured batches without overlap.

    Attributes:
        verdict: "always pays" or "never pays" when the band lies on one side at every measured batch; "crosses" when at
            least one crossing is established; "undecided" otherwise.
        crossings: in ascending order of batch, those not established included.
        pays, costs: where the band lies above, below 1.0.
        undecided: where the band contains 1.0; the intervals of the crossings are among them.
    """

    verdict: Verdict
    crossings: tuple[Crossing, ...]
    pays: tuple[Span, ...]
    costs: tuple[Span, ...]
    undecided: tuple[Span, ...]


def find_crossings(batches: ArrayLike, speedups: ArrayLike, confidence: float = 0.95) -> Crossings:
    """Every crossing of 1.0, by inverting the pointwise t band of the mean log-speedup.

    A load belongs to the undecided set when the interval of its mean log-speedup contains 0 (the idea of Fieller's
    interval for a ratio). At any one load that interval holds the true mean with probability ``confidence``, so with
    that probability the undecided set contains a given true crossing. Between two loads the half-widths are
    interpolated as well, which is exact for fully correlated noise and too wide, hence conservative, otherwise. The
    statement holds for each crossing alone, not for all at once.

    The undecided set falls into connected components. One that has paying on one side and costing on the other is an
    established crossing: its ends are the interval. One that reaches the first or the last load has an open end there
    (None) and is not established; it counts as a crossing only if the mean curve crosses an odd number of times in it.
    A component with the same sign on both sides is no crossing. Where the mean curve crosses several times within a
    component, the estimate is the middle one.

    Args:
        batches: ascending and positive [batches] [requests].
        speedups: positive ratios [replications, batches]. One replication alone leaves everything undecided.
        confidence: coverage of the band at each batch.

    Raises:
        ValueError: batches do not ascend from above 0, or speedups are not positive or of another shape.
    """
    batches, speedups = np.asarray(batches, dtype=np.float64), np.asarray(speedups, dtype=np.float64)
    if batches.ndim != 1 or batches.size == 0 or batches[0] <= 0 or np.any(np.diff(batches) <= 0):
        raise ValueError("batches must be positive and ascending")
    if speedups.ndim != 2 or speedups.shape[1] != batches.size or not np.all(speedups > 0):
        raise ValueError("speedups must be positive, of shape [replications, batches]")
    mean, half = mean_band(np.log(speedups), confidence)
    return crossings_of_band(batches, mean, mean - half, mean + half)


def crossings_of_band(batches: Floats, mean: Floats, low: Floats, high: Floats) -> Crossings:
    """Crossings of a band of log-speedups over batches, all float64 [batches], however the band was obtained."""
    pays, costs = _positive(batches, low), _positive(batches, -high)
    undecided = _gaps(sorted(pays + costs, key=lambda span: span.low), batches, (low <= 0) & (high >= 0))
    changes = _sign_changes(batches, mean)
    crossings = tuple(found for span in undecided for found in _crossings_in(span, batches, changes))
    return Crossings(_verdict(low, high, crossings), crossings, tuple(pays), tuple(costs), tuple(undecided))


def _verdict(low: Floats, high: Floats, crossings: tuple[Crossing, ...]) -> Verdict:
    if np.all(low > 0):
        return "always pays"
    if np.all(high < 0):
        return "never pays"
    return "crosses" if any(crossing.established for crossing in crossings) else "undecided"


def _crossings_in(span: Span, batches: Floats, sign_changes: list[tuple[float, bool]]) -> list[Crossing]:
    """The crossing within one undecided component, if there is one. Between opposite signs the changes are odd."""
    inside = [change for change in sign_changes if span.low <= change[0] <= span.high]
    if len(inside) % 2 == 0:
        return []
    middle, stops_paying = inside[len(inside) // 2][0], inside[0][1]
    low = None if span.low == batches[0] else span.low
    high = None if span.high == batches[-1] else span.high
    return [Crossing(middle, low, high, stops_paying)]


def _positive(batches: Floats, line: Floats) -> list[Span]:
    """Where a piecewise linear curve with knots [batches] is positive."""
    spans: list[Span] = []
    start: float | None = None
    for i, value in enumerate(line):
        if value > 0 and start is None:
            start = float(batches[0]) if i == 0 else _root(batches, line, i - 1)
        elif value <= 0 and start is not None:
            spans.append(Span(start, _root(batches, line, i - 1)))
            start = None
    if start is not None:
        spans.append(Span(start, float(batches[-1])))
    return spans


def _gaps(decided: list[Span], batches: Floats, undecided: Bools) -> list[Span]:
    """What the decided spans, in ascending order, leave open; ``undecided`` says so for each batch measured."""
    first, last = float(batches[0]), float(batches[-1])
    if not decided:
        return [Span(first, last)]
    head = [Span(first, decided[0].low)] if undecided[0] else []
    tail = [Span(decided[-1].high, last)] if undecided[-1] else []
    return head + [Span(left.high, right.low) for left, right in pairwise(decided)] + tail


def _sign_changes(batches: Floats, line: Floats) -> list[tuple[float, bool]]:
    """(batch, falling) wherever the curve changes sign; the middle of the zeros where it rests on zero."""
    changes = []
    for left, right in pairwise(np.flatnonzero(line).tolist()):
        if line[left] * line[right] < 0:
            zeros = batches[left + 1 : right]
            at = _root(batches, line, left) if zeros.size == 0 else _between(zeros[0], zeros[-1], 0.5)
            changes.append((at, bool(line[left] > 0)))
    return changes


def _root(batches: Floats, line: Floats, i: int) -> float:
    """Where the curve between knots i and i+1 is zero; their values must differ in sign, or one be zero."""
    return _between(batches[i], batches[i + 1], line[i] / (line[i] - line[i + 1]))


def _between(low: float, high: float, weight: float) -> float:
    """Linear interpolation in the logarithm of the batch; exact at both ends."""
    return float(high if weight == 1 else low * (high / low) ** weight)
