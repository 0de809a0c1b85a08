"""How much of a device a run made use of: its bandwidth, its arithmetic, its KV pool. Records in, shares out.

Knows nothing of devices: peaks and pool sizes are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from specsim.analysis.steady import Window, seconds_within, within
from specsim.records import USES, StepRecords

BYTES, PEAK_SECONDS = USES.index("bytes"), USES.index("seconds_at_peak")


def bandwidth_share(steps: StepRecords, bandwidth: float, window: Window | None = None) -> float:
    """Bytes that steps moved, of what the device could move in the time that they took; NaN where they are not known.

    Args:
        steps: of a run.
        bandwidth: the device's peak [B/s].
        window: counts the steps that ended within it; all by default.
    """
    return _share(steps, BYTES, bandwidth, window)


def flops_share(steps: StepRecords, window: Window | None = None) -> float:
    """Operations of steps, of what the device could do at full peaks in the time that they took; NaN likewise.

    What target and drafter compute for tokens of requests, drafts that are rejected among them and the padding of
    graphs not, each at the peak of its precision.
    """
    return _share(steps, PEAK_SECONDS, 1.0, window)


def _share(steps: StepRecords, use: int, peak: float, window: Window | None) -> float:
    if steps.used is None:
        return math.nan
    counted = slice(None) if window is None else within(steps.end, window)
    seconds = (steps.end - steps.start)[counted].sum()
    return float(steps.used[counted, use].sum() / (peak * seconds)) if seconds > 0 else math.nan


def kv_share(steps: StepRecords, kv_tokens: Sequence[int], window: Window | None = None) -> tuple[float, float]:
    """(mean, peak) share of a KV pool that is held, over the time spent in steps.

    Args:
        steps: of a run.
        kv_tokens: size of each replica's pool, whole blocks.
        window: the time that the mean is over; the peak is of the whole run.
    """
    seconds = seconds_within(steps, window)
    total = seconds.sum()
    held = steps.kv_tokens / np.array(kv_tokens)[0 if steps.replica is None else steps.replica]
    return float((held * seconds).sum() / total) if total > 0 else math.nan, float(held.max())


def busy_share(steps: StepRecords, window: Window, num_replicas: int = 1) -> float:
    """Of the time of a window, that spent in steps, the mean over replicas."""
    return float(seconds_within(steps, window).sum() / ((window[1] - window[0]) * num_replicas))
