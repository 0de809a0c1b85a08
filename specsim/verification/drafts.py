"""Drafted chains with the distributions that judge them, dense or as rows of tables, read in one way.

A distribution is found by an index tuple: (b, i) in dense arrays, (row,) in a table. All rules read through these
methods, so neither form is copied into the other. Knows no rule of acceptance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.verification.arrays import Bools, Float64s, Floats, Int64s, Ints

ONE_HOT = -1  # as a q_row: the token was not sampled from a distribution
# Up to this vocabulary rows are gathered in one go; longer ones are read one by one, which spares a copy of each.
_GATHERED = 1024


class Drafts(NamedTuple):
    """A batch of chains. Position i of a chain is judged by the i-th distribution of p; one more follows the last.

    Attributes:
        draft: drafted token ids [B, K].
        num_draft: number of real ones, the rest is never read [B].
        q: dense [B', K, V], a table [Rq, V], or None where no token was sampled.
        p: dense [B', K+1, V] or a table [Rp, V].
        batch: index of each chain in the dense arrays [B].
        q_row: rows of the table q, or ONE_HOT [B, K]; None if q is dense.
        p_row: rows of the table p [B, K+1]; None if p is dense.
    """

    draft: Ints
    num_draft: Ints
    q: Floats | None
    p: Floats
    batch: Int64s
    q_row: Ints | None = None
    p_row: Ints | None = None

    def take(self, chains: Int64s) -> Drafts:
        """The chains of these indices [n]; the distributions are shared."""
        q_row = None if self.q_row is None else self.q_row[chains]
        p_row = None if self.p_row is None else self.p_row[chains]
        return Drafts(self.draft[chains], self.num_draft[chains], self.q, self.p, self.batch[chains], q_row, p_row)

    def live(self) -> Bools:
        """Which positions hold a draft, bool [B, K]."""
        live: Bools = np.arange(self.draft.shape[1]) < self.num_draft[:, None]
        return live

    def p_index(self, b: Int64s, i: Int64s) -> tuple[Ints, ...]:
        """The index into p of the distributions of chains b at positions i: arrays [len(b)]."""
        return (self.batch[b], i) if self.p_row is None else (self.p_row[b, i],)

    def p_of(self, b: Int64s, i: Int64s, token: Ints) -> Floats:
        """The probabilities p(token) at (b, i) [len(b)]; 0 for ids that are no token."""
        return _entries(self.p, self.p_index(b, i), token)

    def q_of(self, b: Int64s, i: Int64s, token: Ints) -> Floats:
        """The probabilities with which tokens were drafted at (b, i) [len(b)]; 1 where they were not sampled."""
        if self.q is None:
            return np.ones(len(b))
        if self.q_row is None:
            return _entries(self.q, (self.batch[b], i), token)
        row = self.q_row[b, i]
        return np.where(row == ONE_HOT, 1.0, _entries(self.q, (row,), token))

    def p_rows(self, b: Int64s, i: Int64s) -> Float64s:
        """A copy of the distributions of p at (b, i) [len(b), V]."""
        index = self.p_index(b, i)
        if self.p.shape[-1] <= _GATHERED:
            return self.p[index].astype(np.float64, copy=False)
        rows = np.empty((len(b), self.p.shape[-1]))
        for row, *at in zip(rows, *index, strict=True):
            row[:] = self.p[tuple(at)]
        return rows

    def residual(self, weights: Float64s, b: Int64s, i: Int64s) -> Float64s:
        """max(0, weights - q), in place, for weights [len(b), V] that belong to the drafts at (b, i).

        Where a token was not sampled, q is its one-hot distribution, and the weights lose just that token. NaN counts
        as 0.
        """
        sampled, one_hot, index = self._sampled(b, i)
        if self.q is not None and len(sampled):
            if weights.shape[1] > _GATHERED:
                for n, *at in zip(sampled, *index, strict=True):
                    np.subtract(weights[n], self.q[tuple(at)], out=weights[n])
            elif len(one_hot):
                weights[sampled] -= self.q[index]
            else:
                weights -= self.q[index]
        np.fmax(weights, 0.0, out=weights)
        if len(one_hot):
            token = self.draft[b[one_hot], i[one_hot]]
            inside = (token >= 0) & (token < weights.shape[1])
            weights[one_hot[inside], token[inside]] = 0.0
        return weights

    def _sampled(self, b: Int64s, i: Int64s) -> tuple[Int64s, Int64s, tuple[Ints, ...]]:
        """Indices of the drafts at (b, i) that were sampled, of those that were not, and of the former in q."""
        every, none = np.arange(len(b)), np.arange(0)
        if self.q is None:
            return none, every, ()
        if self.q_row is None:
            return every, none, (self.batch[b], i)
        row = self.q_row[b, i]
        sampled = np.flatnonzero(row != ONE_HOT)
        return sampled, np.flatnonzero(row == ONE_HOT), (row[sampled],)


def _entries(table: Floats, index: tuple[Ints, ...], token: Ints) -> Floats:
    """The entries of these tokens in these rows of a table; 0 for ids that are no token."""
    # As unsigned numbers negative ids are large ones, so one comparison finds both kinds.
    outside = token.astype(np.uint64) >= table.shape[-1]
    if not outside.any():
        entries: Floats = table[(*index, token)]
        return entries
    return np.where(outside, 0.0, table[(*index, np.where(outside, 0, token))])


def dense(draft: Ints, q: Floats | None, p: Floats, num_draft: Ints) -> Drafts:
    """Drafts in dense form: ids [B, K], q [B, K, V] or None, p [B, K+1, V], num_draft [B]; see `verify_chain`."""
    return Drafts(draft, num_draft, q, p, np.arange(draft.shape[0] if draft.ndim else 0))
