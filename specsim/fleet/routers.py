"""Which replica a request is sent to: routers, by what they see of the replicas. Knows no time and no costs.

A router sees each replica as of its last step boundary, which is the most that a real one could know, and what it has
sent there itself. Ties go to the replica of the lowest number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, assert_never

import numpy as np

from specsim.arrays import Floats
from specsim.engine.scheduler_limits import segments_of
from specsim.inputs.models import fleet as stated
from specsim.workload.lengths import Lengths
from specsim.workload.prefixes import Prefixes


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


def new_router(kind: stated.Router, uniforms: Floats, lengths: Lengths, pools: Sequence[int]) -> Router:
    """A router that has sent nothing yet.

    Args:
        kind: as the scenario states it.
        uniforms: decide for each request, where chance does [N].
        lengths: of the requests, and what their prompts begin with.
        pools: sizes of the replicas' KV pools [tokens].
    """
    match kind:
        case stated.RoundRobin():
            return RoundRobin()
        case stated.Random():
            return Random(uniforms)
        case stated.LeastLoaded():
            return LeastLoaded()
        case stated.KVAware():
            return KVAware()
        case stated.PrefixAware():
            if lengths.prefixes is None:
                raise ValueError("a router by prefixes needs those of the prompts")
            return PrefixAware(kind, lengths.prefixes, lengths.prompt.tolist(), pools)
        case _:
            assert_never(kind)


class RoundRobin:
    """One replica after the other."""

    looks = False

    def __init__(self) -> None:
        self._sent = 0

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        self._sent += 1
        return (self._sent - 1) % len(replicas)


class Random:
    """Any replica, as the request's own uniform says."""

    looks = False

    def __init__(self, uniforms: Floats) -> None:
        self._uniforms = uniforms

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        return int(self._uniforms[request] * len(replicas))


class LeastLoaded:
    """The replica with the fewest requests."""

    looks = True

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        return _first_least([replica.num_requests for replica in replicas])


class KVAware:
    """The replica with the smallest share of its KV pool taken."""

    looks = True

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        return _first_least([replica.kv_share for replica in replicas])


class PrefixAware:
    """The replica that was sent most of the prompt before, see ``inputs.models.fleet.PrefixAware``.

    It remembers of each replica as much text as the replica's KV pool can hold, what was sent last; what the replica
    itself still holds it does not know.
    """

    looks = True

    def __init__(
        self, kind: stated.PrefixAware, prefixes: Prefixes, prompt_tokens: list[int], pools: Sequence[int]
    ) -> None:
        self._kind, self._prompt_tokens = kind, prompt_tokens
        self._segments = segments_of(prefixes, block_size=1)
        self._sent = [_Text(pool) for pool in pools]

    def choose(self, request: int, replicas: Sequence[Seen]) -> int:
        """See ``Router``."""
        loads = [replica.num_requests for replica in replicas]
        most, least, parts = max(loads), min(loads), self._parts(request)
        if most - least > self._kind.balance_abs_threshold and most > self._kind.balance_rel_threshold * least:
            chosen = _first_least(loads)
        else:
            chosen = self._by_prefix(request, parts)
        self._sent[chosen].add(parts)
        return chosen

    def _by_prefix(self, request: int, parts: dict[int, int]) -> int:
        known = [text.known(parts) for text in self._sent]
        if max(known) > self._kind.cache_threshold * self._prompt_tokens[request]:
            return known.index(max(known))
        return _first_least([text.tokens for text in self._sent])

    def _parts(self, request: int) -> dict[int, int]:
        """The parts of a prompt from its beginning, and how long each is; the last is its own."""
        segments = self._segments
        places = slice(*segments.starts[request : request + 2])
        ends = [*segments.end[places].tolist(), self._prompt_tokens[request]]
        nodes = [*segments.node[places].tolist(), segments.num_nodes + request]
        return {node: end - before for node, before, end in zip(nodes, [0, *ends], ends, strict=False)}


class _Text:
    """What a replica was sent, as far as its KV pool can hold it: parts of prompts, the one sent last at the end."""

    def __init__(self, most: int) -> None:
        self._most, self._parts, self.tokens = most, dict[int, int](), 0

    def known(self, parts: dict[int, int]) -> int:
        """Tokens from the beginning of a prompt that were sent before."""
        tokens = 0
        for part, size in parts.items():
            if part not in self._parts:
                break
            tokens += size
        return tokens

    def add(self, parts: dict[int, int]) -> None:
        """A prompt is sent; a part is forgotten before those that it follows."""
        for part, size in reversed(parts.items()):
            self.tokens += size - self._parts.pop(part, 0)
            self._parts[part] = size
        while self.tokens > self._most:
            self.tokens -= self._parts.pop(next(iter(self._parts)))


def _first_least(values: Sequence[float]) -> int:
    return int(np.argmin(values))
