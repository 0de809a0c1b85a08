"""How many tokens a verify has to yield for speculation to pay, and the acceptance that gives so many.

At equal concurrency, speedup = (tokens per verify) · (time of a step without) / (time of a step with). So speculation
pays from as many tokens per verify on as a step with it takes times as long, and that is the acceptance length over the
speedup, run by run. What the end of an output cuts from its last verify counts as time of the step: of outputs of n
tokens no more than K/n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specsim.analysis.intervals import Interval, paired_speedup_interval
from specsim.arrays import Floats
from specsim.inputs.models.acceptance import geometric_acceptance
from specsim.inputs.models.speculation import Speculation


class Required(NamedTuple):
    """What it takes for speculation to pay; NaN where that is not known.

    Attributes:
        tokens: per verify; not known where lookups that find nothing leave steps without a verify.
        overlap: the constant α with which a chain yields so many; not known where it cannot, or where drafts are no
            chains of tokens judged one by one.
    """

    tokens: Interval
    overlap: Interval


NOTHING = Interval(math.nan, math.nan, math.nan, 0.95, 0)
UNKNOWN = Required(NOTHING, NOTHING)


def required(acceptance_lengths: Floats, speedups: Floats, num_draft_tokens: int, speculation: Speculation) -> Required:
    """From runs of one point, at which all requests run at once.

    Args:
        acceptance_lengths: tokens per verify [replications].
        speedups: output tokens/s over those without speculation [replications].
        num_draft_tokens: per verify.
        speculation: what drafts and judges.
    """
    if speculation.drafter.facts.looks_up:
        return UNKNOWN
    tokens = paired_speedup_interval(acceptance_lengths, speedups)
    if speculation.rule not in ("token", "greedy"):
        return Required(tokens, NOTHING)
    ends = tokens.estimate, tokens.low, tokens.high
    overlap, low, high = (overlap_for(value, num_draft_tokens) for value in ends)
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
