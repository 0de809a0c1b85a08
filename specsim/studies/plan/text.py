"""What a person reads of a plan: the answer, and what it must be read with."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.inputs.models.plan import Limit, Plan
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.workload import ClosedLoop, RateProfile, Replay
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.intervals import plain
from specsim.reporting.wording import policy_words
from specsim.studies.plan.arms import Arm, with_arm
from specsim.studies.plan.bound import Capacity
from specsim.studies.plan.capacity import rate_step
from specsim.studies.plan.result import ArmResult, PlanResult, Serving
from specsim.units import plural

TO_NARROW = "raise plan.most_requests or plan.seeds, or widen plan.width"


def plan_sentences(inputs: Inputs, result: PlanResult) -> list[str]:
    """The answer, and what it must be read with."""
    return [
        plan_headline(inputs, result),
        *_demand(inputs.scenario, result),
        *_model(result),
        *bound_sentences(inputs.scenario, result.best.capacity),
        *floor_sentences(inputs.scenario, result),
        _grid(inputs.scenario),
        *wide_sentences(inputs.scenario, result),
        *_missing(inputs.scenario, result),
    ]


def plan_headline(inputs: Inputs, result: PlanResult) -> str:
    """The answer in a sentence: the best arm, its rate, its gain, and what stops it."""
    scenario, best = inputs.scenario, result.best
    capacity, gain = best.capacity, result.gain(best)
    over = ""
    if best.arm.policy and gain is not None:
        over = f" (mean over seeds {gain.estimate:.2f}× [{gain.low:.2f}, {gain.high:.2f}] that without speculation)"
    return (
        f"{_replica(inputs, result)} serves {plain(capacity.bound, 3)} requests/s{_around(result, best)} "
        f"{arm_words(scenario, best.arm)}{over}"
        f" within {limits_words(result.limits)}; {binding_words(result.limits, best)}."
    )


def _around(result: PlanResult, found: ArmResult) -> str:
    """The model's interval of a rate; empty of the textbook device."""
    error = result.model_error
    return error.words_around(found.capacity.bound, lambda rate: plain(rate, 3)) if error else ""


def _model(result: PlanResult) -> Iterator[str]:
    """What the model's error is, and what follows of it for the number of replicas."""
    error, serving = result.model_error, result.serving(result.best)
    if error is None or not result.best.capacity.bound:
        return
    yield error.sentence
    if serving is None or result.demand is None:
        return
    low, high = error.around(result.best.capacity.bound)
    least, most = (int(result.demand.replicas(rate).max()) for rate in (high, low))
    if error.unmeasured:
        yield "Nothing like it was measured, so replicas are those of the low end of the model's error."
    elif least != most:
        yield f"Within the model's error it takes {least:,} to {most:,} at the peak."


def _replica(inputs: Inputs, result: PlanResult) -> str:
    what = "The fleet" if inputs.scenario.fleet else "A replica"
    return f"{what} of {result.num_devices} × {inputs.device.name}"


def limits_words(limits: tuple[Limit, ...]) -> str:
    """``TTFT p99 of 500 ms and TPOT p99 of 25 ms``."""
    *first, last = map(limit_words, limits)
    return f"{', '.join(first)} and {last}" if first else last


def limit_words(limit: Limit) -> str:
    """``TTFT p99 of 500 ms``."""
    return f"{limit_name(limit)} of {1e3 * limit.seconds:g} ms"


def limit_name(limit: Limit) -> str:
    """``TTFT p99``."""
    return f"{limit.latency.upper()} p{limit.percentile:g}"


def binds(limits: tuple[Limit, ...], capacity: Capacity) -> str:
    """``TTFT p99``, the limit that stops an arm; or ``saturation``."""
    return "saturation" if capacity.binding is None else limit_name(limits[capacity.binding])


def short_of(result: ArmResult) -> str:
    """``KV 97%``: the bottleneck at the bound, and how much of it is used; empty without a rate."""
    short = result.bottleneck
    return f"{short.resource} {short.utilisation:.0%}" if short else ""


def drafting(scenario: Scenario, arm: Arm, without: str = "none") -> str:
    """``3 draft tokens``; what to say without speculation is the caller's."""
    return policy_words(with_arm(scenario, arm)) if arm.policy else without


def arm_words(scenario: Scenario, arm: Arm) -> str:
    """``with 3 draft tokens``, ``without speculation``."""
    return f"{'with ' if arm.policy else ''}{drafting(scenario, arm, 'without speculation')}"


def binding_words(limits: tuple[Limit, ...], result: ArmResult) -> str:
    """The binding limit and the bottleneck there."""
    short = result.bottleneck
    if short is None:
        return "no rate meets the limits"
    limit = "saturation, not a latency limit, binds"
    if result.capacity.binding is not None:
        limit = f"{binds(limits, result.capacity)} is the binding limit"
    resource = {"bandwidth": "memory bandwidth", "KV": "the KV pool"}.get(short.resource, short.resource)
    return f"{limit}; the bottleneck is {resource} ({short.utilisation:.0%} used)"


def _demand(scenario: Scenario, result: PlanResult) -> Iterator[str]:
    """What serving the demand takes with the best arm."""
    serving, demand = result.serving(result.best), result.demand
    if serving is None or demand is None:
        if isinstance(scenario.workload.load, ClosedLoop):
            yield "A closed loop has no request rate, so GPUs are not computed; give the rate to serve with --rate."
        return
    peak, alike = int(serving.replicas.max()), len(serving.replicas) == 1
    what = "fleet" if scenario.fleet else "replica"
    rates = f"{plain(demand.mean, 3)} requests/s" + ("" if alike else f" (peak {plain(float(demand.rates.max()), 3)})")
    average = "" if alike else f" at the peak, {plain(serving.mean_replicas, 3)} on average"
    number = f"{plural(peak, what)}{average}, {plural(serving.gpus, 'GPU')}{_without(result, serving)}"
    costs = (
        [f"${plain(serving.dollars_per_million, 3)} per million output tokens"] if serving.dollars_per_million else []
    )
    if serving.joules_per_token is not None and serving.kilowatts is not None:
        costs.append(
            f"{plain(serving.kilowatts, 3)} kW and {plain(serving.joules_per_token, 3)} J per output token at full "
            "board power"
        )
    how = arm_words(scenario, result.best.arm)
    yield f"For {rates} {how}: {number}{''.join(f', {cost}' for cost in costs)}."


def _without(result: PlanResult, serving: Serving) -> str:
    """How many GPUs the same takes without speculation, where the answer is with it."""
    other = result.plain and result.serving(result.plain)
    if not result.best.arm.policy or other is None:
        return ""
    same = other.gpus == serving.gpus and other.mean_replicas == serving.mean_replicas
    return " (as many as without speculation)" if same else f" ({other.gpus:,} without speculation)"


def bound_sentences(scenario: Scenario, capacity: Capacity) -> Iterator[str]:
    """What kind of number a rate is."""
    load = scenario.workload.load
    fresh = "other replays" if isinstance(load, Replay) else f"fresh runs of {capacity.num_requests:,} requests"
    seeds = len(capacity.rates)
    if capacity.half_width:
        yield (
            f"95 % of {fresh} meet the limits at these rates (lower bounds from {seeds} seeds; their mean is "
            f"{plain(capacity.mean, 3)} requests/s)."
        )
    else:
        yield (
            f"Rates are lower bounds: all {seeds} seeds meet the limits at one rate of the grid and none at the next, "
            f"so the spread of {fresh} is known only to a step of the grid."
        )
    if isinstance(load, ClosedLoop | RateProfile):
        yield "Rates assume Poisson arrivals instead of the scenario's own load."
    if isinstance(load, Replay):
        yield "Rates are means over the trace, replayed faster or slower; at its own peak a replica serves more."


def floor_sentences(scenario: Scenario, result: PlanResult) -> Iterator[str]:
    """Why an arm meets the limits at no rate."""
    for found in result.arms:
        who = arm_words(scenario, found.arm).capitalize()
        missed = [latency for latency in found.unloaded if latency.missed]
        for latency in missed:
            takes, limit = 1e3 * latency.seconds, limit_words(latency.limit)
            yield f"{who}, even an empty system takes {takes:.4g} ms (limit: {limit}): {latency.made_of}."
        if found.unloaded and not missed:
            yield f"{who}, the limits are met in an empty system but at no rate."


def _grid(scenario: Scenario) -> str:
    return f"Rates lie on a grid of {grid_step(scenario):.2g} %; smaller differences are not resolved."


def grid_step(scenario: Scenario) -> float:
    """By how much neighbouring rates differ [%]."""
    return 100 * rate_step(scenario.plan or Plan())


def wide_sentences(scenario: Scenario, result: PlanResult) -> Iterator[str]:
    """Arms whose rate is not known as well as was asked."""
    plan = scenario.plan or Plan()
    for found in result.arms:
        if found.capacity.over(plan.width) > 1:
            yield (
                f"{arm_words(scenario, found.arm).capitalize()}, the mean is known only to "
                f"±{found.capacity.half_width:.1%} with the longest runs allowed; {TO_NARROW}."
            )


def _missing(scenario: Scenario, result: PlanResult) -> Iterator[str]:
    if result.missing:
        yield f"Interrupted; not measured: {', '.join(one.words for one in result.missing)}."
