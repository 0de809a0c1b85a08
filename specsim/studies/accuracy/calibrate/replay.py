"""A run in a closed loop, simulated once and timed again under other costs.

In a closed loop the steps that a server makes do not depend on how long they take: a request follows the completion of
another, whenever that is. So a run's steps are recorded once, and each new cost model only prices them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.arrays import Floats
from specsim.costs.step import StepCost
from specsim.forward import Pass
from specsim.inputs.models.workload import ClosedLoop
from specsim.records import RunRecords, StepTime
from specsim.simulation.replica import Simulation


class StepWork(NamedTuple):
    """What a step ran: the target's pass, the drafter's passes, and drafts looked up."""

    target: Pass
    drafts: tuple[Pass, ...]
    num_lookups: int


class Recording:
    """A step cost that remembers what it priced."""

    def __init__(self, cost: StepCost) -> None:
        self._cost = cost
        self.steps: list[StepWork] = []

    def price(self, target_pass: Pass, draft_passes: Iterable[Pass] = (), num_lookups: int = 0) -> StepTime:
        """As ``StepCost.price``."""
        work = StepWork(target_pass, tuple(draft_passes), num_lookups)
        self.steps.append(work)
        return self._cost.price(*work)


@dataclasses.dataclass(frozen=True)
class RecordedRun:
    """A run in a closed loop.

    Attributes:
        records: as simulated.
        kinds: different steps.
        kind: which of them each step was, [steps].
    """

    records: RunRecords
    kinds: tuple[StepWork, ...]
    kind: NDArray[np.int64]

    def timed(self, cost: StepCost) -> RunRecords:
        """The run with its steps priced anew; all else stays."""
        parts = np.array([cost.price(*work) for work in self.kinds])[self.kind]
        ends = np.cumsum(parts.sum(axis=1))
        old = np.append(self.records.steps.start[:1], self.records.steps.end)
        new = np.append(0.0, ends)
        requests, steps = self.records.requests, self.records.steps

        def moved(times: Floats) -> Floats:
            later: Floats = np.interp(times, old, new)
            return later

        return dataclasses.replace(
            self.records,
            requests=dataclasses.replace(
                requests,
                arrival=moved(requests.arrival),
                admitted=moved(requests.admitted),
                first_token=moved(requests.first_token),
                finish=moved(requests.finish),
            ),
            steps=dataclasses.replace(steps, start=new[:-1], end=ends, parts=parts),
        )


def record(simulation: Simulation, num_draft_tokens: int, replication: int = 0) -> RecordedRun:
    """Simulate the scenario's load, which has to be a closed loop without think times, and remember its steps."""
    workload = simulation.inputs.scenario.workload
    if not isinstance(workload.load, ClosedLoop) or workload.load.think_time > 0:
        raise ValueError("only a closed loop without think times can be timed again")
    recording = Recording(simulation.step_cost(num_draft_tokens > 0))
    records = simulation.run(
        workload.load,
        num_draft_tokens=num_draft_tokens,
        num_requests=workload.num_requests,
        replication=replication,
        cost=recording,
    )
    kinds = dict.fromkeys(recording.steps)
    number = {work: i for i, work in enumerate(kinds)}
    return RecordedRun(records, tuple(kinds), np.array([number[work] for work in recording.steps]))
