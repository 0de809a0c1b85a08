"""Who is in service: places in the batch and KV blocks, taken and given back."""

from __future__ import annotations

import numpy as np

from specsim.engine.limits import Limits
from specsim.engine.line import leave, rejoin
from specsim.engine.state import BLOCKS_IN_USE, FREE_SLOTS, NOW, RUNNING, Replica, Requests, Words
from specsim.kernels import kernel
from specsim.luck import BY_POSITION, BY_ROUND, draw_luck


@kernel
def admit(replica: Replica, requests: Requests, limits: Limits, key: Words, request: int, tokens: int) -> bool:
    """Move the first of a line into service, behind all of its priority or an earlier one, if its blocks are there.

    Args:
        replica, requests, limits, key: as for ``scheduler.schedule``.
        request: who.
        tokens: that it is to hold at first.
    """
    count, place = replica.number, replica.number[RUNNING]
    blocks = limits.blocks_of[tokens]
    if count[BLOCKS_IN_USE] + blocks > limits.num_blocks:
        return False
    leave(replica, requests, request)
    while place > 0 and requests.priority[replica.seats.running[place - 1]] > requests.priority[request]:
        replica.seats.running[place] = replica.seats.running[place - 1]
        place -= 1
    replica.seats.running[place] = request
    count[RUNNING] += 1
    count[FREE_SLOTS] -= 1
    requests.slot[request] = replica.seats.free_slots[count[FREE_SLOTS]]
    requests.blocks[request] = blocks
    count[BLOCKS_IN_USE] += blocks
    requests.catch_up[request] = 1
    if np.isnan(requests.admitted[request]):
        requests.admitted[request] = replica.time[NOW]
    look_ahead(replica, requests, key, request)
    return True


@kernel
def look_ahead(replica: Replica, requests: Requests, key: Words, request: int) -> None:
    """Draw the luck of a request's next output positions."""
    slot, position = requests.slot[request], requests.emitted[request]
    replica.seats.first_position[slot] = position
    draw_luck(replica.lanes[slot], key, request, position, BY_POSITION)
    if replica.by_round.shape[2] > 0:
        draw_luck(replica.by_round[slot], key, request, position, BY_ROUND)


@kernel
def vacate(replica: Replica, requests: Requests, request: int) -> None:
    """Give back a request's slot and blocks; its place in ``running`` is the caller's to close."""
    count = replica.number
    replica.seats.free_slots[count[FREE_SLOTS]] = requests.slot[request]
    count[FREE_SLOTS] += 1
    requests.slot[request] = -1
    count[BLOCKS_IN_USE] -= requests.blocks[request]
    requests.blocks[request] = 0


@kernel
def preempt_last(replica: Replica, requests: Requests) -> int:
    """Send the last of those in service back to the front of its line, its cache lost; returns who it was."""
    replica.number[RUNNING] -= 1
    request = replica.seats.running[replica.number[RUNNING]]
    vacate(replica, requests, request)
    requests.preempted[request] += 1
    requests.left[request] = requests.prompt_tokens[request] + requests.emitted[request]
    rejoin(replica, requests, request)
    return int(request)
