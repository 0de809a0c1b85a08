"""From limits, policies and traffic to rates, replicas and cost: every arm of a plan, spread over processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from specsim.analysis.intervals import Interval
from specsim.analysis.steady import steady_window
from specsim.arrays import Ints
from specsim.costs.extrapolation import Extrapolation
from specsim.engine.run import warm_up
from specsim.errors import InfeasibleError, Problem
from specsim.forward import Reach, farthest
from specsim.inputs.models.plan import Limit, Plan, limits_of
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.fleet import simulation_of
from specsim.studies.plan.arms import Arm, arms_of
from specsim.studies.plan.bottleneck import Bottleneck, bottleneck_of
from specsim.studies.plan.capacity import SMALLEST_SHARE, Capacity, capacity, rate_ratio
from specsim.studies.plan.demand import Demand, demand_of
from specsim.studies.plan.trials import Trials
from specsim.studies.plan.unloaded import UnloadedLatency, unloaded_latencies
from specsim.studies.shared.executors import Workers, spread
from specsim.studies.shared.points import Progress
from specsim.studies.shared.ticks import watched

FLOOR_REQUESTS = 1000
HOUR = 3600.0


class ArmResult(NamedTuple):
    """One arm, measured.

    Attributes:
        arm: how it drafts.
        capacity: what it serves within the limits.
        unloaded: each limit against an empty system, where no rate meets them all; empty elsewhere.
        bottleneck: what it is short of at the bound; None where no rate meets the limits.
        tokens_per_request: mean output tokens.
        reached: how far steps went at the bound.
    """

    arm: Arm
    capacity: Capacity
    unloaded: tuple[UnloadedLatency, ...]
    bottleneck: Bottleneck | None
    tokens_per_request: float
    reached: Reach | None

    @property
    def tokens_per_s(self) -> float:
        """Output tokens per second of one replica at the bound."""
        return self.capacity.bound * self.tokens_per_request


class Serving(NamedTuple):
    """What serving the demand takes with one arm.

    Attributes:
        replicas: in each period.
        mean_replicas: over time.
        gpus: at the peak.
        dollars_per_million: output tokens, of all replicas there have to be; None without a price.
        joules_per_token: at full board power; None where the device's is not known.
        kilowatts: mean over time, at full board power.
    """

    replicas: Ints
    mean_replicas: float
    gpus: int
    dollars_per_million: float | None
    joules_per_token: float | None
    kilowatts: float | None


@dataclass(frozen=True)
class PlanResult:
    """Every arm of a plan.

    Attributes:
        limits: that were to be met.
        arms: measured ones, in the order of ``arms_of``.
        demand: the rate to serve; None where none is given.
        num_devices: of a replica, or of the fleet.
        power: that these draw at most [W]; None where it is not known.
        price: of a device for an hour; None where it is not given.
        missing: arms that an interruption left out.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
    """

    limits: tuple[Limit, ...]
    arms: tuple[ArmResult, ...]
    demand: Demand | None
    num_devices: int
    power: float | None
    price: float | None
    missing: tuple[Arm, ...] = ()
    extrapolation: Extrapolation | None = None

    @property
    def best(self) -> ArmResult:
        """The arm with the fewest replicas over time, and of these with the highest bound."""

        def needed(result: ArmResult) -> tuple[float, float]:
            serving = self.serving(result)
            return (math.inf if serving is None and self.demand else serving.mean_replicas if serving else 0.0), (
                -result.capacity.bound
            )

        return min(self.arms, key=needed)

    @property
    def met(self) -> bool:
        """Whether any arm meets the limits at some rate."""
        return any(result.capacity.bound for result in self.arms)

    @property
    def plain(self) -> ArmResult | None:
        """The arm without speculation; None where that was left out."""
        return next((result for result in self.arms if result.arm.policy is None), None)

    def gain(self, result: ArmResult) -> Interval | None:
        """The rate of an arm over that without speculation, see ``rate_ratio``; None where either is 0."""
        plain = self.plain
        return None if plain is None else rate_ratio(result.capacity, plain.capacity)

    def dollars_per_million(self, result: ArmResult) -> float | None:
        """Price of a million output tokens at the bound, all replicas as busy as they may be."""
        return None if self.price is None else self._per_token(result, self.price * self.num_devices / HOUR, 1e6)

    def joules_per_token(self, result: ArmResult) -> float | None:
        """Energy of an output token at the bound, at full board power."""
        return None if self.power is None else self._per_token(result, self.power, 1.0)

    def _per_token(self, result: ArmResult, per_second: float, tokens: float) -> float | None:
        return per_second / result.tokens_per_s * tokens if result.tokens_per_s else None

    def serving(self, result: ArmResult) -> Serving | None:
        """What the demand takes; None without one, or where no rate meets the limits."""
        if self.demand is None or not result.capacity.bound:
            return None
        replicas, seconds = self.demand.replicas(result.capacity.bound), self.demand.seconds
        mean = float((replicas * seconds).sum() / seconds.sum())
        tokens_per_s = self.demand.mean * result.tokens_per_request
        priced = None if self.price is None else mean * self.num_devices * self.price / HOUR / tokens_per_s * 1e6
        watts = None if self.power is None else mean * self.power
        return Serving(
            replicas=replicas,
            mean_replicas=mean,
            gpus=int(replicas.max()) * self.num_devices,
            dollars_per_million=priced,
            joules_per_token=None if watts is None else watts / tokens_per_s,
            kilowatts=None if watts is None else watts / 1e3,
        )


@dataclass(frozen=True, eq=False)
class PlannedArm:
    """One arm of a plan.

    Attributes:
        scenario: that was planned.
        plan: what was found of it.
        result: of the arm.
    """

    scenario: Scenario
    plan: PlanResult
    result: ArmResult

    @property
    def serving(self) -> Serving | None:
        """See ``PlanResult.serving``."""
        return self.plan.serving(self.result)


def simulate_plan(inputs: Inputs, *, jobs: int | None = None, progress: Progress = lambda share: None) -> PlanResult:
    """Measure every arm of the scenario's plan; the result does not depend on ``jobs``.

    An interruption (Ctrl-C) ends it; arms finished by then are the result, which says what is missing.

    Args:
        inputs: the scenario and what it refers to; it has limits, in its plan or its slo.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InfeasibleError: when some request could never be served, or no arm meets the limits even in an empty system.
        KeyboardInterrupt: before any arm was finished.
    """
    scenario, simulation = inputs.scenario, simulation_of(inputs)
    arms = arms_of(scenario)
    for arm in arms:
        simulation.lengths_checked(simulation.num_requests, arm.num_draft_tokens, 0, scenario.workload.load)
    measured: dict[int, ArmResult] = {}
    warm_up()  # or each process would compile for itself
    try:
        with watched(len(arms), progress) as (ticks, finished):
            given = [(inputs, arm, told) for arm, told in zip(arms, ticks, strict=True)]
            for i, result in spread(measure_arm, given, Workers(jobs=jobs)):
                measured[i] = result
                finished(i)
    except KeyboardInterrupt:
        if not measured:
            raise
    found = plan_of(inputs, [measured[i] for i in sorted(measured)])
    if not found.met:
        raise InfeasibleError(missed_limits(inputs, by_name(found.arms)))
    return replace(found, missing=tuple(arm for i, arm in enumerate(arms) if i not in measured))


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
    )


def measure_arm(inputs: Inputs, arm: Arm, told: Callable[[], None] = lambda: None) -> ArmResult:
    """Everything that a plan says of one arm.

    Args:
        inputs: the scenario and what it refers to.
        arm: how it drafts.
        told: called after every run.
    """
    scenario = inputs.scenario
    plan = scenario.plan or Plan()
    trials = Trials(inputs, arm, limits_of(plan, scenario.slo), told)
    found = capacity(trials, plan)
    if not found.bound:
        return ArmResult(arm, found, tuple(unloaded_latencies(trials, FLOOR_REQUESTS)), None, 0.0, None)
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
        rate = SMALLEST_SHARE * max(result.capacity.saturated for result in found.values())
        remedy = (
            "some policy meets each limit in an empty system, but none meets them all at "
            f"{rate:.2g} requests/s, where requests still overlap; raise the limits"
        )
        problems.append(Problem(where, "plan.slo", "", remedy))
    return problems


def by_name(arms: Iterable[ArmResult]) -> dict[str, ArmResult]:
    """Arms by what messages call them."""
    return {found.arm.name if found.arm.policy else "without speculation": found for found in arms}
