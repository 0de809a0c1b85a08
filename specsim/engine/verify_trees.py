"""Draft and verify trees for the decodes of a step: where drafted trees become tokens.

``verify_tree`` is called once per decode step on the step's arrays, and what it returns is what the requests receive.
It runs outside of compiled code.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from specsim import verification
from specsim.arrays import Floats, Ints
from specsim.drafting.shape import DraftShape
from specsim.drafting.tree_acceptance import ScoredTrees
from specsim.engine.state import Replica, Requests
from specsim.uniforms import LANE_ACCEPT, LANE_DRAFT, LANE_FINAL


class TreeSource(Protocol):
    """Proposes trees and scores them, as ``drafting.tree_acceptance`` describes."""

    def propose(self, uniforms: Floats) -> Ints:
        """Tokens [B, N] of trees of D levels, from uniforms [B, D, width]."""

    def score(self, token: Ints, uniforms: Floats) -> ScoredTrees:
        """The distributions of these trees; the uniforms [B, D, width] draw the target's argmax at temperature 0."""


def verify_trees(replica: Replica, requests: Requests, source: TreeSource, shape: DraftShape) -> None:
    """Fill ``num_out`` and ``last_is_new`` of the replica's decodes.

    Uniforms go by output position and sibling (see `uniforms.draw_uniforms`).

    Args:
        replica, requests: the state.
        source: where trees and distributions come from.
        shape: the largest tree that is drafted; rounds draft its first levels.
    """
    B = int(replica.counters.decodes[0])
    decodes, num_draft_tokens = replica.batch.decodes[:B], replica.batch.num_draft_tokens[:B]
    slots, num_levels = requests.slot[decodes], int(num_draft_tokens.max(initial=0))
    places = requests.emitted[decodes] - replica.batch.first_position[slots]
    by_level = places[:, None] + np.arange(num_levels)
    # [B, D, width] each
    drafting, accept = (replica.lanes[slots[:, None], lane, :, by_level] for lane in (LANE_DRAFT, LANE_ACCEPT))
    nodes = slice(int(shape.num_nodes[num_levels]))
    token = source.propose(drafting)
    trees = source.score(token, accept)
    # the source's rows are valid by construction (tested), so the per-call validation is left out
    _, num_out, path = verification.verify_tree(
        np.broadcast_to(shape.parents[nodes], token.shape),
        token,
        shape.num_nodes[num_draft_tokens],
        trees.q_row,
        trees.p_row,
        trees.q,
        trees.p,
        siblings=trees.siblings,
        accept_uniforms=accept[:, shape.level[nodes] - 1, shape.sibling[nodes]],
        final_uniforms=replica.lanes[slots, LANE_FINAL, 0, places],
        validate=False,
    )
    replica.batch.num_out[:B] = num_out
    replica.batch.last_is_new[:B] = _last_is_new(shape, path, num_out - 1, num_draft_tokens)


def _last_is_new(shape: DraftShape, path: Ints, accepted: Ints, num_draft_tokens: Ints) -> np.ndarray:
    """Whether the last accepted node is on the last level drafted, or has no children anyway [B]."""
    new = np.zeros(len(path), dtype=np.bool_)
    b = np.flatnonzero(accepted > 0)
    last = path[b, accepted[b] - 1]
    new[b] = (accepted[b] == num_draft_tokens[b]) | ~shape.inner[last]
    return new
