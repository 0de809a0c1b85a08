"""Several scenarios side by side: each arm's points under closed loops, and what it serves within one set of limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specsim.costs.extrapolation import Extrapolation
from specsim.engine.run import warm_up
from specsim.errors import InfeasibleError, Problem
from specsim.forward import farthest
from specsim.inputs.models.plan import Limit, Plan, limits_of
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.fleet import simulation_of
from specsim.simulation.in_flight import num_drawn
from specsim.studies.plan.arms import Arm, arms_of
from specsim.studies.plan.result import ArmResult, PlanResult, by_name
from specsim.studies.plan.run import measure_arm, missed_limits, plan_of
from specsim.studies.shared.executors import Workers, spread
from specsim.studies.shared.model_error import error_of
from specsim.studies.shared.notes import beyond_positions, held_acceptance, run_length_notes
from specsim.studies.shared.points import Point, PointRuns, Progress, num_requests, run_point, work

PLAN_SHARE = 0.6  # of an arm's work, where there are limits
NOTED = 1000  # requests of which the longest is looked at
Key = tuple[int, int]
"""Arm of a scenario, by its place, and a batch."""


@dataclass(frozen=True, eq=False)
class Subject:
    """One scenario of a comparison, and what was found of it.

    Attributes:
        inputs: the scenario and what it refers to; its name is that of the subject.
        arms: that can run; no speculation first, then the scenario's own policy and what its plan names.
        never: arms that can never run, with the reasons.
        points: its runs under closed loops, by arm and batch; empty where no arm can run.
        plan: what each arm serves within the limits; None where there are no limits, or no arm can run.
        missed: what keeps every arm from meeting the limits; empty where one does.
        num_devices: of a replica, or of the fleet.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
        notes: what the inputs leave open, in sentences.
    """

    inputs: Inputs
    arms: tuple[Arm, ...]
    never: Mapping[str, tuple[Problem, ...]]
    points: Mapping[Key, PointRuns]
    plan: PlanResult | None
    missed: tuple[Problem, ...]
    num_devices: int
    extrapolation: Extrapolation | None
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of the scenario; no two subjects have the same."""
        return self.inputs.scenario.name

    @property
    def meets(self) -> bool:
        """Whether an arm meets the limits at some rate."""
        return self.plan is not None and self.plan.met


@dataclass(frozen=True)
class Comparison:
    """Scenarios compared.

    Attributes:
        subjects: in the order in which they were named; those that an interruption left out are missing.
        limits: that plans are held against; empty for none.
        missing: names of those left out.
    """

    subjects: tuple[Subject, ...]
    limits: tuple[Limit, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Part:
    """A piece of work: a function of its arguments, in whatever process.

    Attributes:
        subject, arm: whose, by their places.
        batch: of a point; None for the plan of an arm.
        share: of the work that its subject makes.
    """

    subject: int
    arm: int
    batch: int | None
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    share: float


def compared_arms(inputs: Inputs) -> list[Arm]:
    """No speculation and the scenario's own policy; with the draft lengths of its plan, where that names some."""
    scenario = inputs.scenario
    if scenario.plan and scenario.plan.num_draft_tokens:
        return arms_of(scenario)
    own = scenario.speculation.policy
    return [Arm(None), *([Arm(own)] if own.num_draft_tokens else [])]


def simulate_comparison(
    compared: Sequence[Inputs], *, jobs: int | None = None, progress: Progress = lambda share: None
) -> Comparison:
    """Simulate every arm of every scenario; the result does not depend on ``jobs``, nor a scenario's on the others.

    An interruption (Ctrl-C) ends it; scenarios finished by then are the result, which says which are missing.

    Args:
        compared: the scenarios, in the order in which they are simulated. Their limits are the same, or all have none.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InfeasibleError: when no scenario can run, or none meets the limits.
        KeyboardInterrupt: before a scenario was finished.
    """
    limits = limits_of(compared[0].scenario.plan or Plan(), compared[0].scenario.slo)
    able = [_able(inputs, planned=bool(limits)) for inputs in compared]
    if not any(arms for arms, _ in able):
        raise InfeasibleError(_named(compared, [[p for why in never.values() for p in why] for _, never in able]))
    parts = [part for i, inputs in enumerate(compared) for part in _parts(i, inputs, able[i][0], bool(limits))]
    subjects_at_work = len({part.subject for part in parts})
    found: dict[int, Any] = {}
    warm_up()  # or each process would compile for itself
    interrupted = False
    try:
        for i, result in spread(_call, [(part.function, part.arguments) for part in parts], Workers(jobs=jobs)):
            found[i] = result
            progress(parts[i].share / subjects_at_work)
    except KeyboardInterrupt:
        interrupted = True
    unfinished = {part.subject for i, part in enumerate(parts) if i not in found}
    done = [i for i in range(len(compared)) if i not in unfinished]
    if interrupted and not any(able[i][0] for i in done):
        raise KeyboardInterrupt
    subjects = []
    for i in done:
        own = [(part, found[at]) for at, part in enumerate(parts) if part.subject == i]
        subjects.append(_subject(compared[i], *able[i], own))
    if limits and not interrupted and not any(subject.meets for subject in subjects):
        left_out = [[*subject.missed, *(p for why in subject.never.values() for p in why)] for subject in subjects]
        raise InfeasibleError(_named(compared, left_out))
    return Comparison(tuple(subjects), limits, tuple(compared[i].scenario.name for i in sorted(unfinished)))


def _named(compared: Sequence[Inputs], problems: Sequence[Sequence[Problem]]) -> list[Problem]:
    """The problems of each scenario under its name, since several may come from one file; each once."""
    return [
        replace(problem, where=inputs.scenario.name)
        for inputs, own in zip(compared, problems, strict=True)
        for problem in dict.fromkeys(own)
    ]


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


def _able(inputs: Inputs, *, planned: bool) -> tuple[tuple[Arm, ...], dict[str, tuple[Problem, ...]]]:
    """Arms that can run, and by name of the others why they never can."""
    scenario, simulation = inputs.scenario, simulation_of(inputs)
    arms, never = [], {}
    for arm in compared_arms(inputs):
        try:
            most = num_drawn(num_requests(inputs, scenario.curve.batches[-1]))
            for replication in range(scenario.curve.replications):
                simulation.lengths_checked(most, arm.num_draft_tokens, replication)
            if planned:
                simulation.lengths_checked(simulation.num_requests, arm.num_draft_tokens, 0, scenario.workload.load)
        except InfeasibleError as error:
            never[arm.name] = error.problems
            continue
        arms.append(arm)
    return tuple(arms), never


def _parts(subject: int, inputs: Inputs, arms: Sequence[Arm], planned: bool) -> Iterator[_Part]:
    """A scenario's work, the longest pieces first, so that processes finish together."""
    if planned:
        for i, arm in enumerate(arms):
            yield _Part(subject, i, None, measure_arm, (inputs, arm), PLAN_SHARE / len(arms))
    batches = inputs.scenario.curve.batches
    points = [(i, Point(batch, arm.num_draft_tokens)) for i, arm in enumerate(arms) for batch in batches]
    total, rest = sum(work(inputs, point) for _, point in points), 1 - PLAN_SHARE * planned
    for i, point in sorted(points, key=lambda one: -work(inputs, one[1])):
        arguments = (inputs, point, arms[i].policy)
        yield _Part(subject, i, point.batch, run_point, arguments, rest * work(inputs, point) / total)


def _subject(
    inputs: Inputs,
    arms: tuple[Arm, ...],
    never: Mapping[str, tuple[Problem, ...]],
    found: Sequence[tuple[_Part, Any]],
) -> Subject:
    points: dict[Key, PointRuns] = {(part.arm, part.batch): runs for part, runs in found if part.batch is not None}
    measured: list[ArmResult] = [result for part, result in found if part.batch is None]
    plan = plan_of(inputs, measured) if measured else None
    simulation = simulation_of(inputs)
    reached = [runs.reach for runs in points.values()]
    lengths = [(Point(batch, arms[i].num_draft_tokens), runs) for (i, batch), runs in points.items()]
    beyond = simulation.extrapolation(farthest(reached)) if reached else None
    return Subject(
        inputs=inputs,
        arms=arms,
        never=never,
        points=dict(sorted(points.items())),
        plan=plan,
        missed=tuple(missed_limits(inputs, by_name(plan.arms))) if plan and not plan.met else (),
        num_devices=simulation.num_devices,
        extrapolation=(plan and plan.extrapolation) or beyond,
        notes=(
            *([error.sentence] if (error := error_of(inputs, "speedup")) else []),
            *run_length_notes(inputs, lengths),
            *_notes(inputs, arms),
        ),
    )


def _notes(inputs: Inputs, arms: Sequence[Arm]) -> Iterator[str]:
    longest = max((arm.num_draft_tokens for arm in arms), default=0)
    if longest:
        lengths = simulation_of(inputs).lengths(NOTED, replication=0)
        yield from held_acceptance(inputs.scenario.speculation, longest)
        yield from beyond_positions(inputs, int((lengths.prompt + lengths.output).max()))
