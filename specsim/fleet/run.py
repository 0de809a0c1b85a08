"""Several replicas behind a router, in one time; under disaggregation, some compute prompts and others decode.

Every replica goes on by itself to the next moment at which something passes between them: a request is sent, or, where
that depends on it, a step ends. At such a moment first all steps that end then are committed, then requests are handed
on, then steps begin; so it makes no difference in which order the replicas are advanced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.engine.config import ReplicaConfig
from specsim.engine.record import request_records, with_received
from specsim.engine.run import Server, requests_of
from specsim.engine.state import put_in_flight
from specsim.fleet.merging import merged
from specsim.fleet.routers import Router, new_router
from specsim.inputs.models.fleet import Router as StatedRouter
from specsim.records import RequestRecords, RunRecords
from specsim.streams import stream
from specsim.workload.lengths import Lengths


@dataclass(frozen=True)
class Link:
    """What carries KV caches from replicas that compute prompts to those that decode.

    Attributes:
        bandwidth: of a replica [B/s].
        latency: from the last byte sent until decoding can begin [s].
        prompt_bytes: of each replica that computes prompts, tokens of a prompt → bytes of its KV cache.
    """

    bandwidth: float
    latency: float
    prompt_bytes: tuple[Callable[[int], float], ...]


@dataclass(frozen=True)
class FleetConfig:
    """How a fleet serves.

    Attributes:
        entry: how each replica serves that requests are sent to.
        router: which of these it is.
        decode: where those compute prompts alone, how each replica serves that decodes; else empty.
        decode_router: which of these it is.
        link: between the two.
    """

    entry: tuple[ReplicaConfig, ...]
    router: StatedRouter
    decode: tuple[ReplicaConfig, ...] = ()
    decode_router: StatedRouter | None = None
    link: Link | None = None


def fleet_closed_loop(
    config: FleetConfig, lengths: Lengths, concurrency: int, think: Floats, received: Ints | None = None
) -> RunRecords:
    """Serve the requests, as ``run.serve_closed_loop`` does with one replica; without ``received`` if disaggregated."""
    fleet, first = Fleet(config, lengths, think), np.zeros(min(concurrency, len(lengths.prompt)))
    if received is None:
        return fleet.run(first)
    put_in_flight(fleet.requests, received)
    return with_received(fleet.run(first), received)


def fleet_open_loop(config: FleetConfig, lengths: Lengths, arrivals: Floats) -> RunRecords:
    """Serve the requests, as ``run.serve_open_loop`` does with one replica."""
    return Fleet(config, lengths, None).run(arrivals)


class Fleet:
    """Replicas, routers and what is under way between them.

    Requests are numbered as they are sent, whatever becomes of them: the same number has the same lengths and the same
    uniforms on any replica. Replicas are numbered, those that only decode after those that requests are sent to.

    Args:
        config: of the fleet.
        lengths: of the requests.
        think: of a closed loop, as in ``KernelParams``; None in an open one.
    """

    def __init__(self, config: FleetConfig, lengths: Lengths, think: Floats | None) -> None:
        number, first = len(lengths.prompt), config.entry[0]
        self._config, self._think, self._lengths = config, think, lengths
        self.requests = requests_of(first, lengths)
        # a cache that was sent is a request's own there
        decode = (replace(decoding, decode_only=True, prefix_caching=False) for decoding in config.decode)
        configs = (*config.entry, *decode)
        self.servers = [Server(how, lengths, np.zeros(0), self.requests) for how in configs]
        self._entry, self._decode = self.servers[: len(config.entry)], self.servers[len(config.entry) :]
        self._router = self._router_of(config.router, config.entry)
        self._decode_router = self._router_of(config.decode_router, config.decode) if config.decode_router else None
        self._links_free = [0.0] * len(self.servers)  # when the link of each has carried all that it was given
        self._hands_on = think is not None or bool(config.decode)  # what ends on one replica goes on elsewhere
        self._coming: list[float] = []
        self._num_sent = self._num_arrived = 0
        self._replica, self._sender = np.zeros(number, np.int64), np.zeros(number, np.int64)
        self._before = self.requests.copy()  # of those whose cache was sent, what the replica that sent it left
        self._order = list(range(len(self.servers)))  # in which they are advanced, which makes no difference
        if config.decode:
            self.requests.output_tokens[:] = 1  # until the prompt is complete

    def _router_of(self, stated: StatedRouter, configs: Sequence[ReplicaConfig]) -> Router:
        purpose = "router" if configs is self._config.entry else "decode router"
        uniforms = stream(configs[0].seed, purpose, configs[0].replication).random(len(self._lengths.prompt))
        return new_router(stated, uniforms, self._lengths, [how.kv_tokens for how in configs])

    def run(self, arrivals: Floats) -> RunRecords:
        """Serve all requests.

        Args:
            arrivals: when requests are sent whatever becomes of the others [s]; of a closed loop the first ones.
        """
        self._coming, self._num_sent = arrivals.tolist(), len(arrivals)
        heapify(self._coming)
        while (moment := self._next_moment()) < math.inf:
            self._hand_on(self._go_to(moment, begins=False), moment)
            self._send(moment)
            self._go_to(moment, begins=True)
        for place in self._order:
            self.servers[place].drain()
        return self._records()

    def _next_moment(self) -> float:
        """When something passes next between replicas or to one: at an arrival, or perhaps when a step ends [s]."""
        moments = self._coming[:1]
        if self._hands_on:
            moments += [server.next_moment for server in self.servers]
        return min(moments, default=math.inf)

    def _go_to(self, moment: float, *, begins: bool) -> list[int]:
        """Advance all replicas to a moment, unless no router looks then; returns those whose steps have ended."""
        ended: list[int] = []
        if not (self._hands_on or self._router.looks):
            return ended
        for place in self._order:
            server = self.servers[place]
            if server.next_moment <= moment:
                if server.in_flight:
                    ended.append(place)
                server.run(moment, begins=begins)
        return sorted(ended)

    def _send(self, moment: float) -> None:
        """The requests that are sent by now go to replicas."""
        while self._coming and self._coming[0] <= moment:
            at, request = heappop(self._coming), self._num_arrived
            self._num_arrived += 1
            chosen = self._router.choose(request, self._entry)
            self._replica[request] = self._sender[request] = chosen
            self._entry[chosen].accept(request, at)

    def _hand_on(self, ended: list[int], moment: float) -> None:
        """What follows from the requests that these replicas finished just now."""
        if not self._hands_on:
            return
        for place in ended:
            for request in self.servers[place].finished:
                if place < len(self._entry) and self._decode and self._lengths.output[request] > 1:
                    self._transfer(request, place, moment)
                else:
                    self._answer(moment)

    def _answer(self, moment: float) -> None:
        """The client of a finished request sends again, until all requests are sent."""
        if self._think is not None and self._num_sent < len(self._think):
            heappush(self._coming, moment + float(self._think[self._num_sent]))
            self._num_sent += 1

    def _transfer(self, request: int, sender: int, moment: float) -> None:
        """The prompt's cache is sent to a replica that decodes; both links are taken until its last byte."""
        requests, link, router = self.requests, self._config.link, self._decode_router
        assert link is not None
        assert router is not None
        chosen = router.choose(request, self._decode)
        receiver = chosen + len(self._entry)
        begins = max(moment, self._links_free[sender], self._links_free[receiver])
        ends = begins + link.prompt_bytes[sender](int(requests.prompt_tokens[request])) / link.bandwidth
        self._links_free[sender] = self._links_free[receiver] = ends
        self._replica[request] = receiver
        self._before[request] = requests[request]
        requests.output_tokens[request] = self._lengths.output[request]
        requests.finish[request] = requests.admitted[request] = math.nan
        self._decode[chosen].accept(request, ends + link.latency)

    def _records(self) -> RunRecords:
        longest = max(server.accepted.shape[1] for server in self.servers)
        accepted = np.zeros((len(self.requests), longest), np.int32)
        for server in self.servers:
            accepted[:, : server.accepted.shape[1]] += server.accepted
        served = replace(request_records(self.requests, accepted), replica=self._replica)
        if self._decode:
            served = self._with_transfers(served)
        return merged(served, [server.records(served) for server in self.servers])

    def _with_transfers(self, served: RequestRecords) -> RequestRecords:
        """Requests as their clients see them, and when their cache came to the replica that decoded them."""
        moved: Ints = self._replica != self._sender
        return replace(
            served,
            arrival=np.where(moved, self._before.arrival, served.arrival),
            admitted=np.where(moved, self._before.admitted, served.admitted),
            cached_tokens=np.where(moved, self._before.cached, served.cached_tokens),
            prefill_replica=self._sender,
            transferred=np.where(moved, served.arrival, np.nan),
            resumed=np.where(moved, served.admitted, np.nan),
        )
