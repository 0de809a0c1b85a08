"""Prefix caching: KV blocks that several prompts share, and blocks without a user that are not overwritten yet.

As vLLM does it (docs, "Automatic Prefix Caching"): blocks are named by all text up to their end, and may be used as
soon as a step computes them. Given back, they stay until their room is needed, the longest unused first, and of one
request the last first. Here several blocks make a segment, which is kept or lost whole.
"""

from __future__ import annotations

import numpy as np

from specsim.engine.scheduler_limits import SchedulerLimits
from specsim.engine.state import Cache, Replica, Requests
from specsim.kernels import kernel

OLDEST, NEWEST = 0, 1
"""Places in ``Cache.ends``."""


def new_cache(num_nodes: int) -> Cache:
    """An empty cache for this number of nodes, those of requests' own text included."""
    users, size = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
    newer, older = np.full(num_nodes, -1), np.full(num_nodes, -1)
    return Cache(users, size, newer, older, np.full(2, -1))


@kernel
def end_of_found(replica: Replica, limits: SchedulerLimits, request: int) -> int:
    """The place behind the segments of a request, from its prompt's beginning, that are in the cache."""
    segments, size = limits.segments, replica.cache.size
    place, last = segments.starts[request], segments.starts[request + 1]
    while place < last and size[segments.node[place]] > 0:
        place += 1
    return int(place)


@kernel
def own_found(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int, end: int) -> int:
    """Blocks of a request's own text that it can go on with; they begin where the segments ended that it held."""
    if end - limits.segments.starts[request] != requests.segments[request]:
        return 0
    return int(replica.cache.size[limits.segments.num_nodes + request])


@kernel
def find(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int) -> int:
    """Tokens of a waiting request that are in the cache: whole blocks, without its last token."""
    segments, block_size = limits.segments, limits.block_size
    end = end_of_found(replica, limits, request)
    tokens = segments.end[end - 1] if end > segments.starts[request] else 0
    tokens += own_found(replica, requests, limits, request, end) * block_size
    most = requests.prompt_tokens[request] + requests.emitted[request] - 1
    tokens = min(tokens, most // block_size * block_size)
    if limits.drops_last and tokens > 0:
        tokens -= block_size
    return int(tokens)


@kernel
def found_blocks(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int) -> tuple[int, int]:
    """Blocks that ``find`` finds, and those of them that others use, which take no room of their own."""
    cache, node, used = replica.cache, limits.segments.node, 0
    end = end_of_found(replica, limits, request)
    blocks = own_found(replica, requests, limits, request, end)
    for place in range(limits.segments.starts[request], end):
        blocks += cache.size[node[place]]
        if cache.users[node[place]] > 0:
            used += cache.size[node[place]]
    return blocks, used


@kernel
def hold(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int) -> None:
    """A request comes into service with the blocks that were found for it."""
    cache, count, first = replica.cache, replica.counters, limits.segments.starts[request]
    end, own = end_of_found(replica, limits, request), limits.segments.num_nodes + request
    blocks = own_found(replica, requests, limits, request, end)
    count.blocks_in_use[0] += blocks
    if cache.size[own] > 0:
        _take_out(replica, own)
        cache.size[own] = 0
    for place in range(first, end):
        node = limits.segments.node[place]
        if cache.users[node] == 0:
            _take_out(replica, node)
            count.blocks_in_use[0] += cache.size[node]
        cache.users[node] += 1
        blocks += cache.size[node]
    requests.segments[request], requests.blocks[request] = end - first, blocks


@kernel
def publish(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int, computed: int) -> None:
    """Segments that a step computes to their end may be used by others; of two that compute one, the first's is kept.

    vLLM keeps both until the requests end; the second's blocks are given back at once here.
    """
    if not limits.caches_prefixes:
        return
    segments, blocks_of = limits.segments, limits.blocks_of
    cache, first, last = replica.cache, segments.starts[request], segments.starts[request + 1]
    place = first + requests.segments[request]
    while place < last and segments.end[place] <= computed:
        node = segments.node[place]
        size = blocks_of[segments.end[place]] - (blocks_of[segments.end[place - 1]] if place > first else 0)
        if cache.users[node] > 0:
            replica.counters.blocks_in_use[0] -= size
        elif cache.size[node] > 0:
            _take_out(replica, node)
        cache.users[node] += 1
        cache.size[node] = size
        place += 1
    requests.segments[request] = place - first


@kernel
def release(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int) -> None:
    """A request gives its blocks back: those without another user stay until their room is needed."""
    segments = limits.segments
    cache, first = replica.cache, segments.starts[request]
    private = requests.blocks[request]
    for place in range(first, first + requests.segments[request]):
        private -= cache.size[segments.node[place]]
    replica.counters.blocks_in_use[0] -= private
    _put_in(replica, segments.num_nodes + request, private)
    for place in range(first + requests.segments[request] - 1, first - 1, -1):
        node = segments.node[place]
        cache.users[node] -= 1
        if cache.users[node] == 0:
            replica.counters.blocks_in_use[0] -= cache.size[node]
            _put_in(replica, node, cache.size[node])


@kernel
def make_room(replica: Replica, limits: SchedulerLimits) -> None:
    """Overwrite what was unused for longest, until all blocks are as many as there are."""
    segments = limits.segments
    count, cache = replica.counters, replica.cache
    while count.blocks_in_use[0] + count.blocks_unused[0] > limits.num_blocks:
        node = cache.ends[OLDEST]
        over = count.blocks_in_use[0] + count.blocks_unused[0] - limits.num_blocks
        if node >= segments.num_nodes and cache.size[node] > over:  # a request's own text goes block by block
            cache.size[node] -= over
            count.blocks_unused[0] -= over
        else:
            _take_out(replica, node)
            cache.size[node] = 0


@kernel
def _put_in(replica: Replica, node: int, blocks: int) -> None:
    """Into the list of what is unused, as its newest."""
    if blocks == 0:
        return
    cache = replica.cache
    cache.size[node] = blocks
    replica.counters.blocks_unused[0] += blocks
    cache.older[node], cache.newer[node] = cache.ends[NEWEST], -1
    if cache.ends[NEWEST] >= 0:
        cache.newer[cache.ends[NEWEST]] = node
    else:
        cache.ends[OLDEST] = node
    cache.ends[NEWEST] = node


@kernel
def _take_out(replica: Replica, node: int) -> None:
    """Out of the list of what is unused; its size stays."""
    cache = replica.cache
    older, newer = cache.older[node], cache.newer[node]
    if older >= 0:
        cache.newer[older] = newer
    else:
        cache.ends[OLDEST] = newer
    if newer >= 0:
        cache.older[newer] = older
    else:
        cache.ends[NEWEST] = older
    replica.counters.blocks_unused[0] -= cache.size[node]
