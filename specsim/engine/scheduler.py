"""What a step computes: decodes first, then prompt chunks in order of arrival, under one token budget.

There is no prefill or decode phase (vLLM V1's scheduler): a step may hold both. A decode with K drafts costs 1 + K
tokens of the budget; where the budget ends, drafts are cut before a request is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Decodes(NamedTuple):
    """The requests that verify in a step [B] and how many drafts each [B]."""

    requests: Ints
    num_draft: Ints

    @property
    def num_tokens(self) -> int:
        """Query tokens: one and the drafts of each request."""
        return len(self.requests) + int(self.num_draft.sum())


def fit_decodes(requests: Ints, num_draft: Ints, budget: int) -> Decodes:
    """As many decodes as the budget holds, in the order given; the last one that fits may lose drafts."""
    wanted = 1 + num_draft
    if int(wanted.sum()) <= budget:
        return Decodes(requests, num_draft)
    granted = np.clip(budget - (np.cumsum(wanted) - wanted), 0, wanted)
    scheduled = granted > 0
    return Decodes(requests[scheduled], granted[scheduled] - 1)


def fit_chunks(remaining: Iterable[int], budget: int) -> list[int]:
    """The prompt tokens that each request computes, in order, until the budget ends; zeros are left out."""
    chunks = []
    for tokens in remaining:
        if budget <= 0:
            break
        chunks.append(min(tokens, budget))
        budget -= chunks[-1]
    return chunks
