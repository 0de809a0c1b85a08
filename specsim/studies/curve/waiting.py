"""Where the requests of a curve do not all run at once: which limit binds, at which batches, with which drafts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from specsim.simulation.replica import Simulation
from specsim.studies.shared.limits import BUDGET, CACHE, PLACES


class Binding(NamedTuple):
    """A limit that keeps requests waiting.

    Attributes:
        limit: one of ``shared.limits``.
        setting: the engine's own name of it.
        room: how much there is of it, over all replicas: places, tokens of a step, or tokens of the KV cache.
        batches: at which it binds, ascending.
        num_draft_tokens: with which draft lengths, 0 for none, ascending.
        running: the fewest and the most requests that run at these points, on average.
    """

    limit: str
    setting: str
    room: int
    batches: tuple[int, ...]
    num_draft_tokens: tuple[int, ...]
    running: tuple[float, float]


def binding_limits(simulation: Simulation, points: pd.DataFrame) -> Iterator[Binding]:
    """Each limit that binds at some row of a curve."""
    for limit in (PLACES, BUDGET, CACHE):
        rows = points[points["limit"] == limit]
        if rows.empty:
            continue
        lengths, running = sorted(set(rows["num_draft_tokens"].astype(int))), rows["mean_running_batch"]
        yield Binding(
            limit,
            *_setting(simulation, limit, lengths[-1]),
            tuple(sorted(set(rows["batch"].astype(int)))),
            tuple(lengths),
            (float(running.min()), float(running.max())),
        )


def _setting(simulation: Simulation, limit: str, num_draft_tokens: int) -> tuple[str, int]:
    """Name and size of a limit under a draft length."""
    engine = simulation.inputs.engine
    if limit == CACHE:
        return limit, sum(simulation.kv_pools(num_draft_tokens))
    places, tokens = (sum(limits) for limits in zip(*simulation.step_limits(num_draft_tokens), strict=True))
    own = engine.speculation_max_num_seqs if limit == PLACES else engine.speculation_max_num_batched_tokens
    return f"speculation_{limit}" if num_draft_tokens and own else limit, places if limit == PLACES else tokens
