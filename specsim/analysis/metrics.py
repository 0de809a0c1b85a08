"""Throughput and load of a run, from its records, and how far its steps went."""

from __future__ import annotations

import numpy as np

from specsim.analysis.steady import Window, seconds_within, within
from specsim.forward import Reach
from specsim.records import RunRecords, StepRecords


def output_tokens_per_s(records: RunRecords, window: Window) -> float:
    """Output tokens of the steps that ended within (from, to] over the window's length [tokens/s].

    Tokens count when they are ready, so each end of a window misplaces at most the tokens of one step.
    """
    emitted = records.steps.num_emitted[within(records.steps.end, window)]
    return float(emitted.sum() / (window[1] - window[0]))


def mean_running_batch(steps: StepRecords, window: Window | None = None) -> float:
    """Requests running on all replicas, averaged over the time (of the window, if given) in which any is in a step.

    NaN without any step.
    """
    total = covered(steps, window)
    return float((steps.num_running * seconds_within(steps, window)).sum() / total) if total > 0 else float("nan")


def covered(steps: StepRecords, window: Window | None = None) -> float:
    """Time, of a window or of all, in which any replica is in a step [s]. Steps are ordered by start."""
    if steps.replica is None:
        return float(seconds_within(steps, window).sum())
    low, high = (-np.inf, np.inf) if window is None else window
    start, end = np.maximum(steps.start, low), np.minimum(steps.end, high)
    before = np.append(-np.inf, np.maximum.accumulate(end)[:-1])
    return float(np.maximum(end - np.maximum(start, before), 0.0).sum())


def reach(steps: StepRecords, rows: int | None = None, calibrated: Reach | None = None) -> Reach:
    """Largest sums that the steps of a run reached; requests are those running, whether or not all fitted the step.

    Args:
        steps: of a run.
        rows: most tokens of a step that the device's matrix products were measured with; None where not known.
        calibrated: how far the steps went that the engine profile was calibrated on; None where not known.
    """
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens
    seconds = steps.end - steps.start
    sums = tokens, steps.num_running, steps.context_tokens
    more = tokens > (np.inf if rows is None else rows)
    beyond = np.zeros(len(seconds), bool)
    for mine, most in zip(sums, calibrated or (), strict=False):
        beyond |= mine > most
    shares = (float(seconds[which].sum() / seconds.sum()) for which in (more, beyond))
    return Reach(*(int(column.max()) for column in sums), *shares)
