"""How many tokens a verify has to yield for speculation to pay, and the acceptance that gives so many.

At equal concurrency, speedup = (tokens per verify) · (time of a step without) / (time of a step with). So speculation
pays from as many tokens per verify on as a step with it takes times as long, and that is the acceptance length over the
speedup, run by run. What the end of an output cuts from its last verify counts as time of the step: of outputs of n
tokens no more than K/n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.analysis.intervals import Interval, paired_speedup_interval
from specsim.schema.acceptance import geometric_acceptance
from specsim.schema.speculation import NgramLookup, Speculation

Floats = NDArray[np.float64]


class Required(NamedTuple):
    """What it takes for speculation to pay.

    Attributes:
        tokens: per verify.
        overlap: the constant α with which a chain yields so many; NaN where it cannot, or drafts are no chains of so
            many tokens judged one by one.
    """

    tokens: Interval
    overlap: Interval


def required(acceptance_lengths: Floats, speedups: Floats, num_draft_tokens: int, *, chains: bool) -> Required:
    """From runs of one point.

    Args:
        acceptance_lengths: tokens per verify [replications].
        speedups: output tokens/s over those without speculation [replications].
        num_draft_tokens: per verify.
        chains: whether there is a constant overlap that tokens per verify follow from; see ``follows_from_overlap``.
    """
    tokens = paired_speedup_interval(acceptance_lengths, speedups)
    overlap, low, high = (
        overlap_for(value, num_draft_tokens) if chains else math.nan
        for value in (tokens.estimate, tokens.low, tokens.high)
    )
    return Required(tokens, Interval(overlap, low, high, tokens.confidence, tokens.n))


def overlap_for(tokens: float, num_draft_tokens: int) -> float:
    """The constant overlap α with 1 + α + … + α^K = tokens; 0 where fewer than one are enough, NaN where none gives it.

    Args:
        tokens: per verify, the recovered or bonus token included.
        num_draft_tokens: K.
    """
    if not tokens <= num_draft_tokens + 1:
        return math.nan
    return geometric_acceptance(max(tokens, 1.0), num_draft_tokens)


def follows_from_overlap(speculation: Speculation) -> bool:
    """Whether drafts are chains of so many tokens, judged one by one: no trees, blocks or lookups that find nothing."""
    return speculation.rule in ("token", "greedy") and not isinstance(speculation.drafter, NgramLookup)
