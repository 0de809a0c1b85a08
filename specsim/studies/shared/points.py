"""The points of a curve and their runs, spread over processes; the results do not depend on how many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from specsim.analysis.run_view import RunView
from specsim.analysis.settling import drift_matters, settled_windows
from specsim.analysis.steady import Window
from specsim.analysis.waiting import waiting_by_limit
from specsim.arrays import Floats
from specsim.engine.run import warm_up
from specsim.errors import InfeasibleError
from specsim.forward import Reach
from specsim.inputs.models.policy import Policy
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs
from specsim.records import RunRecords
from specsim.simulation.fleet import simulation_of
from specsim.simulation.in_flight import drawn_in_flight, is_known, num_drawn
from specsim.simulation.replica import Simulation
from specsim.studies.shared.executors import Workers, spread

LONGEST = 8
"""How many times as many requests as asked for a run may have: three times twice as many."""

Progress = Callable[[float], None]
"""Called with the share of the work done since the last call; the shares add up to 1 at most."""


class Point(NamedTuple):
    """A load and a draft length (0: no speculation)."""

    batch: int
    num_draft_tokens: int


@dataclass(frozen=True)
class PointRuns:
    """What the runs of one point yield, each [replications]; entry r of every point shares requests and uniforms.

    Attributes:
        tokens_per_s: output tokens per second over the steady window.
        tokens_per_s_per_user: rate that a request's user sees after the first token, as ``RunView.user_rate``
            has it; NaN where outputs have one token.
        running_batch: mean requests in a step, which memory can hold below the batch asked for.
        acceptance_length: tokens per verify of rounds that the end of the output cannot cut short.
        ttft_p50, tpot_p50: median latencies [s].
        step_tokens, step_requests, step_context: most tokens, requests and KV entries read in a step.
        beyond_device, beyond_profile: share of the time in steps beyond measured ranges, see ``Reach``.
        wait_for_place, wait_for_budget, wait_for_cache: mean requests that wait for each limit, see ``Waiting``.
        num_requests: of each run.
        drifts: whether runs as long as they may be still drift, see ``settling.drift_matters``.
    """

    tokens_per_s: Floats
    tokens_per_s_per_user: Floats
    running_batch: Floats
    acceptance_length: Floats
    ttft_p50: Floats
    tpot_p50: Floats
    step_tokens: Floats
    step_requests: Floats
    step_context: Floats
    beyond_device: Floats
    beyond_profile: Floats
    wait_for_place: Floats
    wait_for_budget: Floats
    wait_for_cache: Floats
    num_requests: int = 0
    drifts: bool = False

    @property
    def reach(self) -> Reach:
        """How far the steps of all replications went."""
        return Reach(
            int(self.step_tokens.max()),
            int(self.step_requests.max()),
            int(self.step_context.max()),
            float(self.beyond_device.max()),
            float(self.beyond_profile.max()),
        )


def num_requests(inputs: Inputs, batch: int) -> int:
    """Requests that a run at this batch sends at least, those in flight when it begins included."""
    curve = inputs.scenario.curve
    return max(curve.min_requests, curve.requests_per_slot * batch)


def work(inputs: Inputs, point: Point) -> float:
    """Roughly proportional to a point's wall time: its verify rounds, and the steps that hold them."""
    rounds = num_requests(inputs, point.batch) / (1 + point.num_draft_tokens / 2)
    return rounds * (0.01 + 1 / point.batch)


def run_all(
    inputs: Inputs, points: Sequence[Point], jobs: int, progress: Progress, policy: Policy | None = None
) -> Iterator[tuple[Point, PointRuns]]:
    """Every point with its runs, as they finish; the longest start first, so that processes finish together.

    Args:
        inputs: the scenario and what it refers to.
        points: which to run.
        jobs: processes.
        progress: told of finished work.
        policy: decides draft lengths, up to the point's own; by default all are so long.
    """
    ordered = sorted(points, key=lambda point: -work(inputs, point))
    total = sum(work(inputs, point) for point in points)
    warm_up()  # or each process would compile for itself
    for i, result in spread(run_point, [(inputs, point, policy) for point in ordered], Workers(jobs=jobs)):
        progress(work(inputs, ordered[i]) / total)
        yield ordered[i], result


def run_point(inputs: Inputs, point: Point, policy: Policy | None = None) -> PointRuns:
    """All replications of one point, of as many requests as it takes; arguments as of ``run_all``.

    They begin in steady state as far as that is known. What is left of a ramp is cut, and where the rest still seems to
    drift, runs of twice the requests take their place.
    """
    simulation, least = simulation_of(inputs), num_requests(inputs, point.batch)
    number, replications = least, range(inputs.scenario.curve.replications)
    settled = is_known(simulation)
    while True:
        runs = [_run(simulation, point, number, replication, policy) for replication in replications]
        windows = settled_windows(runs, begun_settled=settled)
        drifts = drift_matters(runs, windows)
        if not drifts or number == LONGEST * least or not _can_serve(simulation, point, 2 * number, replications):
            found = PointRuns(*_columns(simulation, runs, windows, point))
            return replace(found, num_requests=number, drifts=drifts)
        number *= 2


def _can_serve(simulation: Simulation, point: Point, number: int, replications: range) -> bool:
    """Whether no request of longer runs exceeds what the shorter ones were checked for."""
    try:
        for replication in replications:
            simulation.lengths_checked(num_drawn(number), point.num_draft_tokens, replication)
    except InfeasibleError:
        return False
    return True


def _run(simulation: Simulation, point: Point, number: int, replication: int, policy: Policy | None) -> RunRecords:
    fleet = simulation.inputs.scenario.fleet
    in_flight = None
    if fleet is None or fleet.disaggregation is None:
        in_flight = drawn_in_flight(simulation, point.batch, point.num_draft_tokens, number, replication)
    return simulation.run(
        ClosedLoop(kind="closed_loop", concurrency=point.batch),
        num_draft_tokens=point.num_draft_tokens,
        num_requests=number,
        replication=replication,
        keep_rounds=False,  # their tally says all that is asked for here
        policy=policy,
        in_flight=in_flight,
    )


def _columns(
    simulation: Simulation, runs: Sequence[RunRecords], windows: Sequence[Window | None], point: Point
) -> Floats:
    """What ``PointRuns`` has of each run [columns, replications]."""
    rows = []
    places, budgets = np.array(simulation.step_limits(point.num_draft_tokens)).T
    pools = np.array(simulation.kv_pools(point.num_draft_tokens))
    most_drafts = simulation.sources.draft_shape(point.num_draft_tokens).max_nodes
    for records, window in zip(runs, windows, strict=True):
        whole, steady = RunView(records), RunView(records, window)
        length = whole.acceptance.untouched_acceptance_length if point.num_draft_tokens else 1.0
        throughput = math.nan if window is None else steady.tokens_per_s
        served = (throughput, steady.user_rate, steady.running_batch)
        longest = int((records.requests.prompt_tokens + records.requests.output_tokens).max()) + most_drafts
        waiting = waiting_by_limit(records.steps, places, budgets, pools, longest + simulation.block_size, window)
        rows.append((*served, length, steady.ttft.p50, steady.tpot.p50, *simulation.reach(records.steps), *waiting))
    return np.array(rows).T
