"""Drafts that were not sampled, judged with one mistake each. Knows nothing of how it is found out."""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Float64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import draw_rows
from specsim.verification.proof.mutants.making import from_rule
from specsim.verification.token_rule import leading_accepted, passing, token_rule


@from_rule
def one_hot_residual_keeps_the_draft(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """After a rejection it draws from p with the rejected token still in it."""
    accepted = leading_accepted(passing(drafts, accept))
    return accepted, draw_rows(lambda b: drafts.p_rows(b, accepted[b]), final, drafts.p.shape[-1])


@from_rule
def one_hot_always_accepts(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It always accepts a draft that was not sampled."""
    accepted = drafts.num_draft.astype(np.int64)
    return accepted, draw_rows(lambda b: drafts.p_rows(b, accepted[b]), final, drafts.p.shape[-1])


@from_rule
def one_hot_accepts_the_argmax(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It accepts while the draft is the target's most likely token, though the row samples."""
    B, K = drafts.draft.shape
    passed = np.zeros((B, K + 1), dtype=np.bool_)
    b, i = drafts.live().nonzero()
    passed[b, i] = drafts.p_rows(b, i).argmax(axis=1) == drafts.draft[b, i]
    accepted = leading_accepted(passed)
    return accepted, draw_rows(lambda b: drafts.p_rows(b, accepted[b]), final, drafts.p.shape[-1])


@from_rule
def one_hot_taken_for_uniform(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It judges a draft that was not sampled as if it had been drawn uniformly from the vocabulary."""
    V = drafts.p.shape[-1]
    return token_rule(drafts._replace(q=np.full((*drafts.draft.shape, V), 1 / V)), accept, final)
