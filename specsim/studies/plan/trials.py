"""Runs of one arm at one rate or another: the scenario's traffic, faster or slower."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from specsim.analysis.steady import steady_window, within
from specsim.arrays import Floats
from specsim.inputs.models.base import MOST_IN_FLIGHT
from specsim.inputs.models.plan import Limit
from specsim.inputs.models.workload import ClosedLoop, Constant, Gamma, Load, Poisson, Replay
from specsim.inputs.read.scenario import Inputs
from specsim.records import RunRecords
from specsim.simulation.fleet import simulation_of
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.margins import log_margins, steady_percentiles
from specsim.studies.shared.ticks import Told, told_nothing

ROUNDS_PER_PLACE = 4  # requests for each place in a saturated run, of which the first and the last are ramp and tail
LEAST_SATURATED = 200  # requests of a saturated run
FIRST_CLIENTS = 2049  # of a saturated run; the ideal profile has 65,536 places, of which memory fills a few
AT_ONCE = 1e9  # times as fast as recorded


class Trials:
    """What one arm does under the scenario's traffic at any rate.

    Poisson, gamma and constant arrivals keep their shape; a replay is sped up; clients of a closed loop and the periods
    of a profile give way to Poisson arrivals.

    Args:
        inputs: the scenario and what it refers to.
        arm: how it drafts.
        limits: that its latencies are held against.
        told: after every run, the rate at which it met the limits, or 0.
    """

    def __init__(self, inputs: Inputs, arm: Arm, limits: Sequence[Limit], told: Told = told_nothing) -> None:
        self.simulation, self.arm, self.limits, self._told = simulation_of(inputs), arm, limits, told
        self._load = inputs.scenario.workload.load
        # rounds are for ITL alone; those of long runs are counted, as they always are
        self._keeps = None if any(limit.latency == "itl" for limit in limits) else False
        self.recorded_rate = math.nan
        if isinstance(self._load, Replay):
            times = self.simulation.traffic.arrivals(self._load, self.simulation.num_requests, 0) * self._load.speed
            self.recorded_rate = len(times) / float(times[-1])

    @property
    def fixed_number(self) -> int | None:
        """Requests of every run, where a replay leaves no choice."""
        return self.simulation.num_requests if isinstance(self._load, Replay) else None

    def load(self, rate: float) -> Load:
        """The traffic at a mean rate [requests/s]."""
        load = self._load
        match load:
            case Poisson() | Gamma() | Constant():
                return load.model_copy(update={"rate": rate})
            case Replay():
                return load.model_copy(update={"speed": rate / self.recorded_rate})
            case _:
                return Poisson.model_construct(kind="poisson", rate=rate)

    def run(self, rate: float, replication: int, num_requests: int) -> RunRecords:
        """One run at a mean rate [requests/s]."""
        return self._run(self.load(rate), replication, self.fixed_number or num_requests)

    def _run(self, load: Load, replication: int, num_requests: int) -> RunRecords:
        return self.simulation.run(
            load,
            num_draft_tokens=self.arm.num_draft_tokens,
            num_requests=num_requests,
            replication=replication,
            policy=self.arm.policy,
            keep_rounds=self._keeps,
        )

    def margins(self, rate: float, replication: int, num_requests: int) -> Floats:
        """``log_margins`` of a run [limits]; all infinite where it is overloaded."""
        found = steady_percentiles(self.run(rate, replication, num_requests), self.limits)
        margins = np.full(len(self.limits), np.inf) if found is None else log_margins(found, self.limits)
        self._told(rate if margins.max() <= 0 else 0.0)
        return margins

    def saturated(self) -> tuple[float, float]:
        """(requests per second that are served when there is always one waiting, requests running meanwhile)."""
        places = sum(requests for requests, _ in self.simulation.step_limits(self.arm.num_draft_tokens))
        if isinstance(self._load, Replay):
            run = self._run(self._load.model_copy(update={"speed": AT_ONCE}), 0, self.simulation.num_requests)
            span = float(run.requests.arrival.min()), float(run.requests.finish.max())
        else:
            run = self._always_waiting(places)
            span = steady_window(run.requests) or (0.0, float(run.requests.finish.max()))
        self._told(0.0)
        served = within(run.requests.finish, span).sum() / (span[1] - span[0])
        return float(served), float(run.steps.num_running.max())

    def _always_waiting(self, places: int) -> RunRecords:
        """A closed loop of more clients than ever run at once, be that for want of places or of memory."""
        most = min(places + 1, MOST_IN_FLIGHT)
        clients = min(most, FIRST_CLIENTS)
        while True:
            number = max(LEAST_SATURATED, ROUNDS_PER_PLACE * (clients - 1))
            run = self._run(ClosedLoop(kind="closed_loop", concurrency=clients), 0, number)
            if clients == most or run.steps.num_running.max() < clients:
                return run
            clients = min(2 * clients, most)

    def alone(self, num_requests: int) -> RunRecords:
        """Requests of which each finds the system empty."""
        return self._run(ClosedLoop(kind="closed_loop", concurrency=1), 0, num_requests)
