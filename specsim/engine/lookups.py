"""What lookups find for the requests in service, with uniforms that belong to requests and not to batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specsim.drafting.lookups import drafts_found
from specsim.engine.slots import Slots
from specsim.rng import lookup_uniforms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Lookups:
    """Says how many of the drafts asked for are found; the luck of drafting and accepting is left as it was.

    Args:
        at_least: share of lookups that yield at least 1, 2, .. drafts, up to the most that are asked for.
        seed, replication: name the streams.
        num_slots: most requests admitted at once.
        num_positions: longest output.
    """

    def __init__(self, at_least: Floats, *, seed: int, replication: int, num_slots: int, num_positions: int) -> None:
        self._at_least, self._stream = at_least, (seed, replication)
        self._uniforms = np.zeros((num_slots, num_positions))
        self._slots = Slots(num_slots, num_positions)

    def admit(self, request: int) -> None:
        """Draw a request's uniforms."""
        slot = self._slots.take(request)
        self._uniforms[slot] = lookup_uniforms(*self._stream, request, self._slots.shape[1])

    def release(self, request: int) -> None:
        """Forget a finished request's uniforms."""
        self._slots.release(request)

    def found(self, requests: Ints, positions: Ints, wanted: Ints) -> Ints:
        """How many of the drafts wanted [B] are found in rounds of requests [B] that start at positions [B]."""
        uniforms = self._uniforms.take(self._slots.cells(requests, positions))
        return drafts_found(wanted, uniforms, self._at_least)
