"""How much of a device a run made use of: its bandwidth, its arithmetic, its KV pool. Records in, shares out.

Knows nothing of devices: peaks and pool sizes are arguments.
"""

from __future__ import annotations

import math

import numpy as np

from specsim.analysis.steady import Window, seconds_within, within
from specsim.arrays import Floats, Ints
from specsim.records import USES, StepRecords

BYTES, PEAK_SECONDS = USES.index("bytes"), USES.index("seconds_at_peak")


def bandwidth_share(steps: StepRecords, bandwidth: float | Floats, window: Window | None = None) -> float:
    """Bytes that steps moved, of what the device could move in the time that they took; NaN where they are not known.

    Args:
        steps: of a run.
        bandwidth: the device's peak, or that of each step's [B/s].
        window: counts the steps that ended within it; all by default.
    """
    return _share(steps, BYTES, bandwidth, window)


def flops_share(steps: StepRecords, window: Window | None = None) -> float:
    """Operations of steps, of what the device could do at full peaks in the time that they took; NaN where unknown.

    What target and drafter compute for tokens of requests, drafts that are rejected among them and the padding of
    graphs not, each at the peak of its precision.
    """
    return _share(steps, PEAK_SECONDS, 1.0, window)


def _share(steps: StepRecords, use: int, peak: float | Floats, window: Window | None) -> float:
    if steps.used is None:
        return math.nan
    counted = slice(None) if window is None else within(steps.end, window)
    lasts = (steps.end - steps.start)[counted]
    possible = _over_time(peak[counted] if isinstance(peak, np.ndarray) else peak, lasts)
    return float(steps.used[counted, use].sum() / possible) if possible > 0 else math.nan


def _over_time(rate: float | Floats | Ints, seconds: Floats) -> float:
    """What a rate comes to, one that is the same throughout or one of each step."""
    return float((rate * seconds).sum() if isinstance(rate, np.ndarray) else rate * seconds.sum())


def kv_share(steps: StepRecords, kv_tokens: int | Ints, window: Window | None = None) -> tuple[float, float]:
    """(mean, peak) share of the KV pool that is held, over the time spent in steps.

    Args:
        steps: of a run.
        kv_tokens: size of the pool, whole blocks, or of each step's.
        window: the time that the mean is over; the peak is of the whole run.
    """
    seconds = seconds_within(steps, window)
    possible = _over_time(kv_tokens, seconds)
    mean = float((steps.kv_tokens * seconds).sum() / possible) if possible > 0 else math.nan
    return mean, float((steps.kv_tokens / kv_tokens).max())


def busy_share(steps: StepRecords, window: Window) -> float:
    """Of the time of a window, that spent in steps."""
    return float(seconds_within(steps, window).sum() / (window[1] - window[0]))
