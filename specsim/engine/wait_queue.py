"""Who waits: a line for each priority, in which those who lost their place go to the front."""

from __future__ import annotations

from specsim.engine.state import Replica, Requests
from specsim.kernels import kernel


@kernel
def join(replica: Replica, requests: Requests, request: int) -> None:
    """Go to the end of the line."""
    line = requests.priority[request]
    requests.behind[request] = -1
    if replica.lines.first[line] < 0:
        replica.lines.first[line] = request
    else:
        requests.behind[replica.lines.last[line]] = request
    replica.lines.last[line] = request
    replica.counters.waiting[0] += 1
    replica.counters.waiting_tokens[0] += requests.prompt_tokens[request] + requests.emitted[request]


@kernel
def rejoin(replica: Replica, requests: Requests, request: int) -> None:
    """Go to the front of the line."""
    line = requests.priority[request]
    requests.behind[request] = replica.lines.first[line]
    if replica.lines.first[line] < 0:
        replica.lines.last[line] = request
    replica.lines.first[line] = request
    replica.counters.waiting[0] += 1
    replica.counters.waiting_tokens[0] += requests.prompt_tokens[request] + requests.emitted[request]


@kernel
def foremost(replica: Replica) -> int:
    """The first in line of the first priority that has any; -1 where nobody waits."""
    for line in range(len(replica.lines.first)):
        if replica.lines.first[line] >= 0:
            return int(replica.lines.first[line])
    return -1


@kernel
def leave(replica: Replica, requests: Requests, request: int) -> None:
    """Take the first of its line out."""
    line = requests.priority[request]
    replica.lines.first[line] = requests.behind[request]
    if replica.lines.first[line] < 0:
        replica.lines.last[line] = -1
    replica.counters.waiting[0] -= 1
    replica.counters.waiting_tokens[0] -= requests.prompt_tokens[request] + requests.emitted[request]
