"""Which replica a request is sent to: routers, by what they see of the replicas. Knows no time and no costs.

A router sees each replica as of its last step boundary, which is the most that a real one could know, and what it has
sent there itself. Ties go to the replica of the lowest number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specsim.engine.state import Floats, Ints
from specsim.schema.fleet import KVAware, LeastLoaded, PrefixAware, Random, RoundRobin
from specsim.schema.fleet import Router as StatedRouter
from specsim.workload.trace import Prefixes


class Seen(Protocol):
    """What is seen of a replica."""

    @property
    def num_requests(self) -> int:
        """Requests in service, waiting or known to come."""

    @property
    def kv_share(self) -> float:
        """KV tokens held, and those of requests that wait or are known to come, over the size of the pool."""


class Router(Protocol):
    """Chooses replicas.

    Attributes:
        looks: whether it looks at the replicas.
    """

    looks: bool

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """The number of the replica that a request is sent to."""


def new_router(
    stated: StatedRouter, uniforms: Floats, prompt_tokens: Ints, prefixes: Prefixes | None, pools: Sequence[int]
) -> Router:
    """A router that has sent nothing yet.

    Args:
        stated: its rule.
        uniforms: decide for each request, where chance does [N].
        prompt_tokens: of the requests [N].
        prefixes: of their prompts.
        pools: sizes of the replicas' KV pools [tokens].
    """
    match stated:
        case RoundRobin():
            return TakingTurns()
        case Random():
            return ByChance(uniforms)
        case LeastLoaded():
            return ByRequests()
        case KVAware():
            return ByCache()
        case PrefixAware():
            if prefixes is None:
                raise ValueError("a router by prefixes needs those of the prompts")
            return ByPrefix(stated, prefixes, prompt_tokens, pools)


class TakingTurns:
    """One replica after the other."""

    looks = False

    def __init__(self) -> None:
        self._sent = 0

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        self._sent += 1
        return (self._sent - 1) % len(replicas)


class ByChance:
    """Any replica, as the request's own uniform says."""

    looks = False

    def __init__(self, uniforms: Floats) -> None:
        self._uniforms = uniforms

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        return int(self._uniforms[request] * len(replicas))


class ByRequests:
    """The replica with the fewest requests."""

    looks = True

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        return _first_least([replica.num_requests for replica in replicas])


class ByCache:
    """The replica with the smallest share of its KV pool taken."""

    looks = True

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        return _first_least([replica.kv_share for replica in replicas])


class ByPrefix:
    """The replica that was sent most of the prompt before, see ``schema.fleet.PrefixAware``.

    It remembers of each replica as much text as the replica's KV pool can hold, what was sent last; what the replica
    itself still holds it does not know.
    """

    looks = True

    def __init__(self, stated: PrefixAware, prefixes: Prefixes, prompt_tokens: Ints, pools: Sequence[int]) -> None:
        self._stated, self._prefixes, self._prompt_tokens = stated, prefixes, prompt_tokens
        self._most = [max(pool // prefixes.block_tokens, 1) for pool in pools]
        self._sent: list[dict[int, None]] = [{} for _ in pools]  # blocks, the one sent last at the end

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        first, beyond = self._prefixes.starts[request : request + 2]
        blocks: list[int] = self._prefixes.ids[first:beyond].tolist()
        loads = [replica.num_requests for replica in replicas]
        most, least = max(loads), min(loads)
        if most - least > self._stated.balance_abs_threshold and most > self._stated.balance_rel_threshold * least:
            chosen = _first_least(loads)
        else:
            chosen = self._by_prefix(request, blocks)
        self._remember(chosen, blocks)
        return chosen

    def _by_prefix(self, request: int, blocks: Sequence[int]) -> int:
        tokens = int(self._prompt_tokens[request])
        held = [self._held(replica, blocks, tokens) for replica in range(len(self._sent))]
        if max(held) > self._stated.cache_threshold * tokens:
            return held.index(max(held))
        return _first_least([len(sent) for sent in self._sent])

    def _held(self, replica: int, blocks: Sequence[int], tokens: int) -> int:
        """Tokens from the beginning of a prompt that a replica was sent before."""
        sent = self._sent[replica]
        known = next((place for place, block in enumerate(blocks) if block not in sent), len(blocks))
        return min(known * self._prefixes.block_tokens, tokens)

    def _remember(self, replica: int, blocks: Sequence[int]) -> None:
        sent = self._sent[replica]
        for block in reversed(blocks):  # a block is forgotten before those that it follows
            sent.pop(block, None)
            sent[block] = None
        while len(sent) > self._most[replica]:
            del sent[next(iter(sent))]


def _first_least(values: Sequence[float]) -> int:
    return int(np.argmin(values))
