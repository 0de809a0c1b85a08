"""How far a prediction may lie from what would be measured: intervals from residuals of earlier comparisons, by class.

Residuals are logarithms of measured over predicted. Those of one sweep share most of their error, so each sweep counts
as one observation, of its mean square. Within a class they are taken as normal around 0 with an unknown variance whose
prior is that of the class above it: with scaled inverse chi-square distributions, the posterior's scale is the mean of
the prior's (as ``PRIOR`` sweeps) and the sweeps' own, and the residual of a new sweep follows Student's t around it
(Gelman et al., "Bayesian Data Analysis", 3rd ed., 2013, section 2.6). A bias is not corrected but widens the interval.

Knows nothing of what was predicted, or of what makes a class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim.analysis.intervals import t_quantile

PRIOR = 2
"""Sweeps that the class above counts as."""
CONFIDENCE = 0.90


class Residuals(NamedTuple):
    """Residuals of one sweep, all of one class.

    Attributes:
        sweep: its name.
        path: the class, from the most general part of it to the most special.
        logs: log(measured / predicted) [points].
    """

    sweep: str
    path: tuple[str, ...]
    logs: tuple[float, ...]


class Scale(NamedTuple):
    """The scale of Student's t.

    Attributes:
        variance: of the logarithm.
        freedom: degrees of freedom.
        sweeps: of the class itself.
    """

    variance: float
    freedom: int
    sweeps: int

    @property
    def half_width(self) -> float:
        """Of the 90 % interval of log(measured / predicted); infinite without sweeps."""
        return t_quantile(CONFIDENCE, self.freedom) * math.sqrt(self.variance) if self.freedom else math.inf


def scale_of(residuals: Iterable[Residuals], path: Sequence[str] = ()) -> Scale:
    """The scale of a class, from all residuals: those of every class above it are its prior."""
    left = list(residuals)
    found = _posterior(None, left)
    for depth in range(1, len(path) + 1):
        left = [one for one in left if one.path[:depth] == tuple(path[:depth])]
        found = _posterior(found, left)
    return found


def widest(residuals: Sequence[Residuals]) -> Scale:
    """The scale of the class whose interval is the widest, for what belongs to none."""
    return max((scale_of(residuals, path) for path in {one.path for one in residuals}), key=lambda s: s.half_width)


def _posterior(prior: Scale | None, residuals: Sequence[Residuals]) -> Scale:
    by_sweep: dict[str, list[float]] = {}
    for one in residuals:
        by_sweep.setdefault(one.sweep, []).extend(one.logs)
    squares = [float(np.mean(np.square(logs))) for logs in by_sweep.values() if logs]
    weight = PRIOR if prior else 0
    total = weight + len(squares)
    variance = (weight * prior.variance if prior else 0.0) + sum(squares)
    return Scale(variance / total if total else 0.0, total, len(squares))


class Coverage(NamedTuple):
    """How many points of a class lie within the intervals that the other sweeps give.

    Attributes:
        points, sweeps: of the class.
        within: points inside.
    """

    points: int
    sweeps: int
    within: int


def left_out_coverage(residuals: Sequence[Residuals]) -> Mapping[tuple[str, ...], Coverage]:
    """Each sweep against the intervals of the others: by class, and all together under the empty path."""
    found: dict[tuple[str, ...], list[tuple[str, int, int]]] = {}
    for one in residuals:
        others = [other for other in residuals if other.sweep != one.sweep]
        half = scale_of(others, one.path).half_width
        inside = int(np.sum(np.abs(one.logs) <= half))
        for depth in range(len(one.path) + 1):
            found.setdefault(one.path[:depth], []).append((one.sweep, len(one.logs), inside))
    return {
        path: Coverage(sum(n for _, n, _ in rows), len({sweep for sweep, _, _ in rows}), sum(i for *_, i in rows))
        for path, rows in sorted(found.items())
    }


def steps_between(loads: ArrayLike, lengths: ArrayLike, logs: ArrayLike) -> tuple[float, ...]:
    """Residuals of ratios between neighbouring draft lengths of one sweep at equal loads, for a step of one token.

    Residuals of ratios are taken to grow with the lengths' distance as those of a random walk: they are divided by the
    square root of it, and multiplied by it again where two lengths are compared.

    Args:
        loads, lengths, logs: of the sweep's points [points] [requests, tokens, log(measured / predicted)].
    """
    load, length, log = (np.asarray(values, dtype=np.float64) for values in (loads, lengths, logs))
    found: list[float] = []
    for at in np.unique(load):
        order = np.argsort(length[load == at], kind="stable")
        ordered, apart = log[load == at][order], np.diff(length[load == at][order])
        found.extend((np.diff(ordered)[apart > 0] / np.sqrt(apart[apart > 0])).tolist())
    return tuple(found)
