"""Throughput, load and the summary of one run, from its records; simulated and measured runs share this code.

Knows nothing of how the records came about, and gives one number per run: intervals come from replications.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.analysis.acceptance import AcceptanceSummary, acceptance, tallied_acceptance
from specsim.analysis.latencies import LatencySummary, e2e, itl, summarise_latency, tallied_itl, tpot, ttft
from specsim.analysis.replicas import num_replicas
from specsim.analysis.steady import Window, within
from specsim.arrays import Floats
from specsim.forward import Reach
from specsim.records import PARTS, RoundTally, RunRecords, StepRecords


@dataclass(frozen=True)
class RunMetrics:
    """What one run means.

    Attributes:
        duration: from the first arrival to the last finish [s].
        output_tokens_per_s: all output tokens / duration, as benchmark clients report it; ramp and tail included.
        requests_per_s: all requests / duration.
        window: the steady window [s], None when none was given.
        steady_output_tokens_per_s: tokens emitted within the window / its length; NaN without one.
        mean_running_batch: requests running, on all replicas together, averaged over the time in which any is in a
            step, of the window if there is one.
        busy_fraction: time spent in steps / duration, the mean over replicas.
        part_shares: part of a step → its share of the time spent in steps; they sum to 1.
        ttft, tpot, itl, e2e: latencies [s].
        acceptance: what the verifier accepted.
    """

    duration: float
    output_tokens_per_s: float
    requests_per_s: float
    window: Window | None
    steady_output_tokens_per_s: float
    mean_running_batch: float
    busy_fraction: float
    part_shares: dict[str, float]
    ttft: LatencySummary
    tpot: LatencySummary
    itl: LatencySummary
    e2e: LatencySummary
    acceptance: AcceptanceSummary


def summarise(records: RunRecords, window: Window | None = None) -> RunMetrics:
    """Everything that one run means; the steady metrics are those of ``window``, see ``steady``."""
    requests, steps = records.requests, records.steps
    duration = float(requests.finish.max() - requests.arrival.min())
    busy = float((steps.end - steps.start).sum())
    return RunMetrics(
        duration=duration,
        output_tokens_per_s=float(requests.output_tokens.sum() / duration),
        requests_per_s=requests.finish.size / duration,
        window=window,
        steady_output_tokens_per_s=float("nan") if window is None else output_tokens_per_s(records, window),
        mean_running_batch=mean_running_batch(steps, window),
        busy_fraction=busy / duration / num_replicas(records),
        part_shares=dict(zip(PARTS, (steps.parts.sum(axis=0) / busy).tolist(), strict=True)),
        ttft=summarise_latency(ttft(requests)),
        tpot=summarise_latency(tpot(requests)),
        itl=_itl(records),
        e2e=summarise_latency(e2e(requests)),
        acceptance=_acceptance(records),
    )


def _itl(records: RunRecords) -> LatencySummary:
    if records.rounds is None:
        return tallied_itl(_tally(records))
    return summarise_latency(itl(records.steps, records.rounds))


def _acceptance(records: RunRecords) -> AcceptanceSummary:
    if records.rounds is None:
        return tallied_acceptance(_tally(records))
    return acceptance(records.requests, records.rounds)


def _tally(records: RunRecords) -> RoundTally:
    if records.tally is None:
        raise ValueError("records without rounds come with their tally")
    return records.tally


def output_tokens_per_s(records: RunRecords, window: Window) -> float:
    """Output tokens of the steps that ended within (from, to], divided by its length [tokens/s].

    Tokens count when they are ready, not while they are worked on, so each end of a window misplaces at most the tokens
    of one step.
    """
    emitted = records.steps.num_emitted[within(records.steps.end, window)]
    return float(emitted.sum() / (window[1] - window[0]))


def mean_running_batch(steps: StepRecords, window: Window | None = None) -> float:
    """Requests running on all replicas, averaged over the time (of the window, if given) in which any is in a step.

    NaN without any.
    """
    low, high = (-np.inf, np.inf) if window is None else window
    start, end = np.maximum(steps.start, low), np.minimum(steps.end, high)
    seconds = np.maximum(end - start, 0.0)
    total = seconds.sum() if steps.replica is None else _covered(start, end)
    return float((steps.num_running * seconds).sum() / total) if total > 0 else float("nan")


def _covered(start: Floats, end: Floats) -> float:
    """The time that spans cover, some of them at once; they begin one after the other [s]."""
    before = np.append(-np.inf, np.maximum.accumulate(end)[:-1])
    return float(np.maximum(end - np.maximum(start, before), 0.0).sum())


def reach(steps: StepRecords) -> Reach:
    """How far the steps of a run went; requests are those running, whether or not all fitted the step."""
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens
    return Reach(int(tokens.max()), int(steps.num_running.max()), int(steps.context_tokens.max()))
