"""How much of a device a run used: its bandwidth, its arithmetic, its KV pool. Records in, shares out.

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
    """Share of memory bandwidth used: bytes moved over peak bytes in the time of the steps; NaN if unknown.

    Args:
        steps: of a run.
        bandwidth: the device's peak [B/s]: one, or one per step [steps].
        window: counts the steps that ended within it; all by default.
    """
    return _share(steps, BYTES, bandwidth, window)


def flops_share(steps: StepRecords, window: Window | None = None) -> float:
    """Share of compute used: operations over those at full peak in the time of the steps; NaN where they are unknown.

    Counts what target and drafter compute for tokens of requests, rejected drafts included and padding of graphs
    excluded, each at the peak of its precision.
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
    """Integral of a rate over time: one rate throughout, or one per step."""
    return float((rate * seconds).sum() if isinstance(rate, np.ndarray) else rate * seconds.sum())


def kv_share(steps: StepRecords, kv_tokens: int | Ints, window: Window | None = None) -> tuple[float, float]:
    """(mean, peak) share of the KV pool in use, over the time spent in steps.

    Args:
        steps: of a run.
        kv_tokens: size of the pool in whole blocks [tokens]: one, or one per step, int64 [steps].
        window: the time that the mean is over; the peak is of the whole run.
    """
    seconds = seconds_within(steps, window)
    possible = _over_time(kv_tokens, seconds)
    mean = float((steps.kv_tokens * seconds).sum() / possible) if possible > 0 else math.nan
    return mean, float((steps.kv_tokens / kv_tokens).max())


def busy_share(steps: StepRecords, window: Window) -> float:
    """Share of a window's time spent in steps."""
    return float(seconds_within(steps, window).sum() / (window[1] - window[0]))
