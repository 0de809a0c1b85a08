"""How a mutant is made: the steps that it gets wrong, in the signature of `verify_chain`.

Steps take the drafts, accept uniforms [B, K] and final uniforms [B] in [0, 1), mixtures also the greedy rows [B]. A
rule and a mixture return the number of drafts kept and the last token, int64 [B] each, as `token_rule`; steps return
out [B, K+1] and num_out [B]. Knows nothing of any mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from specsim.verification.arrays import Bools, ChainVerifier, Emitted, Float64s, Floats, Ints, Outcome
from specsim.verification.drafts import Drafts, dense
from specsim.verification.draws import assemble
from specsim.verification.mixed import Decide, mixed, uniforms_for

Steps = Callable[[Drafts, Float64s, Float64s], Emitted]
Mixture = Callable[[Drafts, Bools, Float64s, Float64s], Outcome]


def from_rule(rule: Decide) -> ChainVerifier:
    """A verifier that applies this rule in rows that are not greedy; like all here it checks nothing."""

    def steps(drafts: Drafts, greedy: Bools | None, accept: Float64s, final: Float64s) -> Emitted:
        if greedy is None:
            return assemble(drafts.draft, *rule(drafts, accept, final))
        return assemble(drafts.draft, *mixed(drafts, rule, greedy, accept, final))

    return _verifier(rule, steps)


def from_mixture(mixture: Mixture) -> ChainVerifier:
    """A verifier whose treatment of greedy rows among others is its mistake."""

    def steps(drafts: Drafts, greedy: Bools | None, accept: Float64s, final: Float64s) -> Emitted:
        rows = np.zeros(len(final), dtype=np.bool_) if greedy is None else greedy
        return assemble(drafts.draft, *mixture(drafts, rows, accept, final))

    return _verifier(mixture, steps)


def from_steps(emit: Steps) -> ChainVerifier:
    """A verifier whose assembly of the result is part of its mistake; it knows no greedy rows."""
    return _verifier(emit, lambda drafts, _, accept, final: emit(drafts, accept, final))


def _verifier(
    wrapped: Callable[..., Any], steps: Callable[[Drafts, Bools | None, Float64s, Float64s], Emitted]
) -> ChainVerifier:
    @wraps(wrapped)
    def verify(
        draft: Ints,
        q: Floats | None,
        p: Floats,
        num_draft: Ints,
        *,
        greedy: Bools | None = None,
        rng: np.random.Generator | None = None,
        accept_uniforms: Floats | None = None,
        final_uniforms: Floats | None = None,
        validate: bool = True,
    ) -> Emitted:
        accept, final = uniforms_for(draft, rng, accept_uniforms, final_uniforms)
        return steps(dense(draft, q, p, num_draft), greedy, accept, final)

    return verify
