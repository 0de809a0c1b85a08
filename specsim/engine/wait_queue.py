"""Requests that wait: a queue for each priority; those that were preempted go to its front."""

from __future__ import annotations

from specsim.engine.state import Replica, Requests
from specsim.kernels import kernel


@kernel
def join(replica: Replica, requests: Requests, request: int) -> None:
    """Go to the end of the request's queue."""
    queue, priority = replica.queue, requests.priority[request]
    requests.behind[request] = -1
    if queue.first[priority] < 0:
        queue.first[priority] = request
    else:
        requests.behind[queue.last[priority]] = request
    queue.last[priority] = request
    _count(replica, requests, request, 1)


@kernel
def rejoin(replica: Replica, requests: Requests, request: int) -> None:
    """Go to the front of the request's queue."""
    queue, priority = replica.queue, requests.priority[request]
    requests.behind[request] = queue.first[priority]
    if queue.first[priority] < 0:
        queue.last[priority] = request
    queue.first[priority] = request
    _count(replica, requests, request, 1)


@kernel
def next_waiting(replica: Replica) -> int:
    """The first request of the first priority that has any; -1 where nobody waits."""
    for priority in range(len(replica.queue.first)):
        if replica.queue.first[priority] >= 0:
            return int(replica.queue.first[priority])
    return -1


@kernel
def leave(replica: Replica, requests: Requests, request: int) -> None:
    """Take the first request of its queue out."""
    queue, priority = replica.queue, requests.priority[request]
    queue.first[priority] = requests.behind[request]
    if queue.first[priority] < 0:
        queue.last[priority] = -1
    _count(replica, requests, request, -1)


@kernel
def _count(replica: Replica, requests: Requests, request: int, sign: int) -> None:
    replica.counters.waiting[0] += sign
    replica.counters.waiting_tokens[0] += sign * (requests.prompt_tokens[request] + requests.emitted[request])
