"""Runs whose rounds are counted as they come, and not kept."""

from __future__ import annotations

from specsim.workload.lengths import Lengths

LONG_RUN = 10_000_000  # output tokens; a round takes 56 bytes, and each token is one without speculation


def is_short(lengths: Lengths) -> bool:
    """Whether every round of a run is kept unless it is said otherwise."""
    return bool(lengths.output.sum() <= LONG_RUN)
