"""Draft and verify chains for a batch of requests: where drafts become tokens; for trees see ``tree_speculator``.

The verifier of ``specsim.verification`` is called once per decode step on the step's arrays, and what it returns is
what the requests receive.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from specsim import verification
from specsim.engine.slots import Slots, Verified
from specsim.rng import LANE_ACCEPT, LANE_DRAFT, LANE_FINAL, NUM_LANES, request_uniforms, round_uniforms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rule = Literal["token", "block", "greedy"]


class AcceptanceSource(Protocol):
    """Proposes drafts and scores those kept, as ``drafting.acceptance`` describes."""

    def propose(self, uniforms: Floats) -> Ints:
        """Draft tokens [B, K]."""

    def score(self, draft: Ints) -> tuple[Floats | None, Floats]:
        """(q [B, K, V], p [B, K+1, V]); no q where the drafts were not drawn."""

    def score_greedy(self, draft: Ints, uniforms: Floats) -> Ints:
        """The target's argmax [B, K+1]."""


class Speculator:
    """Runs draft → verify with uniforms that belong to requests, and not to batches.

    Under the token and greedy rules they belong to output positions; under the block rule, which looks beyond its
    stopping point, drafting and accepting go by the start of the round as well (`rng.round_uniforms`).

    Args:
        source: where drafts and distributions come from.
        rule: which verifier runs.
        seed, replication: name the streams.
        num_slots: most requests admitted at once.
        num_positions: longest output plus the longest draft.
        max_draft_tokens: the longest draft.
    """

    def __init__(
        self,
        source: AcceptanceSource,
        *,
        rule: Rule,
        seed: int,
        replication: int,
        num_slots: int,
        num_positions: int,
        max_draft_tokens: int,
    ) -> None:
        self._source, self._rule = source, rule
        self._stream = (seed, replication)
        self._uniforms = np.zeros((NUM_LANES, num_slots, num_positions))
        self._by_lane = self._uniforms.reshape(NUM_LANES, -1)
        self._longest = max_draft_tokens if rule == "block" else 0
        self._rounds = np.zeros((2, num_slots, num_positions, self._longest))
        self._rounds_by_lane = self._rounds.reshape(2, -1)
        self._slots = Slots(num_slots, num_positions)

    def admit(self, request: int) -> None:
        """Draw a request's uniforms."""
        slot, num_positions = self._slots.take(request), self._slots.shape[1]
        self._uniforms[:, slot] = request_uniforms(*self._stream, request, num_positions).T
        if self._longest:
            table = round_uniforms(*self._stream, request, num_positions, self._longest)
            self._rounds[:, slot] = np.moveaxis(table, 2, 0)

    def release(self, request: int) -> None:
        """Forget a finished request's uniforms."""
        self._slots.release(request)

    def verify(self, requests: Ints, positions: Ints, num_draft: Ints) -> Verified:
        """One round for each request: draft, verify, and say what it yields.

        Args:
            requests: request numbers [B].
            positions: output position at which each round starts [B].
            num_draft: drafts per request [B].
        """
        num_out = self._tokens(self._slots.cells(requests, positions), num_draft)
        return Verified(num_out, (num_out == num_draft + 1) & (num_draft > 0))

    def _tokens(self, starts: Ints, num_draft: Ints) -> Ints:
        """What the verifier says of rounds that start at these cells: tokens per request [B]."""
        drafting, accept = self._draft_and_accept(starts, int(num_draft.max(initial=0)))
        draft = self._source.propose(drafting)
        if self._rule == "greedy":
            argmax = self._source.score_greedy(draft, accept)
            return verification.verify_greedy(draft, argmax, num_draft)[1]
        q, p = self._source.score(draft)
        final = self._by_lane[LANE_FINAL].take(starts)
        verify = verification.verify_block if self._rule == "block" else verification.verify_chain
        # the source's rows are valid by construction (tested), so the per-call validation is left out
        return verify(draft, q, p, num_draft, accept_uniforms=accept, final_uniforms=final, validate=False)[1]

    def _draft_and_accept(self, starts: Ints, num_draft: int) -> tuple[Floats, Floats]:
        """The uniforms [B, num_draft] that decide drafts and acceptance in rounds that start at these cells."""
        if self._rule == "block":
            cells, lanes = starts[:, None] * self._longest + np.arange(num_draft), self._rounds_by_lane
        else:
            cells, lanes = starts[:, None] + np.arange(num_draft), self._by_lane
        return lanes[LANE_DRAFT].take(cells), lanes[LANE_ACCEPT].take(cells)
