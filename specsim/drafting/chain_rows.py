"""The tables from which chains are proposed and judged, in the form that compiled code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.arrays import Bools, Floats, Ints
from specsim.drafting.variation import Variation, joined_variations
from specsim.kernels import kernel


class ChainRows(NamedTuple):
    """A row for each set and draft position: set s has K rows from s·K on, and K + 1 rows of p from s·(K+1) on.

    A domain has one set, or one for each rung if its acceptance varies.

    Attributes:
        longest: K.
        sampled: whether drafts are drawn from q; otherwise they are its most likely tokens.
        draft_cdf: running sums of q, the last of a row 1 [S·K, V].
        guide: the first token whose running sum exceeds x / V, for x from 0 to V - 1 [S·K, V] (Chen and Asau, "On
            generating random variates from an empirical distribution", 1974).
        choice: the most likely token of q [S·K].
        conditional: the overlap of a row [S·K].
        drafter: q [S·K, V].
        q: the same where drafts are drawn; otherwise [0, V], since the verifier must not see it.
        p: [S·(K+1) + V, V]; the last V are the one-hot distributions, which judge at temperature 0.
        greedy: of each domain, whether it decodes at temperature 0 [C].
        variation: of each domain, how acceptance varies.
    """

    longest: int
    sampled: bool
    draft_cdf: Floats
    guide: Ints
    choice: Ints
    conditional: Floats
    drafter: Floats
    q: Floats
    p: Floats
    greedy: Bools
    variation: Variation


def joined(domains: Sequence[ChainRows]) -> ChainRows:
    """The rows of several domains, in order; they must share K, V and the way of drafting."""
    V = domains[0].p.shape[1]
    num_sets = [(len(rows.p) - V) // (rows.longest + 1) for rows in domains]
    return domains[0]._replace(
        draft_cdf=np.concatenate([rows.draft_cdf for rows in domains]),
        guide=np.concatenate([rows.guide for rows in domains]),
        choice=np.concatenate([rows.choice for rows in domains]),
        conditional=np.concatenate([rows.conditional for rows in domains]),
        drafter=np.concatenate([rows.drafter for rows in domains]),
        q=np.concatenate([rows.q for rows in domains]),
        p=np.concatenate([*(rows.p[:-V] for rows in domains), np.eye(V)]),
        greedy=np.concatenate([rows.greedy for rows in domains]),
        variation=joined_variations([rows.variation for rows in domains], num_sets),
    )


@kernel
def drawn(draft_cdf: Floats, guide: Ints, row: int, uniform: float) -> int:
    """A draft token of a row by inverse CDF at a uniform in [0, 1): draft_cdf [R, V] searched from ``guide`` [R, V]."""
    token = guide[row, int(uniform * guide.shape[1])]
    while not draft_cdf[row, token] > uniform:
        token += 1
    return int(token)
