"""Which batches run at once, and which limit keeps requests of the others waiting."""

from __future__ import annotations

from collections.abc import Mapping

from specsim.studies.shared.points import Point, PointRuns

CLEARLY_BELOW = 0.98  # when a smaller share of the requests in flight runs, a limit binds
PLACES, BUDGET, CACHE = "max_num_seqs", "max_num_batched_tokens", "KV cache"
CAPS = (PLACES, CACHE)
"""Limits on how many run at once. The token budget is none: prompts take turns for it, and that drafts take tokens of
it is among the costs of drafting."""


def limit_of(point: Point, runs: PointRuns) -> str:
    """The limit that most requests wait for; empty where (nearly) all in flight run."""
    waits = {PLACES: runs.wait_for_place, BUDGET: runs.wait_for_budget, CACHE: runs.wait_for_cache}
    means = {limit: float(requests.mean()) for limit, requests in waits.items()}
    if sum(means.values()) <= (1 - CLEARLY_BELOW) * point.batch:
        return ""
    return max(means, key=lambda limit: means[limit])


def running(runs: Mapping[Point, PointRuns]) -> dict[Point, PointRuns]:
    """The points of batches that run at once, whatever is drafted.

    Above a cap, more in flight only means more that wait: no such batch exists, and a speedup there compares caps as
    well, such as fewer places with drafts.
    """
    waiting = {point.batch for point, found in runs.items() if limit_of(point, found) in CAPS}
    return {point: found for point, found in runs.items() if point.batch not in waiting}
