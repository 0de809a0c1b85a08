"""From limits, policies and traffic to rates, replicas and cost: every arm of a plan, spread over processes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from specsim.analysis.steady import steady_window
from specsim.engine.run import warm_up
from specsim.errors import InfeasibleError, Problem
from specsim.forward import farthest
from specsim.inputs.models.plan import Limit, Plan, limits_of
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.fleet import simulation_of
from specsim.studies.plan.arms import Arm, arms_of
from specsim.studies.plan.bottleneck import bottleneck_of
from specsim.studies.plan.bound import Capacity
from specsim.studies.plan.capacity import SMALLEST_SHARE, capacity
from specsim.studies.plan.demand import demand_of
from specsim.studies.plan.result import ArmResult, PlanResult, Unfinished, by_name
from specsim.studies.plan.trials import Trials
from specsim.studies.plan.unloaded import UnloadedLatency, unloaded_latencies
from specsim.studies.shared.executors import Workers, spread
from specsim.studies.shared.model_error import error_of
from specsim.studies.shared.points import Progress
from specsim.studies.shared.ticks import Told, told_nothing, watched

FLOOR_REQUESTS = 300
"""Of a p99 without waiting: three lie above it, and a fleet serves them one by one within a minute."""
LOG = logging.getLogger(__name__)


def simulate_plan(inputs: Inputs, *, jobs: int | None = None, progress: Progress = lambda share: None) -> PlanResult:
    """Measure every arm of the scenario's plan; the result does not depend on ``jobs``.

    An interruption (Ctrl-C) ends it; arms finished by then are the result, which says what is missing.

    Args:
        inputs: the scenario and what it refers to; it has limits, in its plan or its slo.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InfeasibleError: when some request could never be served, or no arm meets the limits even in an empty system.
        KeyboardInterrupt: before any arm that meets the limits was finished; the log has what runs showed by then.
    """
    scenario, simulation = inputs.scenario, simulation_of(inputs)
    arms = arms_of(scenario)
    for arm in arms:
        simulation.lengths_checked(simulation.num_requests, arm.num_draft_tokens, 0, scenario.workload.load)
    measured: dict[int, ArmResult] = {}
    missing: tuple[Unfinished, ...] = ()
    warm_up()  # or each process would compile for itself
    with watched(len(arms), progress) as (ticks, finished):
        given = [(inputs, arm, told) for arm, told in zip(arms, ticks, strict=True)]
        try:
            for i, result in spread(measure_arm, given, Workers(jobs=jobs)):
                measured[i] = result
                finished(i)
        except KeyboardInterrupt:
            missing = tuple(Unfinished(arm, ticks[i].largest) for i, arm in enumerate(arms) if i not in measured)
            if not any(result.capacity.bound for result in measured.values()):
                LOG.warning("%s", _so_far(list(measured.values()), missing))
                raise
    found = plan_of(inputs, [measured[i] for i in sorted(measured)])
    if not found.met:
        raise InfeasibleError(missed_limits(inputs, by_name(found.arms)))
    return replace(found, missing=missing)


def _so_far(measured: Sequence[ArmResult], missing: Sequence[Unfinished]) -> str:
    """What is known of a plan of which no arm that meets the limits is finished."""
    none = f"no rate meets the limits: {', '.join(by_name(measured))}; " if measured else ""
    return f"{none}not measured: {', '.join(one.words for one in missing)}"


def plan_of(inputs: Inputs, arms: Iterable[ArmResult]) -> PlanResult:
    """The plan that measured arms make."""
    scenario, simulation, found = inputs.scenario, simulation_of(inputs), tuple(arms)
    plan = scenario.plan or Plan()
    reached = [result.reached for result in found if result.reached]
    return PlanResult(
        limits=limits_of(plan, scenario.slo),
        arms=found,
        demand=demand_of(simulation, plan),
        num_devices=simulation.num_devices,
        power=simulation.power,
        price=plan.price_per_gpu_hour,
        extrapolation=simulation.extrapolation(farthest(reached)) if reached else None,
        model_error=error_of(inputs, "rate"),
    )


def measure_arm(inputs: Inputs, arm: Arm, told: Told = told_nothing) -> ArmResult:
    """Everything that a plan says of one arm.

    Args:
        inputs: the scenario and what it refers to.
        arm: how it drafts.
        told: after every run, the rate at which it met the limits, or 0.
    """
    scenario = inputs.scenario
    plan = scenario.plan or Plan()
    trials = Trials(inputs, arm, limits_of(plan, scenario.slo), told)
    floor = tuple(unloaded_latencies(trials, FLOOR_REQUESTS))
    missed = any(latency.missed for latency in floor)
    found = Capacity(np.zeros(plan.seeds), 0, None, None) if missed else capacity(trials, plan)
    if not found.bound:
        return ArmResult(arm, found, floor, None, 0.0, None)
    run = trials.run(found.bound, 0, found.num_requests)
    short = bottleneck_of(trials.simulation, arm.num_draft_tokens, run, steady_window(run.requests))
    return ArmResult(
        arm, found, (), short, float(run.requests.output_tokens.mean()), trials.simulation.reach(run.steps)
    )


def missed_limits(inputs: Inputs, found: Mapping[str, ArmResult]) -> list[Problem]:
    """What even the best of several cannot meet, with its unloaded latency and what causes it.

    Args:
        inputs: the scenario.
        found: name → what was measured; none meets the limits at any rate.
    """
    where = str(inputs.files["scenario"])

    def nearest(limit: Limit) -> tuple[UnloadedLatency, str]:
        candidates = [
            (latency, name) for name, one in found.items() for latency in one.unloaded if latency.limit == limit
        ]
        return min(candidates, key=lambda pair: pair[0].seconds)

    problems = []
    for limit in [latency.limit for latency in next(iter(found.values())).unloaded]:
        latency, name = nearest(limit)
        if latency.missed:
            remedy = (
                f"even an empty system takes {1e3 * latency.seconds:.4g} ms at best ({name}; {latency.made_of}); "
                "raise the limit, or change the deployment"
            )
            problems.append(
                Problem(where, f"{limit.latency} p{limit.percentile:g}", f"{1e3 * limit.seconds:g} ms", remedy)
            )
    if not problems:
        rate = SMALLEST_SHARE * max(result.capacity.saturated or 0.0 for result in found.values())
        where_tried = f" at {rate:.2g} requests/s, where requests still overlap" if rate else " there"
        remedy = (
            f"some policy meets each limit in an empty system, but none meets them all{where_tried}; raise the limits"
        )
        problems.append(Problem(where, "plan.slo", "", remedy))
    return problems
