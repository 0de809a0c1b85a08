"""Wrong residuals and bonus rows of the token rule: the accepted prefix is right, the token after it is not.

Arguments of each, as of `token_rule`: the drafts, accept uniforms [B, K] and final uniforms [B] in [0, 1). Returns:
number of drafts kept and last token, int64 [B] each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.verification.arrays import Float64s, Int64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import draw_rows
from specsim.verification.proof.mutants.making import from_rule
from specsim.verification.token_rule import leading_accepted, passing, residual_or_bonus


def _drawing_from(
    weights_of: Callable[[Drafts, Int64s, Int64s], Float64s], drafts: Drafts, accept: Float64s, final: Float64s
) -> Outcome:
    """The token rule with other weights_of(drafts, b, accepted) for the last token."""
    accepted = leading_accepted(passing(drafts, accept))
    V = drafts.p.shape[-1]
    return accepted, draw_rows(lambda b: weights_of(drafts, b, accepted[b]), final, V)


def _signed(drafts: Drafts, b: Int64s, accepted: Int64s) -> tuple[Float64s, Int64s]:
    """P - q where a draft was rejected and p elsewhere, with the rows that were rejected."""
    weights = drafts.p_rows(b, accepted)
    rejected = np.flatnonzero(accepted < drafts.num_draft[b])
    if drafts.q is None:
        weights[rejected, drafts.draft[b[rejected], accepted[rejected]]] -= 1.0
    else:
        weights[rejected] -= drafts.q[drafts.batch[b[rejected]], accepted[rejected]]
    return weights, rejected


@from_rule
def resample_from_target(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """After a rejection it draws from p, not from the residual: tokens the drafter underrates stay underrated."""
    return _drawing_from(Drafts.p_rows, drafts, accept, final)


@from_rule
def absolute_difference(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its residual is |p - q|: a token that was rejected because q overrates it can come right back."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        return np.abs(_signed(drafts, b, accepted)[0])

    return _drawing_from(weights_of, drafts, accept, final)


@from_rule
def no_clamp(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its residual is p - q with the negative part left in: the cumulative sum no longer rises and ends at zero."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        return _signed(drafts, b, accepted)[0]

    return _drawing_from(weights_of, drafts, accept, final)


@from_rule
def residual_not_normalised(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It compares u with the residual's own cumulative sum, and takes the last token where that ends below u."""
    accepted = leading_accepted(passing(drafts, accept))
    weights = residual_or_bonus(drafts, np.arange(len(accepted)), accepted)
    beyond = weights.cumsum(axis=1) > final[:, None]
    return accepted, np.where(beyond.any(axis=1), beyond.argmax(axis=1), weights.shape[1] - 1)


@from_rule
def residual_of_the_first_position(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its residual is that of position 0, wherever the rejection was."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        return residual_or_bonus(drafts, b, np.where(accepted < drafts.num_draft[b], 0, accepted))

    return _drawing_from(weights_of, drafts, accept, final)


@from_rule
def residual_of_the_position_before(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its residual is that of the last accepted position: an index off by one."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        before = np.maximum(accepted - 1, 0)
        return residual_or_bonus(drafts, b, np.where(accepted < drafts.num_draft[b], before, accepted))

    return _drawing_from(weights_of, drafts, accept, final)


@from_rule
def bonus_from_the_last_row(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its bonus comes from the last row of p, also where a row has fewer drafts; NaN counts as zero."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        weights = residual_or_bonus(drafts, b, accepted)
        full = np.flatnonzero(accepted == drafts.num_draft[b])
        weights[full] = np.nan_to_num(drafts.p_rows(b[full], np.full(len(full), drafts.draft.shape[1])))
        return weights

    return _drawing_from(weights_of, drafts, accept, final)


@from_rule
def bonus_from_the_row_before(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its bonus comes from the row that judged the last draft: an index off by one."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        weights = residual_or_bonus(drafts, b, accepted)
        full = np.flatnonzero(accepted == drafts.num_draft[b])
        weights[full] = drafts.p_rows(b[full], np.maximum(accepted[full] - 1, 0))
        return weights

    return _drawing_from(weights_of, drafts, accept, final)


@from_rule
def residual_floor(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It adds 1e-9 to the residual so that it is never empty, and thus at times emits what the target never emits."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        return residual_or_bonus(drafts, b, accepted) + 1e-9 * (accepted < drafts.num_draft[b])[:, None]

    return _drawing_from(weights_of, drafts, accept, final)


@from_rule
def nothing_instead_of_an_empty_residual(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Where the residual has no mass it does not fall back to p, and draws token 0 from zeros."""

    def weights_of(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
        weights, rejected = _signed(drafts, b, accepted)
        weights[rejected] = np.maximum(weights[rejected], 0.0)
        return weights

    return _drawing_from(weights_of, drafts, accept, final)
