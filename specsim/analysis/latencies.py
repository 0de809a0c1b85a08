"""Latencies as clients of an LLM server define them, from the records of one run, and how many requests meet limits.

Knows nothing of costs or schedules: records in, seconds out. Requests of one run share its queues, so the spread over
requests is no confidence interval; replicate runs for that. All arrays are float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from specsim.arrays import Bools, Floats, Ints
from specsim.records import RequestRecords, RoundRecords, RoundTally, StepRecords


@dataclass(frozen=True)
class LatencySummary:
    """Mean and percentiles [s] over ``count`` observations; NaN when there are none."""

    mean: float
    p50: float
    p90: float
    p99: float
    count: int


@dataclass(frozen=True)
class LatencyLimits:
    """Latencies that a request must not exceed to meet the SLO [s]; infinite where there is no limit."""

    ttft: float = math.inf
    tpot: float = math.inf
    e2e: float = math.inf


def queueing(requests: RequestRecords) -> Floats:
    """Time from sending to the first step of each request [requests] [s]."""
    return requests.admitted - requests.arrival


def ttft(requests: RequestRecords) -> Floats:
    """Time to first token, queueing included [requests] [s]."""
    return requests.first_token - requests.arrival


def tpot(requests: RequestRecords) -> Floats:
    """Time per output token after the first [requests] [s]; NaN for outputs of one token, which have none."""
    later = np.maximum(requests.output_tokens - 1, 0)
    elapsed = requests.finish - requests.first_token
    seconds: Floats = np.divide(elapsed, later, out=np.full(elapsed.shape, np.nan), where=later > 0)
    return seconds


def decode_rate(requests: RequestRecords) -> Floats:
    """Output tokens per second that a user sees after the first, 1/TPOT [requests] [tokens/s].

    NaN where there is no such rate: outputs of one token, and those that came whole in one step.
    """
    times = tpot(requests)
    return 1.0 / np.where(times > 0, times, np.nan)


def e2e(requests: RequestRecords) -> Floats:
    """Time from sending to the last token [requests] [s]."""
    return requests.finish - requests.arrival


def itl(steps: StepRecords, rounds: RoundRecords) -> Floats:
    """Times between successive chunks of output of the same request [gaps] [s], one per round after a request's first.

    A verify that emits several tokens makes one chunk, as a streaming client sees it; with speculation their mean
    therefore exceeds TPOT.
    """
    return chunk_gaps(steps, rounds).seconds


def itl_per_token(gaps: Floats, tokens: Ints) -> Floats:
    """Times between chunks [gaps] [s] divided among the tokens of each [gaps]: one per token [Σ tokens] [s]."""
    return np.repeat(gaps / tokens, tokens)


class ChunkGaps(NamedTuple):
    """Times between successive chunks of output of the same request.

    Attributes:
        seconds: how long, float64 [gaps] [s].
        tokens: number in the chunk that ends each, int64 [gaps].
        request: index of the request, int64 [gaps].
    """

    seconds: Floats
    tokens: Ints
    request: Ints


def chunk_gaps(steps: StepRecords, rounds: RoundRecords) -> ChunkGaps:
    """The gaps of a run, request by request."""
    order = np.argsort(rounds.request, kind="stable")
    request = rounds.request[order]
    ready = steps.end[rounds.step[order]]
    same = request[1:] == request[:-1]
    return ChunkGaps(np.diff(ready)[same], rounds.num_emitted[order][1:][same], request[1:][same])


def tallied_itl(tally: RoundTally) -> LatencySummary:
    """The summary of ``itl`` from a tally: the mean exact, percentiles within 0.25 %."""
    return _tallied(tally.gap, tally.gap_count, tally.gap_sum)


def tallied_itl_percentile(tally: RoundTally, percentile: float) -> float:
    """A percentile of ``itl`` from a tally, within 0.25 % [s]; NaN without any."""
    below = np.cumsum(tally.gap_count)
    if not (below.size and below[-1]):
        return math.nan
    return float(tally.gap[np.searchsorted(below, percentile / 100 * below[-1])])


def tallied_itl_per_token(tally: RoundTally) -> LatencySummary:
    """The summary of ``itl_per_token`` from a tally."""
    seconds = tally.gap / np.maximum(tally.gap_tokens, 1)
    order = np.argsort(seconds, kind="stable")
    return _tallied(seconds[order], (tally.gap_count * tally.gap_tokens)[order], tally.gap_sum)


def _tallied(values: Floats, count: Ints, total: float) -> LatencySummary:
    """Summary of ascending values [s] with the count of each and their sum."""
    number = int(count.sum())
    if number == 0:
        return LatencySummary(math.nan, math.nan, math.nan, math.nan, 0)
    below = np.cumsum(count)
    p50, p90, p99 = (float(values[np.searchsorted(below, share * number)]) for share in (0.5, 0.9, 0.99))
    return LatencySummary(total / number, p50, p90, p99, number)


def summarise_latency(values: Floats) -> LatencySummary:
    """Mean and percentiles of values [n] [s], NaN left out; percentiles interpolate linearly."""
    known = values[~np.isnan(values)]
    if known.size == 0:
        return LatencySummary(math.nan, math.nan, math.nan, math.nan, 0)
    p50, p90, p99 = (float(value) for value in np.percentile(known, (50, 90, 99)))
    return LatencySummary(float(known.mean()), p50, p90, p99, known.size)


def latency_growth(requests: RequestRecords) -> float:
    """E2E per output token of the last quarter of requests over the first's; NaN with fewer than two in a quarter.

    A ratio of means. In an overloaded server it grows with the run; where the last requests merely take their time it
    is about 1.
    """
    quarter = requests.finish.size // 4
    if quarter < 2:
        return math.nan
    order = np.argsort(requests.arrival, kind="stable")
    per_token = (e2e(requests) / np.maximum(requests.output_tokens, 1))[order]
    return float(per_token[-quarter:].mean() / per_token[:quarter].mean())


def within_limits(requests: RequestRecords, limits: LatencyLimits) -> Bools:
    """Which requests exceeded no limit, bool [requests]; outputs of one token meet any TPOT."""
    # "Not above" rather than "at most", because a TPOT that does not exist is NaN.
    above_tpot = tpot(requests) > limits.tpot
    return np.asarray((ttft(requests) <= limits.ttft) & ~above_tpot & (e2e(requests) <= limits.e2e))
