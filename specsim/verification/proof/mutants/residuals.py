"""Wrong residuals and bonus rows of the token rule: the accepted prefix is right, the token after it is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from specsim.verification.arrays import ChainVerifier, Float64s, Int64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import draw_rows
from specsim.verification.proof.mutants.making import from_rule
from specsim.verification.token_rule import leading_accepted, passing, residual_or_bonus


def drawing_from(weights_of: Callable[[Drafts, Int64s, Int64s], Float64s]) -> ChainVerifier:
    """The token rule with wrong weights for the last token: weights_of(drafts, rows b, drafts accepted there)."""

    @wraps(weights_of)
    def rule(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
        accepted = leading_accepted(passing(drafts, accept))
        return accepted, draw_rows(lambda b: weights_of(drafts, b, accepted[b]), final, drafts.p.shape[-1])

    return from_rule(rule)


def _signed(drafts: Drafts, b: Int64s, accepted: Int64s) -> tuple[Float64s, Int64s]:
    """P - q where a draft was rejected and p elsewhere, with the rows that were rejected."""
    weights = drafts.p_rows(b, accepted)
    rejected = np.flatnonzero(accepted < drafts.num_draft[b])
    if drafts.q is None:
        weights[rejected, drafts.draft[b[rejected], accepted[rejected]]] -= 1.0
    else:
        weights[rejected] -= drafts.q[drafts.batch[b[rejected]], accepted[rejected]]
    return weights, rejected


@drawing_from
def resample_from_target(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """After a rejection it draws from p, not from the residual: tokens the drafter underrates stay underrated."""
    return drafts.p_rows(b, accepted)


@drawing_from
def absolute_difference(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Its residual is |p - q|: a token that was rejected because q overrates it can come right back."""
    return np.abs(_signed(drafts, b, accepted)[0])


@drawing_from
def no_clamp(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Its residual is p - q with the negative part left in: the cumulative sum no longer rises and ends at zero."""
    return _signed(drafts, b, accepted)[0]


@from_rule
def residual_not_normalised(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It compares u with the residual's own cumulative sum, and takes the last token where that ends below u."""
    accepted = leading_accepted(passing(drafts, accept))
    weights = residual_or_bonus(drafts, np.arange(len(accepted)), accepted)
    beyond = weights.cumsum(axis=1) > final[:, None]
    return accepted, np.where(beyond.any(axis=1), beyond.argmax(axis=1), weights.shape[1] - 1)


@drawing_from
def residual_of_the_first_position(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Its residual is that of position 0, wherever the rejection was."""
    return residual_or_bonus(drafts, b, np.where(accepted < drafts.num_draft[b], 0, accepted))


@drawing_from
def residual_of_the_position_before(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Its residual is that of the last accepted position: an index off by one."""
    before = np.maximum(accepted - 1, 0)
    return residual_or_bonus(drafts, b, np.where(accepted < drafts.num_draft[b], before, accepted))


@drawing_from
def bonus_from_the_last_row(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Its bonus comes from the last row of p, also where a row has fewer drafts; NaN counts as zero."""
    weights = residual_or_bonus(drafts, b, accepted)
    full = np.flatnonzero(accepted == drafts.num_draft[b])
    weights[full] = np.nan_to_num(drafts.p_rows(b[full], np.full(len(full), drafts.draft.shape[1])))
    return weights


@drawing_from
def bonus_from_the_row_before(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Its bonus comes from the row that judged the last draft: an index off by one."""
    weights = residual_or_bonus(drafts, b, accepted)
    full = np.flatnonzero(accepted == drafts.num_draft[b])
    weights[full] = drafts.p_rows(b[full], np.maximum(accepted[full] - 1, 0))
    return weights


@drawing_from
def residual_floor(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """It adds 1e-9 to the residual so that it is never empty, and thus at times emits what the target never emits."""
    return residual_or_bonus(drafts, b, accepted) + 1e-9 * (accepted < drafts.num_draft[b])[:, None]


@drawing_from
def nothing_instead_of_an_empty_residual(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Where the residual has no mass it does not fall back to p, and draws token 0 from zeros."""
    weights, rejected = _signed(drafts, b, accepted)
    weights[rejected] = np.maximum(weights[rejected], 0.0)
    return weights
