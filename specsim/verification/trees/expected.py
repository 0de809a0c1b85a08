"""Mean tokens that drafted trees yield, with the randomness that follows the drafts averaged out.

Given a tree, a child is tested when its parent was accepted and its earlier siblings were not, and passes with
probability min(1, r(x)/q'(x)), the rule of `siblings` for how it was drawn. Computed with normalised distributions and
independently of the walk of `verify_tree`, so that each can be checked against the other.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Float64s, Floats, Int64s, Ints
from specsim.verification.trees.forest import Forest, Siblings, forest_of

_ENTRIES_AT_A_TIME = 1 << 20  # of the residuals after all nodes


def node_acceptance(
    parents: Ints,
    token: Ints,
    num_nodes: Ints,
    q_row: Ints | None,
    p_row: Ints,
    q: Floats | None,
    p: Floats,
    *,
    siblings: Siblings,
) -> Float64s:
    """P(node i is accepted | the drafted tree), 0 in padding [B, N].

    Args:
        parents, token, num_nodes, q_row, p_row, q, p, siblings: as for `verify_tree`.
    """
    forest = forest_of(parents, token, num_nodes, q_row, p_row, q, p)
    B, N = forest.token.shape
    accepted = np.zeros((B, N))
    rows_at_a_time = max(1, _ENTRIES_AT_A_TIME // ((N + 1) * forest.p.shape[1]))
    for first in range(0, B, rows_at_a_time):
        rows = slice(first, first + rows_at_a_time)
        accepted[rows] = _Walks(forest.of_rows(rows), siblings).acceptance()
    return accepted


def mean_tree_tokens(
    parents: Ints,
    token: Ints,
    num_nodes: Ints,
    q_row: Ints | None,
    p_row: Ints,
    q: Floats | None,
    p: Floats,
    *,
    siblings: Siblings,
) -> tuple[float, float]:
    """Mean and standard error of tokens per verify over these trees, which must have been drawn as ``siblings`` says.

    Args:
        parents, token, num_nodes, q_row, p_row, q, p, siblings: as for `verify_tree`, with two rows or more.
    """
    tokens = 1 + node_acceptance(parents, token, num_nodes, q_row, p_row, q, p, siblings=siblings).sum(axis=1)
    return float(tokens.mean()), float(tokens.std(ddof=1) / np.sqrt(len(tokens)))


class _Walks:
    """All walks through some trees at once; column 0 stands for the root and column i + 1 for node i.

    Attributes:
        reached: the probability of being at a node with all children tested so far rejected, shape [B, N+1].
        left: what these rejections left of p, normalised; shape [B, N+1, V].
        drawn: tokens of these children, which none after them can have without replacement; shape [B, N+1, V].
    """

    def __init__(self, forest: Forest, siblings: Siblings) -> None:
        B, N, V = *forest.token.shape, forest.p.shape[1]
        self.forest, self.siblings = forest, siblings
        self.reached, self.left = np.zeros((B, N + 1)), np.empty((B, N + 1, V))
        self.drawn = np.zeros((B, N + 1, V), dtype=np.bool_)
        self._arrive(np.arange(B), 0, np.ones(B))

    def acceptance(self) -> Float64s:
        """Each node's probability of being accepted, shape [B, N]."""
        accepted = np.zeros(self.forest.token.shape)
        for i in range(self.forest.token.shape[1]):
            b = np.flatnonzero(self.forest.num_nodes > i)
            accepted[b, i] = self._test(b, i)
            self._arrive(b, i + 1, accepted[b, i])
        return accepted

    def _arrive(self, b: Int64s, column: int, probability: Float64s) -> None:
        self.reached[b, column] = probability
        self.left[b, column] = self.forest.p[self.forest.p_row[b, column]]

    def _test(self, b: Int64s, i: int) -> Float64s:
        """The probability that node i is tested and passes; what its rejection leaves is noted at its parent."""
        at, x, n = self.forest.parents[b, i] + 1, self.forest.token[b, i], np.arange(len(b))
        law, left = self._law(b, at, i), self.left[b, at]
        accepted: Float64s = self.reached[b, at] * np.minimum(1.0, left[n, x] / law[n, x])
        self.reached[b, at] -= accepted
        residual = np.maximum(left - law, 0.0)
        mass = residual.sum(axis=1, keepdims=True)
        self.left[b, at] = np.divide(residual, mass, out=left, where=mass > 0)
        self.drawn[b, at, x] = True
        return accepted

    def _law(self, b: Int64s, at: Int64s, i: int) -> Float64s:
        """The distribution that node i was drawn from [len(b), V]."""
        if self.siblings == "one_hot":
            certain: Float64s = np.eye(self.left.shape[2])[self.forest.token[b, i]]
            return certain
        q, rows = self.forest.drafter_rows(b, np.full(len(b), i))
        law = q[rows].astype(np.float64)
        if self.siblings == "without_replacement":
            law[self.drawn[b, at]] = 0.0
            law /= law.sum(axis=1, keepdims=True)
        return law
