"""How the drafts of a round depend on each other: a chain, or a tree of which a round drafts the first levels.

Nodes are numbered level by level, so the first levels are the first nodes. Knows neither tokens nor acceptance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specsim.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class DraftShape:
    """The largest draft of a request; a round drafts all of its levels or fewer. All arrays are int64, ``inner`` bool.

    Attributes:
        parents: the parent of each node, -1 for the root's children [N].
        sibling: index of a node among the children of its parent, from 0 [N].
        level: distance of a node from the root, from 1 [N].
        inner: whether a node has children [N].
        num_nodes: nodes of the first 0, 1, .. D levels: the draft tokens of a round [D+1].
        total_depth: Σ of their levels [D+1].
        num_inner: nodes of level 0 (the root), 1, .. D that have children [D+1].
        width: the most children of a node.
    """

    parents: Ints
    sibling: Ints
    level: Ints
    inner: Bools
    num_nodes: Ints
    total_depth: Ints
    num_inner: Ints
    width: int

    @property
    def num_levels(self) -> int:
        """The longest draft: D."""
        return len(self.num_nodes) - 1

    @property
    def max_nodes(self) -> int:
        """The most draft tokens of a round: N."""
        return len(self.parents)


def chain(num_draft_tokens: int) -> DraftShape:
    """One draft after the other."""
    return tree([(1,)] * num_draft_tokens)


def tree(children: Sequence[Sequence[int]]) -> DraftShape:
    """A tree from the number of children of each node, level by level, beginning with the root."""
    parents, sibling, level, counts = list[int](), list[int](), list[int](), [0]
    above = [-1]
    for depth, numbers in enumerate(children, start=1):
        nodes = [(parent, j) for parent, number in zip(above, numbers, strict=True) for j in range(number)]
        above = list(range(len(parents), len(parents) + len(nodes)))
        parents += [parent for parent, _ in nodes]
        sibling += [j for _, j in nodes]
        level += [depth] * len(nodes)
        counts.append(len(parents))
    depths = np.array(level, dtype=np.int64)
    inner = np.isin(np.arange(len(parents)), parents)
    return DraftShape(
        parents=np.array(parents, dtype=np.int64),
        sibling=np.array(sibling, dtype=np.int64),
        level=depths,
        inner=inner,
        num_nodes=np.array(counts, dtype=np.int64),
        total_depth=np.append(0, np.cumsum(depths))[counts],
        num_inner=np.append(int(bool(parents)), np.bincount(depths[inner], minlength=len(counts))[1:]),
        width=max(sibling, default=-1) + 1,
    )
