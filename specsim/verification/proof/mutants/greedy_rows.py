"""Rows at temperature 0 among others, with one mistake each. Knows nothing of how it is found out."""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Bools, Float64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import draw
from specsim.verification.mixed import mixed
from specsim.verification.proof.mutants.making import from_mixture
from specsim.verification.token_rule import token_rule


@from_mixture
def greedy_rows_sample(drafts: Drafts, greedy: Bools, accept: Float64s, final: Float64s) -> Outcome:
    """It overlooks temperature 0 and samples in every row."""
    return token_rule(drafts, accept, final)


@from_mixture
def greedy_rows_draw_the_last_token(drafts: Drafts, greedy: Bools, accept: Float64s, final: Float64s) -> Outcome:
    """It accepts by the argmax but then draws from p."""
    accepted, token = mixed(drafts, token_rule, greedy, accept, final)
    rows = np.flatnonzero(greedy)
    token[rows] = draw(drafts.p_rows(rows, accepted[rows]), final[rows])
    return accepted, token


@from_mixture
def ties_to_the_highest_id(drafts: Drafts, greedy: Bools, accept: Float64s, final: Float64s) -> Outcome:
    """Among equally likely tokens it takes the highest id in greedy rows."""
    V = drafts.p.shape[-1]
    mirrored = drafts._replace(draft=V - 1 - drafts.draft, p=drafts.p[..., ::-1])
    accepted, token = mixed(mirrored, token_rule, np.ones_like(greedy), accept, final)
    sampled = token_rule(drafts, accept, final)
    return np.where(greedy, accepted, sampled[0]), np.where(greedy, V - 1 - token, sampled[1])


@from_mixture
def all_greedy_if_any_is(drafts: Drafts, greedy: Bools, accept: Float64s, final: Float64s) -> Outcome:
    """One greedy row makes it treat the whole batch so."""
    return mixed(drafts, token_rule, np.full_like(greedy, greedy.any()), accept, final)
