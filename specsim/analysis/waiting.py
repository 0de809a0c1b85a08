"""Which limit keeps requests waiting: places, the token budget of a step, or the KV cache."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.analysis.metrics import covered
from specsim.analysis.steady import Window, seconds_within
from specsim.arrays import Ints
from specsim.records import StepRecords


class Waiting(NamedTuple):
    """Requests that wait, on average over the time in which any request is in a step, by the limit that binds.

    Attributes:
        places: as many requests run as the engine lets run (max_num_seqs).
        budget: the step is full (max_num_batched_tokens), or the next prompt does not fit it.
        cache: the KV cache has no room for another request.
    """

    places: float
    budget: float
    cache: float


def waiting_by_limit(
    steps: StepRecords, max_num_seqs: Ints, max_num_batched_tokens: Ints, kv_tokens: Ints, longest: int,
    window: Window | None = None,
) -> Waiting:  # fmt: skip
    """How many requests wait for each limit; of several that bind at once, the first of ``Waiting`` counts.

    Args:
        steps: of a run.
        max_num_seqs: most requests that run at once, of each replica [replicas].
        max_num_batched_tokens: most tokens in a step, of each replica [replicas].
        kv_tokens: KV pool of each replica [replicas] [tokens].
        longest: room that the largest request may ask for [tokens].
        window: part of the run; all of it by default.
    """
    replica = np.zeros(len(steps.start), np.int64) if steps.replica is None else steps.replica
    total = covered(steps, window)
    waited = seconds_within(steps, window) * steps.num_waiting
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens
    places = steps.num_running >= max_num_seqs[replica]
    cache = ~places & (tokens < max_num_batched_tokens[replica]) & (kv_tokens[replica] - steps.kv_tokens < longest)
    means = (float(waited[which].sum()) / total for which in (places, ~places & ~cache, cache))
    return Waiting(*means) if total else Waiting(0.0, 0.0, 0.0)
