"""What compared points add up to: errors per sweep, break-even loads and best draft lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from specsim.analysis.agreement import (
    BreakEven,
    ErrorSummary,
    error_summary,
    measured_break_even,
    octaves_apart,
    predicted_break_even,
    same_break_even,
)
from specsim.arrays import Floats
from specsim.inputs.measured.measurements import Metric
from specsim.inputs.read.case import case_of
from specsim.studies.accuracy.validate.run import Compared
from specsim.studies.shared.model_error import model_error

NEARLY_BEST = 0.02  # a draft length whose measured speedup is within this of the best counts as right


@dataclass(frozen=True)
class SweepErrors:
    """One sweep in one metric.

    Attributes:
        points: its rows, in the order of the table.
        num_simulated: rows with a predicted speedup, or with a predicted arm where the row has only one.
        speedup, baseline, with_speculation: errors of predictions; None where there is nothing to compare. A baseline
            that several rows repeat counts once.
        worst: the row with the largest error of the speedup.
    """

    name: str
    metric: Metric
    points: tuple[Compared, ...]
    num_simulated: int
    speedup: ErrorSummary | None
    baseline: ErrorSummary | None
    with_speculation: ErrorSummary | None
    worst: Compared | None

    @property
    def split(self) -> str:
        """``counted``, or why it is not."""
        splits = {point.row.split for point in self.points}
        return "counted" if any(point.row.counted for point in self.points) else "/".join(sorted(splits))


@dataclass(frozen=True)
class BreakEvenPair:
    """Break-even of one draft length of one sweep.

    Attributes:
        measured: with the interval that the measurements' uncertainty gives it.
        predicted: with that of luck.
        model: the same with that of the model's error.
    """

    sweep: str
    num_draft_tokens: int
    measured: BreakEven
    predicted: BreakEven
    model: BreakEven

    @property
    def same(self) -> bool:
        """Whether the model's interval and the measured one overlap."""
        return same_break_even(self.model, self.measured)

    @property
    def octaves(self) -> float:
        """log2 of predicted over measured; NaN where one does not cross."""
        return octaves_apart(self.predicted, self.measured)


@dataclass(frozen=True)
class BestLength:
    """The best draft length at one load of one sweep; 0 where none beats no speculation.

    Attributes:
        lost: share of the best measured speedup that the predicted length gives away.
    """

    sweep: str
    load: float
    measured: int
    predicted: int
    lost: float

    @property
    def right(self) -> bool:
        """The same length, or one that measured nearly as fast."""
        return self.measured == self.predicted or self.lost <= NEARLY_BEST


def predicted(values: Floats) -> float:
    """The geometric mean over replications."""
    return float(np.exp(np.log(values).mean()))


def sweep_errors(results: Iterable[Compared]) -> tuple[SweepErrors, ...]:
    """Errors of each sweep and metric, in the order in which the table first names them."""
    grouped: dict[tuple[str, Metric], list[Compared]] = {}
    for result in results:
        grouped.setdefault((result.row.sweep, result.row.metric), []).append(result)
    return tuple(_sweep(name, metric, points) for (name, metric), points in grouped.items())


def _sweep(name: str, metric: Metric, points: Sequence[Compared]) -> SweepErrors:
    compared = with_speedup(points)
    speedup = speedup_errors(compared)
    once = {(point.row.load, point.row.baseline, point.row.repeat): point for point in points}
    return SweepErrors(
        name,
        metric,
        tuple(points),
        sum(not point.reasons for point in points),
        speedup,
        _errors((point.baseline, point.row.baseline) for point in once.values()),
        _errors((point.with_speculation, point.row.with_speculation) for point in points),
        compared[speedup.worst] if speedup else None,
    )


def with_speedup(points: Iterable[Compared]) -> list[Compared]:
    """The points whose speedup was both measured and predicted."""
    return [point for point in points if point.speedup is not None and point.row.measured_speedup is not None]


def speedup_errors(points: Sequence[Compared]) -> ErrorSummary | None:
    """Errors of the predicted speedups of points that have both."""
    return _errors((point.speedup, point.row.measured_speedup) for point in points)


def _errors(pairs: Iterable[tuple[Floats | None, float | None]]) -> ErrorSummary | None:
    both = [(predicted(values), measured) for values, measured in pairs if values is not None and measured is not None]
    return error_summary([mine for mine, _ in both], [theirs for _, theirs in both])


class _Curve(NamedTuple):
    """Loads or draft lengths [n] with measured speedups [n], their uncertainty [n], predicted [replications, n]."""

    at: list[float]
    measured: Floats
    uncertainty: Floats
    predicted: Floats


def _curve(points: Iterable[Compared], key: Callable[[Compared], float]) -> _Curve:
    """Points in ascending order of a key; equal ones (repeats of a run) are averaged."""
    ordered = sorted(with_speedup(points), key=key)
    at, measured, uncertainty, simulated = [], [], [], []
    for value, equal in groupby(ordered, key=key):
        same = list(equal)
        at.append(value)
        measured.append(np.exp(np.mean([np.log(point.row.measured_speedup or np.nan) for point in same])))
        uncertainty.append(max(point.row.uncertainty for point in same))
        simulated.append(np.mean([point.speedup for point in same if point.speedup is not None], axis=0))
    return _Curve(at, np.array(measured), np.array(uncertainty), np.array(simulated).T)


def break_evens(sweeps: Iterable[SweepErrors]) -> tuple[BreakEvenPair, ...]:
    """Of every sweep and draft length whose speedup, measured or predicted, falls through 1.0 within its loads."""
    found = []
    for sweep in sweeps:
        for k in sorted({point.row.num_draft_tokens for point in sweep.points}):
            at, measured, uncertainty, simulated = _curve(
                (point for point in sweep.points if point.row.num_draft_tokens == k), lambda point: point.row.load
            )
            if len(at) < 2:
                continue
            theirs = measured_break_even(at, measured, uncertainty)
            mine = predicted_break_even(at, simulated)
            if theirs.crosses or mine.crosses:
                inputs = sweep.points[0].beyond[-1][0]
                error = model_error(case_of(inputs), "speedup").half_width
                model = predicted_break_even(at, simulated, error)
                found.append(BreakEvenPair(sweep.name, k, theirs, mine, model))
    return tuple(found)


def best_lengths(sweeps: Iterable[SweepErrors]) -> tuple[BestLength, ...]:
    """Of every load at which a sweep compares several draft lengths; no speculation is one of them."""
    found = []
    for sweep in sweeps:
        for load in sorted({point.row.load for point in sweep.points}):
            at, measured, _, simulated = _curve(
                (point for point in sweep.points if point.row.load == load),
                lambda point: float(point.row.num_draft_tokens),
            )
            if len(at) < 2:
                continue
            lengths, speedups = [0, *map(int, at)], np.array([1.0, *measured])
            chosen = int(np.argmax([1.0, *np.exp(np.log(simulated).mean(axis=0))]))
            best = int(np.argmax(speedups))
            lost = 1 - float(speedups[chosen] / speedups[best])
            found.append(BestLength(sweep.name, load, lengths[best], lengths[chosen], lost))
    return tuple(found)


class Validation:
    """Compared points with what they add up to; each part computed once.

    Args:
        results: every row of the table that was asked for.
    """

    def __init__(self, results: Sequence[Compared]) -> None:
        self.results = tuple(results)
        self.sweeps: tuple[SweepErrors, ...] = sweep_errors(results)
        counted = [sweep for sweep in self.sweeps if sweep.split == "counted"]
        self.break_evens: tuple[BreakEvenPair, ...] = break_evens(counted)
        self.best_lengths: tuple[BestLength, ...] = best_lengths(counted)

    def not_simulated(self) -> dict[str, dict[str, int]]:
        """Reason → sweep → rows that miss an arm for it."""
        found: dict[str, dict[str, int]] = {}
        for result in self.results:
            for reason in result.reasons[-1:]:  # the speculating arm lacks whatever the other does
                sweeps = found.setdefault(reason, {})
                sweeps[result.row.sweep] = sweeps.get(result.row.sweep, 0) + 1
        return found
