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
    """How many drafts of each chain survive [B], and the token that follows them [B]."""
    accepted = leading_accepted(passing(drafts, accept))
    token = draw_rows(lambda b: residual_or_bonus(drafts, b, accepted[b]), final, drafts.p.shape[-1])
    return accepted, token


def passing(drafts: Drafts, accept: Float64s) -> Bools:
    """Which positions pass their own test u·q(x) < p(x); shape [B, K+1], the last column and padding False."""
    B, K = drafts.draft.shape
    live = drafts.live()
    b, i = live.nonzero()
    token = drafts.draft[live]
    passed = np.zeros((B, K + 1), dtype=np.bool_)
    passed[b, i] = accept[live] * drafts.q_of(b, i, token) < drafts.p_of(b, i, token)
    return passed


def leading_accepted(passed: Bools) -> Int64s:
    """How many drafts of each row survive: the length of the leading run of passes, shape [B]."""
    # The last column is False by construction, so argmin finds a first failure in every row.
    accepted: Int64s = passed.argmin(axis=1)
    return accepted


def residual_or_bonus(drafts: Drafts, b: Int64s, accepted: Int64s) -> Float64s:
    """Unnormalised weights of the last token of chains b of which so many drafts survived; shape [len(b), V].

    After a rejection max(0, p - q) if that has mass, else p.
    """
    weights = drafts.p_rows(b, accepted)
    rejected = (accepted < drafts.num_draft[b]).nonzero()[0]
    residual = drafts.residual(weights[rejected], b[rejected], accepted[rejected])
    has_mass = residual.any(axis=1)
    weights[rejected[has_mass]] = residual[has_mass]
    return weights
