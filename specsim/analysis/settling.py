"""Where the runs of a point settle, and whether they have: a cut found from all replications, and what drift is left.

A window opens at a completion and closes at the last sending, which is one too in a closed loop without think time: a
run then looks alike at both ends, and the ratio of its tokens to its time owes nothing to where in a request's stay it
began. What is left of a ramp shows in the series of throughputs between completions, averaged over replications, and is
cut by MSER (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997)
323): the cut after which the mean has the smallest standard error, if observations were independent. One share is cut
off all replications, so that no run chooses its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from specsim.analysis.intervals import t_quantile
from specsim.analysis.steady import Window, steady_window
from specsim.arrays import Floats, Ints
from specsim.records import RequestRecords, RunRecords

GROUPS = 20
"""Stretches of a run that throughput is compared among."""
FEWEST_GROUPS = 10
"""With fewer nothing is cut: of a handful of values some are always alike by chance."""
SHARE_OF_INTERVAL = 1 / 3
"""The drift that is left may bias the mean by this share of its interval's half-width."""
NEGLIGIBLE = 1e-3
"""A bias of this share of the throughput is none: speedups are read to a hundredth."""


def settled_windows(runs: Sequence[RunRecords]) -> list[Window | None]:
    """For each replication of a point, from the end of what is left of its ramp to the last sending [s].

    None for a run too short to have a window.
    """
    moments = [_moments(run.requests) for run in runs]
    groups = min(GROUPS, *(len(own) - 1 for own in moments))
    if groups < 1:
        return [(float(own[0]), float(own[-1])) if len(own) > 1 else None for own in moments]
    series = np.array([_throughputs(run, own, groups) for run, own in zip(runs, moments, strict=True)])
    cut = mser_cut((series / series.mean(axis=1, keepdims=True)).mean(axis=0)) if groups >= FEWEST_GROUPS else 0
    return [(float(own[_bounds(own, groups)[cut]]), float(own[-1])) for own in moments]


def mser_cut(series: Floats) -> int:
    """How many values to cut off the beginning of a series, at most half of them, by MSER (White 1997)."""
    number = len(series)
    tails = [series[cut:] for cut in range(number // 2 + 1)]
    return int(np.argmin([((tail - tail.mean()) ** 2).sum() / len(tail) ** 2 for tail in tails]))


def drift_matters(runs: Sequence[RunRecords], windows: Sequence[Window | None]) -> bool:
    """Whether throughput drifts so much within the windows that an interval of its mean may lie beside the long run.

    A ramp that is not over biases the mean by half of what it shifts the first half of the window against the second.
    The shift is known with an error, whose square is taken off that of its mean over replications: what is left is an
    unbiased estimate of the bias squared. It must not exceed a third of the interval's half-width.
    """
    if None in windows:
        return True
    halves = np.log([_halves(run, window) for run, window in zip(runs, windows, strict=True) if window])
    replications = len(halves)
    shift, mean = (halves[:, 0] - halves[:, 1]) / 2, halves.mean(axis=1)
    bias = shift.mean() ** 2 - shift.var(ddof=1) / replications
    half_width = t_quantile(0.95, replications - 1) * mean.std(ddof=1) / math.sqrt(replications)
    return bool(bias > max(SHARE_OF_INTERVAL * half_width, NEGLIGIBLE) ** 2)


def _moments(requests: RequestRecords) -> Floats:
    """When requests finish, each moment once, from the first that a window may open at to the last sending."""
    closes, finished = float(requests.arrival.max()), np.unique(requests.finish)
    opens = float(finished[0])
    if requests.received is None:  # begun empty: when all that began it are done
        window = steady_window(requests)
        opens = window[0] if window else math.inf
    return finished[(opens <= finished) & (finished <= closes)]


def _bounds(moments: Floats, groups: int) -> Ints:
    """Places of the moments that part so many groups of about equally many [groups + 1]."""
    return np.linspace(0, len(moments) - 1, groups + 1).round().astype(np.int64)


def _throughputs(run: RunRecords, moments: Floats, groups: int) -> Floats:
    """Output tokens per second between moments [groups]."""
    order = np.argsort(run.steps.end, kind="stable")
    total = np.append(0, np.cumsum(run.steps.num_emitted[order]))
    at = moments[_bounds(moments, groups)]
    tokens = total[np.searchsorted(run.steps.end[order], at, "right")]
    return np.asarray(np.diff(tokens) / np.diff(at))


def _halves(run: RunRecords, window: Window) -> Floats:
    """Throughput in the first and the second half of the completions in a window [2]."""
    moments = _moments(run.requests)
    inside = moments[(window[0] <= moments) & (moments <= window[1])]
    return _throughputs(run, inside, 2) if len(inside) > 2 else np.ones(2)
