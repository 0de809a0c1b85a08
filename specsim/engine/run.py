"""One run: a clock, a replica and the clients that send to it, until every request is finished."""

from __future__ import annotations

import numpy as np
import simpy
from numpy.typing import NDArray

from specsim.engine.clients import closed_loop, open_loop
from specsim.engine.recorder import Recorder
from specsim.engine.replica import Replica, Serving
from specsim.engine.requests import RequestTable
from specsim.records import RunRecords
from specsim.workload.lengths import Lengths


def serve_closed_loop(serving: Serving, lengths: Lengths, concurrency: int) -> RunRecords:
    """Serve the requests with ``concurrency`` of them in flight until all are sent."""
    env, table, recorder = simpy.Environment(), RequestTable(lengths.prompt, lengths.output), Recorder()
    closed_loop(env, Replica(env, table, serving, recorder), len(table), concurrency)
    env.run()
    return recorder.records(table)


def serve_open_loop(serving: Serving, lengths: Lengths, arrivals: NDArray[np.float64]) -> RunRecords:
    """Serve the requests, the i-th sent at ``arrivals[i]`` [s]."""
    env, table, recorder = simpy.Environment(), RequestTable(lengths.prompt, lengths.output), Recorder()
    open_loop(env, Replica(env, table, serving, recorder), arrivals)
    env.run()
    return recorder.records(table)
