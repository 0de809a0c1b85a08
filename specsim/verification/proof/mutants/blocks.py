"""The block rule with one mistake each. Knows nothing of how it is found out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.verification.arrays import Float64s, Int64s, Outcome
from specsim.verification.block_rule import (
    block_residual_or_bonus,
    block_rule,
    longest_passing,
    part_passes,
    prefix_weights,
    surplus_mass,
)
from specsim.verification.drafts import Drafts
from specsim.verification.draws import draw_rows
from specsim.verification.proof.mutants.making import from_rule
from specsim.verification.token_rule import leading_accepted, residual_or_bonus


def _ending(drafts: Drafts, weights: Float64s, accepted: Int64s, final: Float64s) -> Outcome:
    """The block rule's last token after a wrong number of drafts, or with wrong weights."""
    V = drafts.p.shape[-1]
    return accepted, draw_rows(lambda b: block_residual_or_bonus(drafts, weights, b, accepted[b]), final, V)


@from_rule
def token_residual_borrowed(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its residual is the token rule's max(0, p - q), without the weight of what was kept."""
    accepted, _ = block_rule(drafts, accept, final)
    return accepted, draw_rows(lambda b: residual_or_bonus(drafts, b, accepted[b]), final, drafts.p.shape[-1])


@from_rule
def block_stops_at_the_first_failure(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It keeps the parts up to the first that fails, as the token rule does, and not the longest that passes."""
    weights = prefix_weights(drafts)
    B, K = drafts.draft.shape
    passed = np.zeros((B, K + 1), dtype=np.bool_)
    for i in range(1, K + 1):
        b = np.flatnonzero(drafts.num_draft >= i)
        passed[b, i - 1] = part_passes(drafts, weights, accept, b, i)
    return _ending(drafts, weights, leading_accepted(passed), final)


@from_rule
def block_without_clamp(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its w is the plain product of p/q, so that credit for one token pays for the next."""
    weights = _weights(drafts, lambda carried, ratio: carried * ratio)
    return _ending(drafts, weights, longest_passing(drafts, weights, accept), final)


@from_rule
def block_without_carry(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its w is min(1, p/q) of the last token alone."""
    weights = _weights(drafts, lambda _, ratio: np.minimum(1.0, ratio))
    return _ending(drafts, weights, longest_passing(drafts, weights, accept), final)


def _weights(drafts: Drafts, carry: Callable[[Float64s, Float64s], Float64s]) -> Float64s:
    """w_i = carry(w_{i-1}, p(x_i)/q(x_i))."""
    weights = np.zeros((len(drafts.draft), drafts.draft.shape[1] + 1))
    weights[:, 0] = 1.0
    for i in range(drafts.draft.shape[1]):
        b = np.flatnonzero(drafts.num_draft > i)
        at, token = np.full(len(b), i), drafts.draft[b, i]
        weights[b, i + 1] = carry(weights[b, i], drafts.p_of(b, at, token) / drafts.q_of(b, at, token))
    return weights


@from_rule
def block_passes_by_weight_alone(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It lets every part pass with w_i, which is right for the whole draft only: shorter parts get a second chance."""
    weights = prefix_weights(drafts)
    passed = np.zeros(weights.shape, dtype=np.bool_)
    passed[:, 1:] = (accept < weights[:, 1:]) & drafts.live()
    longest = (passed * np.arange(weights.shape[1])).max(axis=1)
    return _ending(drafts, weights, longest, final)


@from_rule
def block_without_denominator(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its h_i is S_i alone: not divided by the chance that nothing longer passes."""
    weights = prefix_weights(drafts)
    accepted = np.zeros(len(weights), dtype=np.int64)
    for i in range(1, weights.shape[1]):
        b = np.flatnonzero(drafts.num_draft >= i)
        inner = drafts.num_draft[b] > i
        threshold = weights[b, i]
        threshold[inner] = surplus_mass(drafts, weights, b[inner], i)
        accepted[b[accept[b, i - 1] < threshold]] = i
    return _ending(drafts, weights, accepted, final)


@from_rule
def block_of_the_longest_row(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It takes K for γ in every row: the end of a shorter one is treated like a part that goes on."""
    weights = prefix_weights(drafts)
    K = drafts.draft.shape[1]
    accepted = np.zeros(len(weights), dtype=np.int64)
    filled = drafts._replace(q=None if drafts.q is None else np.nan_to_num(drafts.q))
    for i in range(1, K + 1):
        b = np.flatnonzero(drafts.num_draft >= i)
        threshold = weights[b, i]
        if i < K:
            mass = surplus_mass(filled, weights, b, i)
            threshold = np.divide(mass, mass + 1 - threshold, out=np.zeros(len(b)), where=mass > 0)
        accepted[b[accept[b, i - 1] < threshold]] = i
    return _ending(drafts, weights, accepted, final)


@from_rule
def block_with_one_uniform(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It judges all parts with one uniform."""
    return block_rule(drafts, np.repeat(accept[:, :1], accept.shape[1], axis=1), final)


@from_rule
def block_residual_of_the_whole(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its residual is weighed with w of the whole draft and not of what was kept."""
    weights = prefix_weights(drafts)
    accepted = longest_passing(drafts, weights, accept)
    last = weights[np.arange(len(weights)), drafts.num_draft]
    return _ending(drafts, np.repeat(last[:, None], weights.shape[1], axis=1), accepted, final)
