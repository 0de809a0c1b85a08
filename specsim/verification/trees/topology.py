"""Trees given by parents, read as first children and next siblings: the order in which a verifier tests nodes.

Knows nothing of tokens and distributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.verification.arrays import Int64s, Ints


@dataclass(frozen=True)
class Links:
    """Where a walk goes from a node; -1 where it ends.

    Attributes:
        first_child: of the root in column 0, of node i in column i + 1 [B, N+1].
        next_sibling: the next node by index with the same parent [B, N].
        previous_sibling: the one before [B, N].
        depth: nodes on the longest path from a root in the whole batch.
    """

    first_child: Int64s
    next_sibling: Int64s
    previous_sibling: Int64s
    depth: int

    def of_rows(self, rows: slice) -> Links:
        """The links of some rows; the depth stays that of the batch."""
        return Links(self.first_child[rows], self.next_sibling[rows], self.previous_sibling[rows], self.depth)


def link(parents: Ints, num_nodes: Ints) -> Links:
    """The links of ragged trees.

    Args:
        parents: the parent of each node, -1 for the root's children; a parent comes before its children; shape [B, N].
        num_nodes: nodes per row, shape [B]; columns from there on are padding.
    """
    B, N = parents.shape
    first_child = np.full((B, N + 1), -1)
    next_sibling, previous_sibling = np.full((B, N), -1), np.full((B, N), -1)
    real = np.arange(N) < num_nodes[:, None]
    parent = np.where(real, parents, N).astype(np.int64)
    by_parent = parent.argsort(axis=1, kind="stable")  # siblings side by side, in the order of their indices
    parent_of = np.take_along_axis(parent, by_parent, axis=1)

    starts = parent_of < N
    starts[:, 1:] &= parent_of[:, 1:] != parent_of[:, :-1]
    b, j = starts.nonzero()
    first_child[b, parent_of[b, j] + 1] = by_parent[b, j]
    b, j = ((parent_of < N) & ~starts).nonzero()
    next_sibling[b, by_parent[b, j - 1]] = by_parent[b, j]
    previous_sibling[b, by_parent[b, j]] = by_parent[b, j - 1]
    return Links(first_child, next_sibling, previous_sibling, _depth(parent))


def _depth(parent: Int64s) -> int:
    """Nodes on the longest path, going up from all nodes at once; padding has the parent N."""
    N = parent.shape[1]
    row, at = (parent < N).nonzero()
    depth = 0
    while len(at) and depth < N:  # N steps end even what is no tree
        depth += 1
        at = parent[row, at]
        row, at = row[at >= 0], at[at >= 0]
    return depth
