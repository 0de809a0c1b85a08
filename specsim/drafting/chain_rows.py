"""The tables that chains are proposed from and judged by, in the form that compiled code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.kernels import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ChainRows(NamedTuple):
    """A row for each domain and draft position: those of domain c are the K from c·K on, of p the K + 1 from c·(K+1).

    Attributes:
        longest: K.
        sampled: whether drafts are drawn from q; otherwise they are its most likely tokens.
        draft_cdf: running sums of q, the last of a row 1 [C·K, V].
        guide: the first token whose running sum exceeds x / V, for x from 0 to V - 1 [C·K, V] (Chen and Asau, "On
            generating random variates from an empirical distribution", 1974).
        choice: the most likely token of q [C·K].
        conditional: the acceptance stated [C·K].
        drafter: q [C·K, V].
        q: the same where drafts are drawn; otherwise [0, V], since the verifier is not to see it.
        p: [C·(K+1), V].
        identity: [V, V]: the one-hot distributions, which judge at temperature 0.
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
    identity: Floats


def joined(domains: Sequence[ChainRows]) -> ChainRows:
    """The rows of several domains, in order; they have K, V and the way of drafting in common."""
    return domains[0]._replace(
        draft_cdf=np.concatenate([rows.draft_cdf for rows in domains]),
        guide=np.concatenate([rows.guide for rows in domains]),
        choice=np.concatenate([rows.choice for rows in domains]),
        conditional=np.concatenate([rows.conditional for rows in domains]),
        drafter=np.concatenate([rows.drafter for rows in domains]),
        q=np.concatenate([rows.q for rows in domains]),
        p=np.concatenate([rows.p for rows in domains]),
    )


@kernel
def drawn(draft_cdf: Floats, guide: Ints, row: int, uniform: float) -> int:
    """A draft token by inverse CDF, searched from where the guide says."""
    token = guide[row, int(uniform * guide.shape[1])]
    while not draft_cdf[row, token] > uniform:
        token += 1
    return int(token)
