"""The numbers that describe one run under a load: of all its requests, and of each class.

One number per run and metric; intervals come from replications.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from specsim.analysis.acceptance import AcceptanceSummary, acceptance, tallied_acceptance
from specsim.analysis.latencies import (
    ChunkGaps,
    LatencyLimits,
    LatencySummary,
    chunk_gaps,
    decode_rate,
    e2e,
    itl_per_token,
    queueing,
    summarise_latency,
    tallied_itl,
    tallied_itl_per_token,
    tpot,
    ttft,
    within_limits,
)
from specsim.analysis.metrics import mean_running_batch, output_tokens_per_s
from specsim.analysis.resources import bandwidth_share, busy_share, flops_share, kv_share
from specsim.analysis.steady import Window, sent_within, within
from specsim.arrays import Bools, Floats, Ints
from specsim.records import RequestRecords, RunRecords


class Metric(NamedTuple):
    """A number per run.

    Attributes:
        name: what it is, with its unit.
        scale: from SI to that unit.
    """

    name: str
    scale: float = 1.0


def _percentiles(*names: str) -> tuple[Metric, ...]:
    return tuple(Metric(f"{name} {part} [ms]", 1e3) for name in names for part in ("p50", "p90", "p99"))


THROUGHPUT = Metric("output tokens/s")
SERVED = (THROUGHPUT, Metric("requests/s"), Metric("tokens/s/user"), Metric("goodput [requests/s]"))
WITHIN_SLO = Metric("within SLO [%]", 100)
METRICS = (
    *SERVED,
    WITHIN_SLO,
    *_percentiles("TTFT", "TPOT", "ITL", "ITL per token", "E2E", "queueing"),
    Metric("tokens/s/GPU"),
    Metric("running batch"),
    Metric("busy [%]", 100),
    Metric("KV in use, mean [%]", 100),
    Metric("KV in use, peak [%]", 100),
    Metric("bandwidth used [%]", 100),
    Metric("FLOPs used [%]", 100),
    Metric("tokens per verify"),
    Metric("wasted drafts [%]", 100),
    Metric("wasted drafts [tokens/s]"),
)
CLASS_METRICS = (*SERVED, WITHIN_SLO, *_percentiles("TTFT", "TPOT", "E2E", "queueing"))


@dataclass(frozen=True)
class Server:
    """What the numbers are of.

    Attributes:
        limits: that a request served well has met.
        kv_tokens: of the KV pool, whole blocks, of each replica [replicas].
        bandwidth: of a device at its peak [B/s].
        num_devices: of the server, or of all.
    """

    limits: LatencyLimits
    kv_tokens: Ints
    bandwidth: Floats
    num_devices: int


def load_row(run: RunRecords, window: Window | None, server: Server, gaps: ChunkGaps | None) -> list[float]:
    """The METRICS of one run, in SI units.

    Args:
        run: the records.
        window: what counts: steps that end within it, and requests sent within it; the whole run by default.
        server: whose run it is.
        gaps: see ``gaps_of``.
    """
    chosen = chosen_requests(run.requests, window)
    span, steps = window or _whole(run), run.steps
    replica = 0 if steps.replica is None else steps.replica
    chunks, tokens = _itl(run, gaps, chosen)
    accepted, whole = _acceptance(run), _whole(run)
    drafted_per_s = float(steps.num_draft_tokens.sum()) / (whole[1] - whole[0])
    return [
        *_served(run, chosen, span, output_tokens_per_s(run, span), server.limits),
        *_three(ttft(run.requests)[chosen], tpot(run.requests)[chosen]),
        *_of(chunks),
        *_of(tokens),
        *_three(e2e(run.requests)[chosen], queueing(run.requests)[chosen]),
        output_tokens_per_s(run, span) / server.num_devices,
        mean_running_batch(steps, window),
        busy_share(steps, span) / len(server.kv_tokens),
        *kv_share(steps, server.kv_tokens[replica], window),
        bandwidth_share(steps, server.bandwidth[replica], window),
        flops_share(steps, window),
        accepted.acceptance_length,
        accepted.wasted_draft_fraction,
        accepted.wasted_draft_fraction * drafted_per_s,
    ]


def class_rows(run: RunRecords, window: Window | None, server: Server, num_classes: int) -> list[list[float]]:
    """The CLASS_METRICS of each class of one run [classes, CLASS_METRICS].

    Tokens count for a class where its requests finish, since steps do not say whose theirs are.
    """
    requests, span = run.requests, window or _whole(run)
    classes = np.zeros(len(requests.finish), np.int64) if requests.of_class is None else requests.of_class
    finished = np.ones(len(classes), np.bool_) if window is None else within(requests.finish, window)
    rows = []
    for number in range(num_classes):
        own = classes == number
        tokens = requests.output_tokens[own & finished].sum() / (span[1] - span[0])
        chosen = chosen_requests(requests, window) & own
        latencies = (measure(requests)[chosen] for measure in (ttft, tpot, e2e, queueing))
        served = _served(run, chosen, span, float(tokens), server.limits, finished & own)
        rows.append([*served, *_three(*latencies)])
    return rows


def _whole(run: RunRecords) -> Window:
    """The whole run; what happens at its very beginning is no step's end."""
    return float(run.requests.arrival.min()), float(run.requests.finish.max())


def chosen_requests(requests: RequestRecords, window: Window | None) -> Bools:
    """Whether each counts for latencies and the user's rate: those sent within the window, all without one."""
    return np.ones(len(requests.finish), np.bool_) if window is None else sent_within(requests, window)


def _served(
    run: RunRecords,
    chosen: Bools,
    span: Window,
    tokens_per_s: float,
    limits: LatencyLimits,
    finished: Bools | None = None,
) -> Iterator[float]:
    """What is served: SERVED and WITHIN_SLO, of the requests chosen; those that finish count for their rate."""
    requests, seconds = run.requests, span[1] - span[0]
    done = within(requests.finish, span) if finished is None else finished
    good = within_limits(requests, limits)
    yield tokens_per_s
    yield float(done.sum()) / seconds
    yield user_rate(requests, chosen)
    yield float(good[done].sum()) / seconds
    yield float(good[chosen].mean()) if chosen.any() else math.nan


def user_rate(requests: RequestRecords, chosen: Bools) -> float:
    """tokens/s/user: 1/TPOT, mean over the requests chosen; NaN where none has a second token."""
    return summarise_latency(decode_rate(requests)[chosen]).mean


def _three(*latencies: Floats) -> Iterator[float]:
    for values in latencies:
        yield from _of(summarise_latency(values))


def _of(latency: LatencySummary) -> tuple[float, float, float]:
    return latency.p50, latency.p90, latency.p99


def gaps_of(run: RunRecords) -> ChunkGaps | None:
    """Times between chunks, which take long to find; None where rounds are only counted."""
    return None if run.rounds is None else chunk_gaps(run.steps, run.rounds)


def _itl(run: RunRecords, gaps: ChunkGaps | None, chosen: Bools) -> tuple[LatencySummary, LatencySummary]:
    """By chunk and by token, of the requests chosen; of all where rounds are only counted."""
    if gaps is None:
        if run.tally is None:
            raise ValueError("records without rounds come with their tally")
        return tallied_itl(run.tally), tallied_itl_per_token(run.tally)
    of_them = chosen[gaps.request]
    seconds, tokens = gaps.seconds[of_them], gaps.tokens[of_them]
    return summarise_latency(seconds), summarise_latency(itl_per_token(seconds, tokens))


def _acceptance(run: RunRecords) -> AcceptanceSummary:
    """Of the whole run: acceptance does not warm up."""
    if run.tally is not None:
        return tallied_acceptance(run.tally)
    if run.rounds is None:
        raise ValueError("records without rounds come with their tally")
    return acceptance(run.requests, run.rounds)
