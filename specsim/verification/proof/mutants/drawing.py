"""Wrong ways of drawing the last token, or of adding it. Knows nothing of how they are found out."""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Bools, Emitted, Float64s, Int64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import assemble
from specsim.verification.proof.mutants.making import from_rule, from_steps
from specsim.verification.token_rule import leading_accepted, passing, residual_or_bonus, token_rule


@from_rule
def final_draw_reuses_an_accept_uniform(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It draws the last token with the uniform that judged the first draft."""
    return token_rule(drafts, accept, np.where(drafts.num_draft > 0, accept[:, 0], final) if accept.size else final)


@from_rule
def final_draw_reuses_the_rejecting_uniform(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It draws the recovered token with the uniform that has just rejected: one that is known to be large."""
    accepted, _ = token_rule(drafts, accept, final)
    rejected = np.flatnonzero(accepted < drafts.num_draft)
    reused = final.copy()
    reused[rejected] = accept[rejected, accepted[rejected]]
    return token_rule(drafts, accept, reused)


@from_rule
def draws_at_equality(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It takes the first token whose cumulative sum is u or more: at u = 0 token 0, whatever its weight."""
    accepted, cumulative, threshold = _cumulative(drafts, accept, final)
    return accepted, (cumulative >= threshold[:, None]).argmax(axis=1)


@from_rule
def counts_entries_below(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It counts the cumulative sums below u, which is token 0 at u = 0 and may be V at the other end."""
    accepted, cumulative, threshold = _cumulative(drafts, accept, final)
    return accepted, (cumulative < threshold[:, None]).sum(axis=1)


@from_rule
def single_precision_sums(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It adds up in float32: of a large vocabulary many tokens cannot be reached."""
    accepted = leading_accepted(passing(drafts, accept))
    weights = residual_or_bonus(drafts, np.arange(len(accepted)), accepted)
    cumulative = weights.cumsum(axis=1, dtype=np.float32)
    threshold = final.astype(np.float32) * cumulative[:, -1]
    return accepted, (cumulative > threshold[:, None]).argmax(axis=1)


def _cumulative(drafts: Drafts, accept: Float64s, final: Float64s) -> tuple[Int64s, Float64s, Float64s]:
    """Drafts accepted, cumulative weights of the last token, and u times their total."""
    accepted = leading_accepted(passing(drafts, accept))
    cumulative = residual_or_bonus(drafts, np.arange(len(accepted)), accepted).cumsum(axis=1)
    return accepted, cumulative, final * cumulative[:, -1]


@from_steps
def missing_bonus(drafts: Drafts, accept: Float64s, final: Float64s) -> Emitted:
    """It adds no bonus token when every draft survives: the distribution stays right and only the speed is lost.

    A row without drafts still gets its token, as otherwise it would never advance.
    """
    accepted, token = token_rule(drafts, accept, final)
    out, num_out = assemble(drafts.draft, accepted, token)
    _drop_last(out, num_out, (accepted == drafts.num_draft) & (drafts.num_draft > 0))
    return out, num_out


@from_steps
def missing_correction(drafts: Drafts, accept: Float64s, final: Float64s) -> Emitted:
    """It adds no recovered token after a rejection, and drafts anew: what q underrates stays underrated."""
    accepted, token = token_rule(drafts, accept, final)
    out, num_out = assemble(drafts.draft, accepted, token)
    _drop_last(out, num_out, accepted < drafts.num_draft)
    return out, num_out


def _drop_last(out: Int64s, num_out: Int64s, where: Bools) -> None:
    rows = np.flatnonzero(where)
    num_out[rows] -= 1
    out[rows, num_out[rows]] = -1
