"""The mean acceptance length of drafted trees, and the overlap at which trees reach a given one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.arrays import Floats
from specsim.drafting.shape import DraftShape
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.verification import mean_tree_tokens

STEPS = 14  # halvings of [0, 1]: the overlap is then known to 1e-4


def mean_tree_length(source: TreeAcceptance, shape: DraftShape, num_levels: int, uniforms: Floats) -> float:
    """Tokens per verify of trees of some levels, a mean over drafts.

    Args:
        source: proposes the trees and scores them.
        shape: of the trees, with these levels.
        num_levels: of the trees.
        uniforms: in [0, 1), that draw them [drafts, num_levels, width].
    """
    token = source.propose(uniforms)
    trees = source.score_sampled(token)
    parents = np.broadcast_to(shape.parents, token.shape)
    num_nodes = np.full(len(token), int(shape.num_nodes[num_levels]))
    return mean_tree_tokens(
        parents, token, num_nodes, trees.q_row, trees.p_row, trees.q, trees.p, siblings=trees.siblings
    )[0]


def overlap_of_length(length: float, length_at: Callable[[float], float]) -> float | None:
    """The overlap of first candidates, to 1e-4, at which trees have a mean length; None where they are never so long.

    Args:
        length: tokens per verify.
        length_at: the mean length at an overlap, which rises with it.
    """
    low, high = 0.0, 1.0
    if length > length_at(high):
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if length_at(middle) < length else (low, middle)
    return round((low + high) / 2, 4)
