"""Draft and verify trees for a batch of requests: where drafted trees become tokens.

``verify_tree`` is called once per decode step on the step's arrays, and what it returns is what the requests receive.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specsim import verification
from specsim.drafting.shape import DraftShape
from specsim.drafting.tree_acceptance import ScoredTrees
from specsim.engine.slots import Slots, Verified
from specsim.rng import LANE_FINAL, request_uniforms, sibling_uniforms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class TreeSource(Protocol):
    """Proposes trees and scores those kept, as ``drafting.tree_acceptance`` describes."""

    def propose(self, uniforms: Floats) -> Ints:
        """Tokens [B, N] of trees of D levels, from uniforms [B, D, width]."""

    def score(self, token: Ints, uniforms: Floats) -> ScoredTrees:
        """The distributions of these trees; the uniforms [B, D, width] draw the target's argmax at temperature 0."""


class TreeSpeculator:
    """Runs draft → verify with uniforms that belong to a request, an output position and a sibling (see `rng`).

    Args:
        source: where trees and distributions come from.
        shape: the largest tree that is drafted; rounds draft its first levels.
        seed, replication: name the streams.
        num_slots: most requests admitted at once.
        num_positions: longest output plus the levels of the tree.
    """

    def __init__(
        self,
        source: TreeSource,
        shape: DraftShape,
        *,
        seed: int,
        replication: int,
        num_slots: int,
        num_positions: int,
    ) -> None:
        self._source, self._shape = source, shape
        self._stream = (seed, replication)
        self._slots = Slots(num_slots, num_positions)
        self._final = np.zeros((num_slots, num_positions))
        self._siblings = np.zeros((2, num_slots, num_positions, shape.width))
        self._by_cell = self._siblings.reshape(2, num_slots * num_positions, shape.width)

    def admit(self, request: int) -> None:
        """Draw a request's uniforms."""
        slot, num_positions = self._slots.take(request), self._slots.shape[1]
        self._final[slot] = request_uniforms(*self._stream, request, num_positions)[:, LANE_FINAL]
        table = sibling_uniforms(*self._stream, request, num_positions, self._shape.width)
        self._siblings[:, slot] = np.moveaxis(table, 2, 0)

    def release(self, request: int) -> None:
        """Forget a finished request's uniforms."""
        self._slots.release(request)

    def verify(self, requests: Ints, positions: Ints, num_draft: Ints) -> Verified:
        """One round for each request: draft, verify, and say what it yields.

        Args:
            requests: request numbers [B].
            positions: output position at which each round starts [B].
            num_draft: levels drafted per request [B].
        """
        shape, num_levels = self._shape, int(num_draft.max(initial=0))
        starts, num_nodes = self._slots.cells(requests, positions), shape.num_nodes[num_draft]
        nodes = slice(int(shape.num_nodes[num_levels]))
        by_level = starts[:, None] + np.arange(num_levels)
        drafting, accept = self._by_cell[:, by_level]  # [B, D, width] each
        token = self._source.propose(drafting)
        trees = self._source.score(token, accept)
        # the source's rows are valid by construction (tested), so the per-call validation is left out
        _, num_out, path = verification.verify_tree(
            np.broadcast_to(shape.parents[nodes], token.shape),
            token,
            num_nodes,
            trees.q_row,
            trees.p_row,
            trees.q,
            trees.p,
            siblings=trees.siblings,
            accept_uniforms=accept[:, shape.level[nodes] - 1, shape.sibling[nodes]],
            final_uniforms=self._final.take(starts),
            validate=False,
        )
        return Verified(num_out, self._last_is_new(path, num_out - 1, num_draft))

    def _last_is_new(self, path: Ints, accepted: Ints, num_draft: Ints) -> NDArray[np.bool_]:
        """Whether the last accepted node is on the last level drafted, or has no children anyway."""
        new = np.zeros(len(path), dtype=np.bool_)
        b = np.flatnonzero(accepted > 0)
        last = path[b, accepted[b] - 1]
        new[b] = (accepted[b] == num_draft[b]) | ~self._shape.inner[last]
        return new
