"""The batch: slots and KV blocks are taken at admission and given back at the end or when preempted."""

from __future__ import annotations

import numpy as np

from specsim.arrays import Words
from specsim.engine.kv_cache import found_blocks, hold, make_room, release
from specsim.engine.scheduler_limits import FOR_ALL, FOR_CONTEXT, SchedulerLimits
from specsim.engine.state import Replica, Requests
from specsim.engine.wait_queue import leave, rejoin
from specsim.kernels import kernel
from specsim.uniforms import BY_POSITION, BY_REQUEST, BY_ROUND, BY_TRAIT, draw_uniforms


@kernel
def admit(
    replica: Replica, requests: Requests, limits: SchedulerLimits, key: Words, request: int, found: int, tokens: int
) -> bool:
    """Admit the first request of a queue, behind all of its priority or a higher one, if enough blocks are free.

    Args:
        replica, requests, limits, key: as for ``schedule.schedule``.
        request: which.
        found: its tokens that are in the cache.
        tokens: its KV tokens after this step.
    """
    count, place, known = replica.counters, replica.counters.running[0], requests.prompt_tokens[request]
    if limits.admission == FOR_ALL:
        tokens = known + requests.output_tokens[request] + limits.num_nodes[-1]
    known += requests.emitted[request]
    free, needed = limits.num_blocks - count.blocks_in_use[0], limits.blocks_of[tokens]
    if limits.admission == FOR_CONTEXT:
        needed = max(limits.blocks_of[known], needed)
    if limits.caches_prefixes:
        blocks, used = found_blocks(replica, requests, limits, request)
        needed, free = max(needed, blocks), free + used
    if needed > free:
        return False
    leave(replica, requests, request)
    while place > 0 and requests.priority[replica.batch.running[place - 1]] > requests.priority[request]:
        replica.batch.running[place] = replica.batch.running[place - 1]
        place -= 1
    replica.batch.running[place] = request
    count.running[0] += 1
    count.free_slots[0] -= 1
    requests.slot[request] = replica.batch.free_slots[count.free_slots[0]]
    replica.batch.wanted[requests.slot[request]] = 0
    if limits.caches_prefixes:
        hold(replica, requests, limits, request)
    take_blocks(replica, requests, limits, request, max(limits.blocks_of[tokens] - requests.blocks[request], 0))
    if np.isnan(requests.admitted[request]):
        requests.admitted[request], requests.cached[request] = replica.clock.now[0], found
    requests.left[request] -= found
    if requests.on_host[request] > 0:  # the drafter's cache comes back as well
        count.blocks_moved[0] += requests.on_host[request]
        count.blocks_on_host[0] -= requests.on_host[request]
        requests.on_host[request] = 0
    else:
        requests.catch_up[request] = 1
    look_ahead(replica, requests, key, request)
    return True


@kernel
def take_blocks(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int, blocks: int) -> None:
    """Give a request more blocks, which have to be free or cached without a user."""
    requests.blocks[request] += blocks
    replica.counters.blocks_in_use[0] += blocks
    if replica.counters.blocks_unused[0] > 0:
        make_room(replica, limits)


@kernel
def look_ahead(replica: Replica, requests: Requests, key: Words, request: int) -> None:
    """Draw the uniforms of a request's next output positions."""
    slot, position = requests.slot[request], requests.emitted[request]
    replica.batch.first_position[slot] = position
    draw_uniforms(replica.lanes[slot], key, request, position, BY_POSITION)
    if replica.by_round.shape[2] > 0:
        draw_uniforms(replica.by_round[slot], key, request, position, BY_ROUND)
    if replica.traits.shape[2] > 0:
        draw_uniforms(replica.traits[slot], key, request, position, BY_TRAIT)
        draw_uniforms(replica.scratch.own, key, request, 0, BY_REQUEST)
        replica.batch.own_uniform[slot] = replica.scratch.own[0, 0, 0]


@kernel
def vacate(replica: Replica, requests: Requests, limits: SchedulerLimits, request: int) -> None:
    """Give back a request's slot and blocks; the caller closes the gap in ``running``."""
    count = replica.counters
    replica.batch.free_slots[count.free_slots[0]] = requests.slot[request]
    count.free_slots[0] += 1
    requests.slot[request] = -1
    if limits.caches_prefixes:
        release(replica, requests, limits, request)
    else:
        count.blocks_in_use[0] -= requests.blocks[request]
    requests.blocks[request] = 0


@kernel
def preempt_last(replica: Replica, requests: Requests, limits: SchedulerLimits) -> int:
    """Preempt the last request in service: it goes to the front of its queue; returns which it was.

    Its cache moves to the host if that has room, and is lost otherwise.
    """
    count = replica.counters
    count.running[0] -= 1
    request = replica.batch.running[count.running[0]]
    if count.blocks_on_host[0] + requests.blocks[request] <= limits.host_blocks:
        requests.on_host[request] = requests.blocks[request]
        count.blocks_on_host[0] += requests.blocks[request]
        count.blocks_moved[0] += requests.blocks[request]
    else:
        requests.left[request] = requests.prompt_tokens[request] + requests.emitted[request]
    vacate(replica, requests, limits, request)
    requests.preempted[request] += 1
    rejoin(replica, requests, request)
    return int(request)
