"""One call for rows at temperature 0 and rows that sample: each kind goes through its own rule.

Knows nothing of how a rule decides, and checks no inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from specsim.verification.arrays import Bools, Emitted, Float64s, Floats, Ints, Outcome, Rule, RuleName
from specsim.verification.block_rule import block_rule
from specsim.verification.core import compiled_core
from specsim.verification.drafts import Drafts
from specsim.verification.draws import assemble
from specsim.verification.greedy import greedy_rule
from specsim.verification.tables import tables_of
from specsim.verification.token_rule import token_rule
from specsim.verification.validation import refuse_misfits

Decide: TypeAlias = Callable[[Drafts, Float64s, Float64s], Outcome]
DECIDE: dict[Rule, Decide] = {Rule.TOKEN: token_rule, Rule.BLOCK: block_rule}


def verified(
    drafts: Drafts,
    rule: RuleName,
    greedy: Bools | None,
    rng: np.random.Generator | None,
    accept_uniforms: Floats | None,
    final_uniforms: Floats | None,
) -> Emitted:
    """The result of a verifier: by the rule, or by the greedy rule in greedy rows; out [B, K+1] and num_out [B].

    Args:
        drafts: the chains.
        rule: for rows that sample.
        greedy, rng, accept_uniforms, final_uniforms: as for `verify_chain`.

    Raises:
        InputError: shapes do not fit together; values are not checked.
    """
    accept, final = uniforms_for(drafts.draft, rng, accept_uniforms, final_uniforms)
    refuse_misfits(drafts, greedy, accept, final)
    core = compiled_core()
    if core is not None and (tables := tables_of(drafts)) is not None:
        emitted: Emitted = core.verify(rule, tables, drafts.draft, drafts.num_draft, greedy, accept, final)
        return emitted
    return verified_by_numpy(drafts, Rule[rule.upper()], greedy, accept, final)


def verified_by_numpy(drafts: Drafts, rule: Rule, greedy: Bools | None, accept: Float64s, final: Float64s) -> Emitted:
    """`verified` without compiled code, for uniforms in [0, 1) [B, K] and [B]."""
    accept, final = np.maximum(accept, 0.0), np.maximum(final, 0.0)  # below 0, p = 0 would pass
    if greedy is None:
        return assemble(drafts.draft, *DECIDE[rule](drafts, accept, final))
    return assemble(drafts.draft, *mixed(drafts, DECIDE[rule], greedy, accept, final))


def mixed(drafts: Drafts, rule: Decide, greedy: Bools, accept: Float64s, final: Float64s) -> Outcome:
    """The outcome, int64 [B] each, of the greedy rule in rows that are greedy [B] and of the other rule elsewhere."""
    accepted, token = np.empty((2, len(greedy)), dtype=np.int64)
    sampled, best = np.flatnonzero(~greedy), np.flatnonzero(greedy)
    accepted[sampled], token[sampled] = rule(drafts.take(sampled), accept[sampled], final[sampled])
    accepted[best], token[best] = greedy_rule(drafts.take(best))
    return accepted, token


def uniforms_for(
    draft: Ints,
    rng: np.random.Generator | None,
    accept_uniforms: Floats | None,
    final_uniforms: Floats | None,
) -> tuple[Float64s, Float64s]:
    """Accept uniforms [B, K] and final uniforms [B], float64, drawn in this order where there is a generator."""
    if rng is not None:
        return rng.random(draft.shape), rng.random(len(draft))
    return np.asarray(accept_uniforms, np.float64), np.asarray(final_uniforms, np.float64)
