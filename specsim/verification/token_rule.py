"""The token rule: drafts are judged one by one, each by its own uniform, until the first that fails.

The rule is that of Leviathan et al. 2023 (arXiv:2211.17192, algorithm 1) and Chen et al. 2023 (arXiv:2302.01318,
algorithm 2). Why it is exact: a token x comes out with probability min(p, q)(x) + (1 - α)·(p - q)₊(x) / Σ(p - q)₊,
where α = Σ min(p, q); since 1 - α and Σ(p - q)₊ both equal the total variation distance, that is p(x). It holds for any
q that the draft was sampled from, so also for the one-hot q of a draft that was not sampled: then x survives with
probability p(x), and the residual is p without x.

Pure steps on drafts and uniforms; checks no inputs.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Bools, Float64s, Int64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import draw_rows


def token_rule(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Drafts of each chain that survive and the next token, int64 [B] each, by uniforms in [0, 1) [B, K] and [B]."""
    accepted = leading_accepted(passing(drafts, accept))
    return accepted, last_token(drafts, accepted, None, final)


def passing(drafts: Drafts, accept: Float64s) -> Bools:
    """Which positions pass u·q(x) < p(x), bool [B, K+1], by uniforms u [B, K]; the last column and padding False."""
    B, K = drafts.draft.shape
    live = drafts.live()
    b, i = live.nonzero()
    token = drafts.draft[live]
    passed = np.zeros((B, K + 1), dtype=np.bool_)
    passed[b, i] = accept[live] * drafts.q_of(b, i, token) < drafts.p_of(b, i, token)
    return passed


def leading_accepted(passed: Bools) -> Int64s:
    """Number of drafts that survive, int64 [B]: the length of the leading run of passes in bool [B, K+1]."""
    # The last column is False by construction, so argmin finds a first failure in every row.
    accepted: Int64s = passed.argmin(axis=1)
    return accepted


def last_token(drafts: Drafts, accepted: Int64s, scale: Float64s | None, final: Float64s) -> Int64s:
    """The recovered or bonus token of each chain, int64 [B].

    Args:
        drafts: the chains.
        accepted: number of their drafts that survived [B].
        scale: recovered tokens come from max(0, scale·p - q) [B]; None for 1.
        final: uniforms in [0, 1) [B].
    """

    def weights_of(b: Int64s) -> Float64s:
        return last_weights(drafts, b, accepted[b], None if scale is None else scale[b])

    return draw_rows(weights_of, final, drafts.p.shape[-1])


def residual_or_bonus(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Unnormalised weights of the last token of chains b after ``accepted`` drafts [len(b), V].

    After a rejection max(0, p - q) if that has mass, else p (arXiv:2211.17192, algorithm 1).
    """
    return last_weights(drafts, b, accepted, None)


def last_weights(drafts: Drafts, b: Int64s, accepted: Int64s, scale: Float64s | None) -> Float64s:
    """`residual_or_bonus` [len(b), V] with max(0, scale·p - q) after a rejection, a scale per chain [len(b)]."""
    weights = drafts.p_rows(b, accepted)
    rejected = (accepted < drafts.num_draft[b]).nonzero()[0]
    everywhere = len(rejected) == len(b)
    residual = weights if everywhere else weights[rejected]
    if scale is not None:
        residual *= scale[rejected][:, None]
    drafts.residual(residual, b[rejected], accepted[rejected])
    empty = rejected[residual.max(axis=1, initial=0.0) == 0.0]
    if not everywhere:
        weights[rejected] = residual
        np.fmax(weights, 0.0, out=weights)  # what is no number counts as 0 in p too
    if len(empty):
        weights[empty] = np.fmax(drafts.p_rows(b[empty], accepted[empty]), 0.0)
    return weights
