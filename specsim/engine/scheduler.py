"""What a step computes: decodes first, then prompt chunks in order of arrival, under one token budget.

There is no prefill or decode phase (vLLM V1's scheduler): a step may hold both. A decode costs one token of the budget
and one for each draft token: K for a chain of K, all nodes for a tree. Where the budget ends, drafts are cut, trees by
whole levels, before a request is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Decodes(NamedTuple):
    """The requests that verify in a step [B].

    Attributes:
        requests: who.
        num_draft: for how many positions each has drafts.
        num_nodes: how many draft tokens that is.
        num_lookups: for how many of them drafts were looked up, with or without success; one number.
    """

    requests: Ints
    num_draft: Ints
    num_nodes: Ints
    num_lookups: int = 0

    @property
    def num_tokens(self) -> int:
        """Query tokens: one and the draft tokens of each request."""
        return len(self.requests) + int(self.num_nodes.sum())


def fit_decodes(requests: Ints, num_draft: Ints, budget: int, num_nodes: Ints) -> Decodes:
    """As many decodes as the budget holds, in the order given; the last ones that fit may lose drafts.

    Args:
        requests: who is to verify [B].
        num_draft: for how many positions each wants drafts [B].
        budget: tokens that the step can hold.
        num_nodes: draft tokens of a draft for 0, 1, .. D positions, see `drafting.shape`.
    """
    wanted = 1 + num_nodes[num_draft]
    if int(wanted.sum()) <= budget:
        return Decodes(requests, num_draft, wanted - 1)
    granted = list[int]()
    for longest in num_draft.tolist():
        if budget <= 0:
            break
        granted.append(min(longest, int(num_nodes.searchsorted(budget - 1, side="right")) - 1))
        budget -= 1 + int(num_nodes[granted[-1]])
    fitted = np.array(granted, dtype=np.int64)
    return Decodes(requests[: len(fitted)], fitted, num_nodes[fitted])


def fit_chunks(remaining: Iterable[int], budget: int) -> list[int]:
    """The prompt tokens that each request computes, in order, until the budget ends; zeros are left out."""
    chunks = []
    for tokens in remaining:
        if budget <= 0:
            break
        chunks.append(min(tokens, budget))
        budget -= chunks[-1]
    return chunks
