"""The KV cache as a pool of tokens, of which a request reserves its whole length when it is admitted.

Engines reserve blocks as they go and preempt when the pool runs out; here a request waits until it fits whole, so
nothing is ever preempted and the running batch errs on the low side when memory is short.
"""

from __future__ import annotations


class KVPool:
    """A pool of ``capacity`` KV tokens."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.reserved = 0

    def reserve(self, tokens: int) -> bool:
        """Take tokens from the pool if it holds that many; says whether it did."""
        if self.reserved + tokens > self.capacity:
            return False
        self.reserved += tokens
        return True

    def release(self, tokens: int) -> None:
        """Give tokens back.

        Raises:
            ValueError: when more is given back than was taken.
        """
        if tokens > self.reserved:
            raise ValueError(f"{tokens} KV tokens released, but only {self.reserved} are reserved")
        self.reserved -= tokens
