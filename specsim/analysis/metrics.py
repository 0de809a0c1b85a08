"""Throughput and load of a run, from its records, and how far its steps went."""

from __future__ import annotations

import numpy as np

from specsim.analysis.steady import Window, within
from specsim.arrays import Floats
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
    low, high = (-np.inf, np.inf) if window is None else window
    start, end = np.maximum(steps.start, low), np.minimum(steps.end, high)
    seconds = np.maximum(end - start, 0.0)
    total = seconds.sum() if steps.replica is None else _covered(start, end)
    return float((steps.num_running * seconds).sum() / total) if total > 0 else float("nan")


def _covered(start: Floats, end: Floats) -> float:
    """Total time covered by spans, which may overlap and are ordered by start [s]."""
    before = np.append(-np.inf, np.maximum.accumulate(end)[:-1])
    return float(np.maximum(end - np.maximum(start, before), 0.0).sum())


def reach(steps: StepRecords) -> Reach:
    """Largest sums that the steps of a run reached; requests are those running, whether or not all fitted the step."""
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens
    return Reach(int(tokens.max()), int(steps.num_running.max()), int(steps.context_tokens.max()))
