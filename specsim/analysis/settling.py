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

from specsim.analysis.intervals import mean_band
from specsim.analysis.steady import Window, steady_window
from specsim.arrays import Floats, Ints
from specsim.records import RunRecords

GROUPS = 20
"""Stretches of a run that throughput is compared among."""
FEWEST_GROUPS = 10
"""With fewer nothing is cut: of a handful of values some are always alike by chance."""
SHARE_OF_INTERVAL = 1 / 3
"""The drift that is left may bias the mean by this share of its interval's half-width."""
NEGLIGIBLE = 1e-3
"""A bias of this share of the throughput is none: speedups are read to a hundredth."""


def settled_windows(runs: Sequence[RunRecords], *, begun_settled: bool) -> list[Window | None]:
    """For each replication of a point, from the end of what is left of its ramp to the last sending [s].

    Args:
        runs: the replications.
        begun_settled: whether they begin in steady state, as far as it is known; else those who began a run have to be
            done first.

    Returns:
        None for a run too short to have a window.
    """
    moments = [_moments(run, begun_settled) for run in runs]
    groups = min(GROUPS, min(len(own) for own in moments) - 1)
    if groups < 1:
        return [(float(own[0]), float(own[-1])) if len(own) > 1 else None for own in moments]
    series = np.array([_throughputs(run, own[_bounds(own, groups)]) for run, own in zip(runs, moments, strict=True)])
    cut = mser_cut((series / series.mean(axis=1, keepdims=True)).mean(axis=0)) if groups >= FEWEST_GROUPS else 0
    return [(float(own[_bounds(own, groups)[cut]]), float(own[-1])) for own in moments]


def mser_cut(series: Floats) -> int:
    """How many values to cut off the beginning of a series, at most half of them, by MSER (White 1997)."""
    number = len(series)
    tails = [series[cut:] for cut in range(number // 2 + 1)]
    return int(np.argmin([((tail - tail.mean()) ** 2).sum() / len(tail) ** 2 for tail in tails]))


def drift_matters(runs: Sequence[RunRecords], windows: Sequence[Window | None]) -> bool:
    """Whether a ramp is left in the windows that biases the mean by more than a third of its interval's half-width.

    A ramp lasts about as long as those stay who were there when it began. So throughput until as many requests are done
    as were in flight is held against that of the rest: the difference of their logarithms, times that stretch's share
    of the window, estimates the bias. Its own interval must not contain 0, or noise would pass for a ramp.
    """
    if None in windows:
        return True
    found = np.array([_ramp(run, window) for run, window in zip(runs, windows, strict=True) if window])
    bias, error = mean_band(found[:, 0])
    _, half_width = mean_band(found[:, 1])
    return abs(float(bias)) > max(float(error), SHARE_OF_INTERVAL * float(half_width), NEGLIGIBLE)


def _ramp(run: RunRecords, window: Window) -> tuple[float, float]:
    """By how much the beginning of a window biases its throughput, as a share, and the throughput's logarithm."""
    moments = np.unique(run.requests.finish)
    moments = moments[(window[0] <= moments) & (moments <= window[1])]
    if len(moments) < 3:
        return 0.0, 0.0
    requests = run.requests
    in_flight, done = int((requests.arrival == requests.arrival.min()).sum()), np.sort(requests.finish)
    before = int(np.searchsorted(done, window[0], "right"))
    replaced = done[min(before + in_flight, len(done)) - 1]
    middle = int(np.clip(np.searchsorted(moments, replaced), 1, len(moments) // 2))
    at = moments[[0, middle, -1]]
    first, rest = np.log(_throughputs(run, at))
    share = (at[1] - at[0]) / (at[2] - at[0])
    return float(share * (first - rest)), float(share * first + (1 - share) * rest)


def _moments(run: RunRecords, begun_settled: bool) -> Floats:
    """When requests finish, each moment once, from the first that a window may open at to the last sending.

    In a replica's first step those in service come in and draft nothing. So fewer finish, and the second step computes
    fewer prompts.
    """
    requests, steps = run.requests, run.steps
    closes, finished = float(requests.arrival.max()), np.unique(requests.finish)
    if begun_settled:
        replicas = 1 if steps.replica is None else len(np.unique(steps.replica))
        opens = np.nextafter(np.sort(steps.end)[min(2 * replicas, len(steps.end)) - 1], math.inf)
    else:
        window = steady_window(requests)
        opens = window[0] if window else math.inf
    return np.asarray(finished[(opens <= finished) & (finished <= closes)])


def _bounds(moments: Floats, groups: int) -> Ints:
    """Indices of the moments at which groups of about equal size begin and end [groups + 1]."""
    return np.linspace(0, len(moments) - 1, groups + 1).round().astype(np.int64)


def _throughputs(run: RunRecords, moments: Floats) -> Floats:
    """Output tokens per second from each of these moments to the next [moments - 1]."""
    order = np.argsort(run.steps.end, kind="stable")
    total = np.append(0, np.cumsum(run.steps.num_emitted[order]))
    tokens = total[np.searchsorted(run.steps.end[order], moments, "right")]
    return np.asarray(np.diff(tokens) / np.diff(moments))
