"""One arm of a benchmark, run as it ran: what its client computes of every replication."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.analysis.metrics import RunMetrics, reach, summarise
from specsim.costs.extrapolation import Extrapolation
from specsim.forward import farthest
from specsim.inputs.measured.measurements import Metric
from specsim.inputs.models.lengths import FixedLengths
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs
from specsim.records import RunRecords
from specsim.simulation.replica import Simulation

Floats = NDArray[np.float64]

# what a benchmark client computes of a run; ramp and tail are in all of them
METRICS: dict[Metric, Callable[[RunRecords, RunMetrics], float]] = {
    "output_tokens_per_s": lambda run, metrics: metrics.output_tokens_per_s,
    "total_tokens_per_s": lambda run, metrics: metrics.output_tokens_per_s + _prompt_tokens(run) / metrics.duration,
    "tokens_per_s_per_user": lambda run, metrics: 1 / metrics.tpot.mean,
    "tpot_ms": lambda run, metrics: 1e3 * metrics.tpot.mean,
    "ttft_ms": lambda run, metrics: 1e3 * metrics.ttft.mean,
    "itl_p50_ms": lambda run, metrics: 1e3 * metrics.itl.p50,
    "e2e_ms": lambda run, metrics: 1e3 * metrics.e2e.mean,
    "running_batch": lambda run, metrics: metrics.mean_running_batch,
}


def _prompt_tokens(run: RunRecords) -> float:
    return float(run.requests.prompt_tokens.sum())


class ArmRuns(NamedTuple):
    """The runs of an arm.

    Attributes:
        values: every metric of every replication, [replications, METRICS]: of all requests, ramp and tail included.
        beyond: what lay beyond the ranges that the figures used were measured over.
    """

    values: Floats
    beyond: Extrapolation | None


def run_arm(inputs: Inputs, num_draft_tokens: int, replications: int) -> ArmRuns:
    """The replications of an arm."""
    simulation, workload = Simulation(inputs), inputs.scenario.workload
    # without drafts, fixed lengths under a closed loop leave nothing to chance
    load, alike = workload.load, isinstance(workload.lengths, FixedLengths) and not workload.mixture
    certain = num_draft_tokens == 0 and alike and isinstance(load, ClosedLoop) and load.think_time == 0
    rows, reached = [], []
    for replication in range(1 if certain else replications):
        run = simulation.run(
            load,
            num_draft_tokens=num_draft_tokens,
            num_requests=workload.num_requests,
            replication=replication,
        )
        metrics = summarise(run)
        rows.append([compute(run, metrics) for compute in METRICS.values()])
        reached.append(reach(run.steps))
    values = np.repeat(rows, replications // len(rows), axis=0)
    return ArmRuns(values, simulation.extrapolation(farthest(reached)))
