"""What to set: a table of draft lengths by batch, simulated as it is written, and what one fixed length loses."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from specsim.analysis.intervals import Interval, paired_speedup_interval
from specsim.arrays import Floats
from specsim.costs.extrapolation import Extrapolation
from specsim.errors import Problem, raise_if_any
from specsim.forward import farthest
from specsim.inputs.models.schedule import SchedulePolicy, ScheduleRow
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.fleet import simulation_of
from specsim.studies.curve.run import CurveResult, simulate_curve
from specsim.studies.decide.notes import decision_notes
from specsim.studies.decide.schedules import Throughputs, draft_length_at, schedule_of
from specsim.studies.shared.model_error import error_of
from specsim.studies.shared.notes import run_length_notes
from specsim.studies.shared.points import Point, PointRuns, Progress, run_all
from specsim.units import plural

CURVE_SHARE = 0.85  # of the work; the rest simulates the schedule


class Choice(NamedTuple):
    """What the schedule does at a batch that was simulated.

    Attributes:
        batch: requests in flight.
        num_draft_tokens: draft length at this batch, or at as many of its requests as run at once.
        tokens_per_s: output tokens/s under the schedule, the mean of the replications.
        over_none: its throughput over that without speculation.
        over_fixed: the same over that of the best single length.
    """

    batch: int
    num_draft_tokens: int
    tokens_per_s: float
    over_none: Interval
    over_fixed: Interval


class FixedLength(NamedTuple):
    """What one draft length for all batches gains and loses.

    Attributes:
        num_draft_tokens: 0 for no speculation.
        over_none: throughput over that without speculation, the geometric mean over batches that run at once.
        regret: share of the schedule's throughput that it loses; negative where it gains.
        worst: the share at the batch where it is largest.
        worst_batch: that batch.
    """

    num_draft_tokens: int
    over_none: Interval
    regret: Interval
    worst: Interval
    worst_batch: int


@dataclass(frozen=True)
class Decision:
    """A schedule and what it is worth.

    Attributes:
        curve: the simulated throughputs that it follows from.
        schedule: draft lengths by batch; of one row where one length is best everywhere.
        choices: one for each batch of the grid.
        fixed: one for each draft length, and for none.
        over_none: the schedule's throughput over that without speculation, the geometric mean over the batches that run
            at once; over all where none does.
        over_fixed: the same over that of the best single length.
        warnings: what a planner has to know before setting it, in sentences.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
        step_error: the model's, of the logarithm of the ratio between lengths one token apart; 0 for none.
    """

    curve: CurveResult
    schedule: SchedulePolicy
    choices: tuple[Choice, ...]
    fixed: tuple[FixedLength, ...]
    over_none: Interval
    over_fixed: Interval
    warnings: tuple[str, ...] = ()
    extrapolation: Extrapolation | None = None
    step_error: float = 0.0

    @property
    def best_fixed(self) -> FixedLength:
        """The single length that loses least on average."""
        return least_regret(self.fixed)


def simulate_decision(inputs: Inputs, *, jobs: int | None = None, progress: Progress = lambda share: None) -> Decision:
    """Run the scenario's curve, derive the schedule, and run that too.

    Args:
        inputs: the scenario and what it refers to.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InputError: of a scenario whose speculation no engine's table of draft lengths describes.
        InfeasibleError: before anything is simulated, when some request could never be served.
        KeyboardInterrupt: when interrupted; half a curve is no ground for a decision.
    """
    raise_if_any(without_schedules(inputs))
    curve = simulate_curve(inputs, jobs=jobs, progress=lambda share: progress(CURVE_SHARE * share))
    if curve.interrupted:
        raise KeyboardInterrupt
    between = error_of(inputs, "lengths")
    step_error = between.half_width if between else 0.0
    schedule = schedule_of(*as_they_run(curve), inputs.scenario.compared_draft_lengths, step_error)
    runs = _run_schedule(inputs, schedule, curve.batches, jobs, lambda share: progress((1 - CURVE_SHARE) * share))
    simulation = simulation_of(inputs)
    beyond = simulation.extrapolation(farthest([run.reach for run in runs.values()])) if runs else None
    under = {point: run.tokens_per_s for point, run in runs.items()}
    found = better_of(curve, decision_of(curve, schedule, under), step_error)
    of_runs = run_length_notes(inputs, runs.items())
    warnings = (*found.warnings, *of_runs, *decision_notes(simulation, found.schedule, curve.batches[-1]))
    return replace(found, warnings=warnings, extrapolation=curve.extrapolation or beyond, step_error=step_error)


def better_of(curve: CurveResult, found: Decision, step_error: float = 0.0) -> Decision:
    """The decision, or one length for all batches where that is clearly better on average, with a warning.

    A table that drafts less at large batches still holds memory for its longest draft there (states of linear
    attention, slots), so that fewer requests may run than if it always drafted less. A loss within the model's error,
    for which the table drafts the shorter of two lengths, is not clear.
    """
    apart = max(abs(row.num_draft_tokens - found.best_fixed.num_draft_tokens) for row in found.schedule.rows)
    if found.over_fixed.high >= math.exp(-step_error * math.sqrt(apart)):
        return found
    row = ScheduleRow(batch=(1, None), num_draft_tokens=found.best_fixed.num_draft_tokens)
    alone = decision_of(curve, SchedulePolicy(kind="schedule", table=(row,)), curve.throughputs)
    return replace(alone, warnings=(_loses(found),))


def _loses(decision: Decision) -> str:
    """That the table was tried and is worse than one length."""
    best, by = decision.best_fixed, _lost(decision.over_fixed)
    ranges = plural(len(decision.schedule.rows), "range")
    always = f"always {plural(best.num_draft_tokens, 'draft')}" if best.num_draft_tokens else "no speculation"
    return (
        f"A table by batch ({ranges}) was simulated and yields {100 * by.estimate:.1f} % "
        f"[{100 * by.low:.1f}, {100 * by.high:.1f}] less than {always}: switching costs more than it gains, such as "
        "memory held for the longest draft where shorter ones are made."
    )


def without_schedules(inputs: Inputs) -> Iterator[Problem]:
    """Scenarios that tables of draft lengths by batch are not about."""
    where, scenario = str(inputs.files["scenario"]), inputs.scenario
    if scenario.fleet is not None:
        remedy = (
            "engine settings are those of one replica; leave it out ('fleet: null' where an extended scenario has it), "
            "and give curve.batches of one replica"
        )
        yield Problem(where, "fleet", "", remedy)
    if scenario.speculation.tree is not None:
        remedy = (
            "engines' tables hold draft lengths of chains; take the tree out ('tree: null' where an extended scenario "
            "has it) and write 'verifier: token', or compare its levels with specsim curve"
        )
        yield Problem(where, "speculation.tree", "", remedy)


def as_they_run(curve: CurveResult) -> tuple[Throughputs, list[int]]:
    """Throughputs and batches as an engine counts those: of more in flight than run at once, as many as do.

    The first batch beyond that limit is taken for the limit itself; larger ones are never seen.
    """
    if curve.running_limit is None:
        return curve.throughputs, list(curve.batches)
    most = math.floor(curve.running_limit)
    full = next(batch for batch in curve.batches if batch >= most)
    found = {point: values for point, values in curve.throughputs.items() if point.batch < most}
    found |= {Point(most, k): values for (batch, k), values in curve.throughputs.items() if batch == full}
    return found, [*(batch for batch in curve.batches if batch < most), most]


def _run_schedule(
    inputs: Inputs, schedule: SchedulePolicy, batches: Sequence[int], jobs: int | None, progress: Progress
) -> dict[Point, PointRuns]:
    """Runs under the schedule, by batch and its longest draft; none where it never drafts."""
    longest = schedule.num_draft_tokens
    points = [Point(batch, longest) for batch in batches if longest]
    return dict(run_all(inputs, points, jobs or os.cpu_count() or 1, progress, schedule))


def decision_of(curve: CurveResult, schedule: SchedulePolicy, under_schedule: Throughputs) -> Decision:
    """What a schedule is worth.

    Args:
        curve: throughputs of fixed lengths.
        schedule: what was derived from them.
        under_schedule: the same of runs under the schedule, by batch and its longest draft; without one of a schedule
            that never drafts.
    """
    batches, fixed_lengths = curve.batches, sorted({k for _, k in curve.throughputs})
    averaged = [i for i, batch in enumerate(batches) if batch in curve.averaged]
    longest = schedule.num_draft_tokens
    source = under_schedule if longest else curve.throughputs
    scheduled = np.array([source[Point(batch, longest)] for batch in batches])
    of_length = {k: np.array([curve.throughputs[Point(batch, k)] for batch in batches]) for k in fixed_lengths}
    fixed = tuple(
        _fixed_length(k, curve.averaged, *(values[averaged] for values in (of_length[k], of_length[0], scheduled)))
        for k in fixed_lengths
    )
    best = of_length[least_regret(fixed).num_draft_tokens]
    most = math.floor(curve.running_limit or batches[-1])
    choices = tuple(
        Choice(
            batch,
            draft_length_at(schedule, min(batch, most)),
            float(scheduled[i].mean()),
            paired_speedup_interval(scheduled[i], of_length[0][i]),
            paired_speedup_interval(scheduled[i], best[i]),
        )
        for i, batch in enumerate(batches)
    )
    return Decision(
        curve=curve,
        schedule=schedule,
        choices=choices,
        fixed=fixed,
        over_none=_over_batches(scheduled[averaged], of_length[0][averaged]),
        over_fixed=_over_batches(scheduled[averaged], best[averaged]),
    )


def least_regret(fixed: Sequence[FixedLength]) -> FixedLength:
    """The length that loses least on average; of equals the first."""
    return min(fixed, key=lambda one: one.regret.estimate)


def _fixed_length(k: int, batches: Sequence[int], own: Floats, none: Floats, scheduled: Floats) -> FixedLength:
    by_batch = [_lost(paired_speedup_interval(*pair)) for pair in zip(own, scheduled, strict=True)]
    worst = max(range(len(batches)), key=lambda i: by_batch[i].estimate)
    return FixedLength(
        k, _over_batches(own, none), _lost(_over_batches(own, scheduled)), by_batch[worst], batches[worst]
    )


def _over_batches(treated: Floats, baseline: Floats) -> Interval:
    """The geometric mean over batches of throughputs [batches, replications], paired by replication."""
    return paired_speedup_interval(*(np.exp(np.log(values).mean(axis=0)) for values in (treated, baseline)))


def _lost(ratio: Interval) -> Interval:
    """The share lost where a ratio is kept."""
    return Interval(1 - ratio.estimate, 1 - ratio.high, 1 - ratio.low, ratio.confidence, ratio.n)
