"""One arm of a benchmark, run as it ran: what its client computes of every replication."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.analysis.run_metrics import CLIENT_METRICS
from specsim.analysis.run_view import RunView
from specsim.arrays import Floats
from specsim.costs.extrapolation import Extrapolation
from specsim.forward import farthest
from specsim.inputs.models.lengths import FixedLengths
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.replica import Simulation


class ArmRuns(NamedTuple):
    """The runs of an arm.

    Attributes:
        values: the CLIENT_METRICS of every replication [replications, metrics], ramp and tail included.
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
        view = RunView(run)
        rows.append([metric.value(view) for metric in CLIENT_METRICS.values()])
        reached.append(simulation.reach(run.steps))
    values = np.repeat(rows, replications // len(rows), axis=0)
    return ArmRuns(values, simulation.extrapolation(farthest(reached)))
