"""Who sends requests, and when."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np
import simpy
from numpy.typing import NDArray

from specsim.engine.replica import Replica


def closed_loop(env: simpy.Environment, replica: Replica, num_requests: int, concurrency: int) -> None:
    """Keep ``concurrency`` requests in flight until ``num_requests`` have been sent, as a benchmark client does."""
    remaining = iter(range(num_requests))
    for _ in range(min(concurrency, num_requests)):
        env.process(_user(replica, remaining))


def _user(replica: Replica, remaining: Iterator[int]) -> Generator[simpy.Event, None, None]:
    for request in remaining:
        yield replica.send(request)


def open_loop(env: simpy.Environment, replica: Replica, arrivals: NDArray[np.float64]) -> None:
    """Send request i at ``arrivals[i]`` [s], ascending, whatever became of the others."""

    def send_all() -> Generator[simpy.Event, None, None]:
        for request, arrival in enumerate(arrivals.tolist()):
            yield env.timeout(max(0.0, arrival - env.now))  # the clock may have rounded past an equal arrival
            replica.send(request)

    env.process(send_all())
