"""Mean tokens that a rule yields, with the randomness that follows the drafts averaged out.

Given a draft, P(i drafts or more are kept) is the product of min(1, p/q) under the token rule and w_i under the block
rule (see `block_rule`), so a mean over sampled drafts needs no accept uniforms and has little noise.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Float64s, Floats, Ints, RuleName
from specsim.verification.block_rule import prefix_weights
from specsim.verification.drafts import Drafts, dense


def keeping_probability(
    draft: Ints, q: Floats | None, p: Floats, num_draft: Ints, rule: RuleName = "token"
) -> Float64s:
    """P(i + 1 drafts or more are kept | the draft) for each position, 0 in padding [B, K].

    Args:
        draft, q, p, num_draft: as for `verify_chain`.
        rule: that keeps them.
    """
    drafts = dense(np.asarray(draft), q, np.asarray(p), np.asarray(num_draft))
    return prefix_weights(drafts)[:, 1:] if rule == "block" else _token_products(drafts)


def mean_tokens(
    draft: Ints, q: Floats | None, p: Floats, num_draft: Ints, rule: RuleName = "token"
) -> tuple[float, float]:
    """Mean and standard error of tokens per verify over these drafts, which must have been sampled from q.

    Args:
        draft, q, p, num_draft: as for `verify_chain`, with two rows or more.
        rule: that keeps them.
    """
    tokens = 1 + keeping_probability(draft, q, p, num_draft, rule).sum(axis=1)
    return float(tokens.mean()), float(tokens.std(ddof=1) / np.sqrt(len(tokens)))


def _token_products(drafts: Drafts) -> Float64s:
    b, i = drafts.live().nonzero()
    token = drafts.draft[b, i]
    ratio = np.zeros(drafts.draft.shape)
    ratio[b, i] = np.minimum(1.0, drafts.p_of(b, i, token) / drafts.q_of(b, i, token))
    return np.cumprod(ratio, axis=1, dtype=np.float64)
