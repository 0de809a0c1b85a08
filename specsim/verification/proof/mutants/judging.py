"""Wrong ways of judging the drafts of the token rule. Knows nothing of how they are found out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from specsim.verification.arrays import Bools, ChainVerifier, Float64s, Int64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import draw_rows
from specsim.verification.proof.mutants.making import from_rule
from specsim.verification.token_rule import leading_accepted, passing, residual_or_bonus, token_rule


def _with_accepted(drafts: Drafts, accepted: Int64s, final: Float64s) -> Outcome:
    """The token rule's last token after a wrong number of drafts."""
    V = drafts.p.shape[-1]
    return accepted, draw_rows(lambda b: residual_or_bonus(drafts, b, accepted[b]), final, V)


def _drafted(drafts: Drafts) -> tuple[Float64s, Float64s]:
    """p(x) and q(x) of all drafts, those of padding included (as token 0), both [B, K]."""
    b, i = np.indices(drafts.draft.shape)
    V = drafts.p.shape[-1]
    token = np.where((drafts.draft >= 0) & (drafts.draft < V), drafts.draft, 0).ravel()
    p_x, q_x = (of(b.ravel(), i.ravel(), token).reshape(b.shape) for of in (drafts.p_of, drafts.q_of))
    return p_x.astype(np.float64), q_x.astype(np.float64)


def judging_by(passes: Callable[[Float64s, Float64s, Float64s], Bools]) -> ChainVerifier:
    """The token rule with a wrong test of each draft: passes(uniforms, q(x), p(x)), all [B, K]."""

    @wraps(passes)
    def rule(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
        p_x, q_x = _drafted(drafts)
        passed = np.zeros((len(accept), accept.shape[1] + 1), dtype=np.bool_)
        passed[:, :-1] = passes(accept, q_x, p_x) & drafts.live()
        return _with_accepted(drafts, leading_accepted(passed), final)

    return from_rule(rule)


@from_rule
def one_uniform_for_all_positions(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It tests every position with the first one's uniform: a row that passes once is likely to pass again."""
    return token_rule(drafts, np.repeat(accept[:, :1], accept.shape[1], axis=1), final)


@from_rule
def counting_after_rejection(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It counts every position that passes, also those behind a rejection, and so keeps a rejected draft."""
    return _with_accepted(drafts, passing(drafts, accept).sum(axis=1, dtype=np.int64), final)


@judging_by
def swapped_ratio(u: Float64s, q: Float64s, p: Float64s) -> Bools:
    """It accepts iff u·p < q: what the target likes more than the drafter does is what it rejects."""
    return u * p < q


@judging_by
def accepts_at_equality(u: Float64s, q: Float64s, p: Float64s) -> Bools:
    """It accepts iff u·q ≤ p: at u = 0 also a token that the target never emits."""
    return u * q <= p


@judging_by
def ratio_at_least_u(u: Float64s, q: Float64s, p: Float64s) -> Bools:
    """It accepts iff p/q ≥ u, which is the same mistake written as a quotient."""
    return np.divide(p, q, out=np.zeros_like(p), where=q > 0) >= u


@from_rule
def stale_drafts(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It judges what is left in the padding of an earlier call, as if all rows had K drafts."""
    p_x, q_x = _drafted(drafts)
    passed = np.zeros((len(p_x), p_x.shape[1] + 1), dtype=np.bool_)
    passed[:, :-1] = accept * q_x < p_x
    accepted = leading_accepted(passed)
    all_real = drafts._replace(num_draft=np.full(len(p_x), p_x.shape[1]))
    return _with_accepted(all_real, accepted, final)


@judging_by
def half_precision(u: Float64s, q: Float64s, p: Float64s) -> Bools:
    """It judges in float16: uniforms just below a ratio are rounded up to it, and small probabilities are lost."""
    return u.astype(np.float16) * q.astype(np.float16) < p.astype(np.float16)


@judging_by
def accepts_what_is_no_number(u: Float64s, q: Float64s, p: Float64s) -> Bools:
    """It rejects iff u·q ≥ p, which is false for NaN: a broken row accepts everything."""
    return ~(u * q >= p)


@from_rule
def accepts_the_targets_own_draw(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It draws from p at every position and accepts a draft equal to that token: the distribution is right, but slow.

    Drafts pass with Σ p·q and not with Σ min(p, q); public engines that verify like this are said to be lossy, which
    they are not.
    """
    passed = np.zeros((len(accept), accept.shape[1] + 1), dtype=np.bool_)
    own = np.zeros_like(passed, dtype=np.int64)
    b, i = drafts.live().nonzero()
    cumulative = drafts.p_rows(b, i).cumsum(axis=1)
    own[b, i] = (cumulative <= accept[b, i, None] * cumulative[:, -1:]).sum(axis=1)
    passed[b, i] = own[b, i] == drafts.draft[b, i]
    accepted = leading_accepted(passed)
    bonus = draw_rows(lambda b: drafts.p_rows(b, accepted[b]), final, drafts.p.shape[-1])
    return accepted, np.where(accepted < drafts.num_draft, own[np.arange(len(own)), accepted], bonus)


@from_rule
def sharpened_drafter(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its q is not the one that was drafted from but that of temperature 0.7."""
    return token_rule(_at_temperature(drafts, 0.7), accept, final)


@from_rule
def slightly_sharpened_drafter(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Its q is that of temperature 0.99: too little for a sample to show."""
    return token_rule(_at_temperature(drafts, 0.99), accept, final)


def _at_temperature(drafts: Drafts, temperature: float) -> Drafts:
    if drafts.q is None:
        return drafts
    sharper = drafts.q ** (1 / temperature)
    return drafts._replace(q=sharper / sharper.sum(axis=2, keepdims=True))


@from_rule
def neighbouring_rows(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """It reads q one position late where it can: rows of p and q that do not belong together."""
    if drafts.q is None:
        return token_rule(drafts, accept, final)
    later = np.minimum(np.arange(1, drafts.q.shape[1] + 1)[None, :], np.maximum(drafts.num_draft - 1, 0)[:, None])
    return token_rule(drafts._replace(q=np.take_along_axis(drafts.q, later[:, :, None], axis=1)), accept, final)
