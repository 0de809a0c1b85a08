"""A source of drafted trees whose first children have exactly the acceptance that the user gives.

The rows of p and q are those of ``acceptance``, a pair per level, the same for every node of it and every request. The
first child of a node is accepted with the given probability exactly: drawn from q it passes with Σ min(p, q), and
where children are chosen rather than drawn, p is adjusted to give the drafter's first choice just that. What further
siblings add is not an input: it follows from the made-up shapes of p and q, and real models may gain more or less.
Nothing here counts as "accepted"; the verifier alone decides that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats, Ints
from specsim.drafting.acceptance import first_choice_rows, overlapping_rows
from specsim.drafting.shape import DraftShape
from specsim.verification.trees.forest import Siblings


class ScoredTrees(NamedTuple):
    """The distributions that trees [B, N] were drawn from and are judged by, as `verify_tree` takes them.

    Attributes:
        q_row: rows of q [B, N]; None where nothing was drawn.
        p_row: rows of p [B, N+1].
        q: [Rq, V]; None where nothing was drawn.
        p: [Rp, V].
        siblings: how siblings were made.
    """

    q_row: Ints | None
    p_row: Ints
    q: Floats | None
    p: Floats
    siblings: Siblings


class TreeAcceptance:
    """Proposes trees and scores them from one (p, q) pair per level, the same for every request.

    At temperature 0 the target's next token is its most likely one, which differs from context to context; here it is
    drawn from p, so a tree of chosen tokens is accepted as often as when sampling from p.

    Args:
        conditional: P(level i accepted | all before it accepted) of trees without forks [D].
        shape: the tree, of D levels or more.
        siblings: how the children of a node are made.
        greedy: the target's temperature is 0.
        vocabulary: tokens per row, at least twice the shape's width, as q may leave out half of them.
        rng: decides the shapes of the rows.
        concentration: of the shapes, as for ``overlapping_rows``.
    """

    def __init__(
        self,
        conditional: ArrayLike,
        shape: DraftShape,
        *,
        siblings: Siblings,
        greedy: bool,
        vocabulary: int,
        rng: np.random.Generator,
        concentration: float = 1.0,
    ) -> None:
        stated = np.asarray(conditional, dtype=np.float64)
        # one more row of p: the bonus token's, for which no draft competes
        p, q = overlapping_rows(np.append(stated, 1.0), vocabulary, rng, concentration)
        self._shape, self._siblings, self._greedy = shape, siblings, greedy
        self._p, self._q = p, q[:-1]
        self._ranked = np.argsort(-self._q, axis=1, kind="stable")  # the drafter's choices, the most likely first
        if siblings == "one_hot":
            self._p[:-1] = first_choice_rows(p[:-1], self._ranked[:, 0], stated)

    def propose(self, uniforms: Floats) -> Ints:
        """Token ids [B, N] of the first D levels; siblings are drawn by inverse CDF, or the most likely ones.

        Nodes of one level that are the same child of different parents get the same token, since rows and uniforms
        are the level's. A walk sees the children of one parent only.

        Args:
            uniforms: in [0, 1), by level and sibling [B, D, width].
        """
        num_levels = uniforms.shape[1]
        nodes = slice(int(self._shape.num_nodes[num_levels]))
        children = np.empty(uniforms.shape, dtype=np.int64)
        for level in range(num_levels):
            children[:, level] = self._children(level, uniforms[:, level])
        return children[:, self._shape.level[nodes] - 1, self._shape.sibling[nodes]]

    def _children(self, level: int, uniforms: Floats) -> Ints:
        """The children [B, width] of a node of the level above."""
        batch, width = uniforms.shape
        if self._siblings == "one_hot":
            return np.broadcast_to(self._ranked[level, :width], uniforms.shape)
        weights = np.broadcast_to(self._q[level], (batch, self._q.shape[1])).copy()
        children = np.empty(uniforms.shape, dtype=np.int64)
        for j in range(width):
            children[:, j] = _drawn(weights, uniforms[:, j])
            if self._siblings == "without_replacement":
                weights[np.arange(batch), children[:, j]] = 0.0
        return children

    def score(self, token: Ints, uniforms: Floats) -> ScoredTrees:
        """The distributions of trees [B, N], by level; at temperature 0 all mass is on the target's argmax.

        Args:
            token: as proposed [B, N].
            uniforms: in [0, 1), by level and sibling: the first siblings' draw the argmax [B, D, width].
        """
        trees = self.score_sampled(token)
        if not self._greedy:
            return trees
        best = np.take_along_axis(self._argmax(uniforms), trees.p_row, axis=1)
        return trees._replace(p_row=best, p=np.eye(self._p.shape[1]))

    def score_sampled(self, token: Ints) -> ScoredTrees:
        """The distributions of trees [B, N] if the target samples; at temperature 0, what its argmax is drawn from."""
        batch, num_nodes = token.shape
        level = self._shape.level[:num_nodes]
        # the children of the root are judged by the first row, those of its children by the second, and so on
        p_row = np.broadcast_to(np.append(0, level), (batch, num_nodes + 1))
        if self._siblings == "one_hot":
            return ScoredTrees(None, p_row, None, self._p, "one_hot")
        return ScoredTrees(np.broadcast_to(level - 1, token.shape), p_row, self._q, self._p, self._siblings)

    def _argmax(self, uniforms: Floats) -> Ints:
        """The target's most likely tokens [B, D+1]: drawn from p by inverse CDF, the drafter's first choice first."""
        batch, num_levels, _ = uniforms.shape
        best = np.zeros((batch, num_levels + 1), dtype=np.int64)  # which token is the bonus makes no difference
        for level, ranked in enumerate(self._ranked[:num_levels]):
            weights = np.broadcast_to(self._p[level, ranked], (batch, len(ranked)))
            best[:, level] = ranked[_drawn(weights, uniforms[:, level, 0])]
        return best


def _drawn(weights: Floats, uniforms: Floats) -> Ints:
    """The first entry of each row [B, V] whose cumulative weight exceeds its uniform times the total [B]."""
    cumulative = np.cumsum(weights, axis=1)
    total = cumulative[:, -1]
    target = np.minimum(uniforms * total, np.nextafter(total, 0.0))  # u · total may round up to the total
    entries: Ints = (cumulative <= target[:, None]).sum(axis=1)
    return entries
