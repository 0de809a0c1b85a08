"""Drafted chains with the distributions that judge them, dense or as rows of tables, read in one way.

A distribution is found by an index tuple: (b, i) in dense arrays, (row,) in a table. All rules read through these
methods, so that neither form is copied into the other. Knows no rule of acceptance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.verification.arrays import Bools, Float64s, Floats, Int64s, Ints

ONE_HOT = -1  # as a q_row: the token was not sampled from a distribution


class Drafts(NamedTuple):
    """A batch of chains. Position i of a chain is judged by the i-th distribution of p; one more follows the last.

    Attributes:
        draft: drafted token ids, shape [B, K].
        num_draft: how many of them are real, shape [B]; what lies beyond is never read.
        q: dense [B', K, V], a table [Rq, V], or None where no token was sampled.
        p: dense [B', K+1, V] or a table [Rp, V].
        batch: where each chain stands in the dense arrays, shape [B].
        q_row: rows of the table q, or ONE_HOT, shape [B, K]; None if q is dense.
        p_row: rows of the table p, shape [B, K+1]; None if p is dense.
    """

    draft: Ints
    num_draft: Ints
    q: Floats | None
    p: Floats
    batch: Int64s
    q_row: Ints | None = None
    p_row: Ints | None = None

    def take(self, chains: Int64s) -> Drafts:
        """These chains only; the distributions are shared."""
        q_row = None if self.q_row is None else self.q_row[chains]
        p_row = None if self.p_row is None else self.p_row[chains]
        return Drafts(self.draft[chains], self.num_draft[chains], self.q, self.p, self.batch[chains], q_row, p_row)

    def live(self) -> Bools:
        """Which positions hold a draft, shape [B, K]."""
        live: Bools = np.arange(self.draft.shape[1]) < self.num_draft[:, None]
        return live

    def p_index(self, b: Int64s, i: Int64s) -> tuple[Ints, ...]:
        """Where p has the distributions of chains b at positions i."""
        return (self.batch[b], i) if self.p_row is None else (self.p_row[b, i],)

    def p_of(self, b: Int64s, i: Int64s, token: Ints) -> Floats:
        """The probabilities p(token) at (b, i), shape as b."""
        probabilities: Floats = self.p[(*self.p_index(b, i), token)]
        return probabilities

    def q_of(self, b: Int64s, i: Int64s, token: Ints) -> Floats:
        """The probabilities with which the tokens were drafted at (b, i): 1 where they were not sampled."""
        if self.q is None:
            return np.ones(len(b))
        if self.q_row is None:
            return self.q[self.batch[b], i, token]
        row = self.q_row[b, i]
        return np.where(row == ONE_HOT, 1.0, self.q[row, token])

    def p_rows(self, b: Int64s, i: Int64s) -> Float64s:
        """A copy of the distributions of p at (b, i), shape [len(b), V]."""
        return self.p[self.p_index(b, i)].astype(np.float64, copy=False)

    def residual(self, weights: Float64s, b: Int64s, i: Int64s) -> Float64s:
        """max(0, weights - q), in place, for weights [len(b), V] that belong to the drafts at (b, i).

        Where a token was not sampled, q is the one-hot distribution of the token, and the weights lose just that.
        """
        if self.q is None:
            one_hot = np.arange(len(b))
        elif self.q_row is None:
            one_hot = None
            weights -= self.q[self.batch[b], i]
        else:
            row = self.q_row[b, i]
            one_hot, sampled = np.flatnonzero(row == ONE_HOT), np.flatnonzero(row != ONE_HOT)
            weights[sampled] -= self.q[row[sampled]]
        np.maximum(weights, 0.0, out=weights)
        if one_hot is not None:
            weights[one_hot, self.draft[b[one_hot], i[one_hot]]] = 0.0
        return weights


def dense(draft: Ints, q: Floats | None, p: Floats, num_draft: Ints) -> Drafts:
    """Drafts of the dense form; see `verify_chain` for the shapes."""
    return Drafts(draft, num_draft, q, p, np.arange(draft.shape[0] if draft.ndim else 0))
