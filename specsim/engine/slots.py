"""Places for what belongs to the requests in service, so that a batch finds it by one index per request."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Verified(NamedTuple):
    """What a round gave each request.

    Attributes:
        num_out: tokens, accepted + 1; shape [B].
        last_is_new: whether a draft was accepted after which none was drafted: the last of a chain, or a leaf of a
            tree; shape [B].
    """

    num_out: Ints
    last_is_new: Bools


class Slots:
    """Who sits where in tables of shape [num_slots, num_positions].

    Args:
        num_slots: most requests in service at once.
        num_positions: entries that each has.
    """

    def __init__(self, num_slots: int, num_positions: int) -> None:
        self.shape = (num_slots, num_positions)
        self._free = list(range(num_slots))[::-1]
        self._first_cell: dict[int, int] = {}

    def take(self, request: int) -> int:
        """A free slot for a request."""
        slot = self._free.pop()
        self._first_cell[request] = slot * self.shape[1]
        return slot

    def release(self, request: int) -> None:
        """Free a finished request's slot."""
        self._free.append(self._first_cell.pop(request) // self.shape[1])

    def cells(self, requests: Ints, positions: Ints) -> Ints:
        """Where the entries of requests [B] at positions [B] lie in a flattened table."""
        first = np.fromiter(map(self._first_cell.__getitem__, requests.tolist()), np.int64, len(requests))
        return first + positions
