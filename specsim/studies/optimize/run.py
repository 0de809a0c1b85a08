"""The cheapest settings within latency limits: a search by short runs, and the best of it measured as a plan does.

The best of many noisy figures is better than it is by chance. So the search has seeds of its own, and what is reported
of the finalists comes from seeds that their choice has not seen, those of `specsim plan`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from specsim.engine.run import warm_up
from specsim.errors import InfeasibleError, Problem, raise_if_any
from specsim.inputs.models.optimize import WITHOUT_LENGTH, Optimize
from specsim.inputs.models.plan import Plan, limits_of
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.fleet import simulation_of
from specsim.studies.decide.run import without_schedules
from specsim.studies.optimize.finalists import Measured, candidates, measure
from specsim.studies.optimize.infeasible import barred
from specsim.studies.optimize.optimum import Optimum, described, distinct
from specsim.studies.optimize.proposals import proposals
from specsim.studies.optimize.short_runs import ShortRuns
from specsim.studies.optimize.space import Settings, Space, own_settings, space_of
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.capacity import STEPS_PER_WIDTH
from specsim.studies.plan.run import missed_limits
from specsim.studies.shared.points import Progress
from specsim.units import plural

SEARCH_SHARE = 0.6  # of the work; the rest measures the finalists


def simulate_optimum(inputs: Inputs, *, jobs: int | None = None, progress: Progress = lambda share: None) -> Optimum:
    """Search the scenario's settings; the result does not depend on ``jobs``.

    An interruption (Ctrl-C) ends it; trials and finalists finished by then are the result.

    Args:
        inputs: the scenario and what it refers to; it has limits, in its plan or its slo.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InputError: of a scenario whose settings no engine takes, or when what the search takes is not installed.
        InfeasibleError: when no combination can run, or none meets the limits even in an empty system.
        KeyboardInterrupt: before any combination was measured.
    """
    raise_if_any(without_schedules(inputs))
    scenario, space = inputs.scenario, space_of(inputs)
    stated, plan = scenario.optimize or Optimize(), scenario.plan or Plan()
    out = barred(inputs, space)
    possible = [settings for settings in space.combinations() if settings not in out]
    resolution = plan.width / STEPS_PER_WIDTH
    found = Optimum(limits_of(plan, scenario.slo), plan.price_per_gpu_hour, resolution, space, out)
    if not possible:
        raise InfeasibleError(_none_can_run(inputs, found))
    warm_up()  # or each process would compile for itself
    short = ShortRuns(inputs, space.num_draft_tokens, jobs)
    try:
        if len(possible) > stated.finalists:
            _search(short, inputs, space, possible, lambda share: progress(SEARCH_SHARE * share))
            found = replace(found, trials=short.trials, sampled=len(possible) > stated.trials)
            arms = _best(inputs, found)
        else:
            arms = {settings: arm for settings in possible if isinstance(arm := short.arm(settings), Arm)}
    except KeyboardInterrupt:
        if not short.trials:
            raise
        return replace(found, trials=short.trials, interrupted=True)
    measured = measure(candidates(inputs, arms), jobs, lambda share: progress((1 - SEARCH_SHARE) * share))
    return _judged(inputs, found, measured)


def _search(short: ShortRuns, inputs: Inputs, space: Space, possible: Sequence[Settings], progress: Progress) -> None:
    trials = (inputs.scenario.optimize or Optimize()).trials
    first = list(_first(inputs, space))[: trials // 2]
    source = proposals(space, possible, first, trials, inputs.scenario.seed)
    batch = next(source)
    while True:
        share = len(batch) / min(trials, len(possible))
        costs = short.measure(batch, _part_of(progress, share))
        try:
            batch = source.send(costs)
        except StopIteration:
            return


def _part_of(progress: Progress, share: float) -> Progress:
    return lambda part: progress(share * part)


def _first(inputs: Inputs, space: Space) -> Iterator[Settings]:
    """Every policy under the scenario's own devices and limits: each kind at its own draft length, then at others."""
    own = own_settings(inputs, space)
    length = own.num_draft_tokens or space.num_draft_tokens[0]
    for kind in space.policies:
        yield own._replace(policy=kind, num_draft_tokens=0 if kind in WITHOUT_LENGTH else length)
    for kind in space.policies:
        if kind not in WITHOUT_LENGTH:
            for other in space.num_draft_tokens:
                if other != length:
                    yield own._replace(policy=kind, num_draft_tokens=other)


def _best(inputs: Inputs, found: Optimum) -> dict[Settings, Arm]:
    """The cheapest of the trials that differ, by settings.

    Raises:
        InfeasibleError: when none meets the limits.
    """
    if not found.ranked:
        raise InfeasibleError(_missed(inputs, found))
    number = (inputs.scenario.optimize or Optimize()).finalists
    return {one.settings: one.arm for one in distinct(found.ranked, own_settings(inputs, found.space))[:number]}


def _judged(inputs: Inputs, found: Optimum, measured: Measured) -> Optimum:
    """What was found, with its finalists.

    Raises:
        InfeasibleError: when none meets the limits.
        KeyboardInterrupt: when there is nothing to report.
    """
    finalists = measured.finalists
    if measured.interrupted and not (finalists or found.trials):
        raise KeyboardInterrupt
    whole = replace(found, finalists=finalists, own_reason=measured.own_reason, interrupted=measured.interrupted)
    if not finalists:
        if measured.interrupted:
            return whole
        raise InfeasibleError(_none_can_run(inputs, whole))
    best = finalists[0]
    if not best.result.capacity.bound and not measured.interrupted:
        searched = {_described(one.settings, one.arm): one.result for one in finalists if one.settings}
        raise InfeasibleError(missed_limits(inputs, searched or {"as it stands": best.result}))
    reached = best.result.reached
    return replace(whole, extrapolation=reached and simulation_of(best.inputs).extrapolation(reached))


def _none_can_run(inputs: Inputs, found: Optimum) -> list[Problem]:
    """Why no combination can run, each reason once."""
    where = str(inputs.files["scenario"])
    reasons = found.reasons() or [(found.own_reason, 1)]
    return [Problem(where, "optimize", plural(number, "combination"), reason) for reason, number in reasons]


def _missed(inputs: Inputs, found: Optimum) -> list[Problem]:
    """What no trial meets; where none could be measured, why."""
    measured = {_described(one.settings, one.arm): one.result for one in found.trials if one.result}
    return missed_limits(inputs, measured) if measured else _none_can_run(inputs, found)


def _described(settings: Settings, arm: Arm) -> str:
    return described(settings[:3], arm.name if arm.policy else "without speculation")
