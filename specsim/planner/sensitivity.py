"""How far the break-even moves when one input is off: a curve for each change, on the same requests and luck."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from specsim.analysis.crossings import Crossing, Crossings
from specsim.costs.extrapolation import Extrapolation
from specsim.errors import invalid
from specsim.planner.changes import CHANGEABLE, Changeable, changed
from specsim.planner.curve import CurveResult, simulate_curve
from specsim.planner.points import Progress
from specsim.schema.load import Inputs
from specsim.schema.policy import StaticPolicy


class Shift(NamedTuple):
    """What became of the break-even when an input was lower and higher.

    Attributes:
        name: of the input.
        lower, higher: where speculation pays then.
    """

    name: str
    lower: Crossings
    higher: Crossings

    @property
    def swing(self) -> float:
        """How many times as large the break-even is at one end as at the other, at least 1.

        Infinite where one end has none, and 1 where neither has.
        """
        ends = [break_even(found) for found in (self.lower, self.higher)]
        found = [crossing.batch for crossing in ends if crossing]
        if len(found) == 2:
            return max(found) / min(found)
        return math.inf if found or self.lower.verdict != self.higher.verdict else 1.0

    def elasticity(self, change: float) -> float | None:
        """By how many percent the break-even moves for each of the input, on average over the change.

        None where one end has no break-even.
        """
        lower, higher = break_even(self.lower), break_even(self.higher)
        if lower is None or higher is None:
            return None
        return math.log(higher.batch / lower.batch) / math.log((1 + change) / (1 - change))


@dataclass(frozen=True)
class SensitivityResult:
    """The break-even, and what moves it.

    Attributes:
        num_draft_tokens: that are drafted.
        change: by which share each input was lower and higher.
        batches: that were simulated.
        base: where speculation pays as the scenario stands.
        shifts: of each input, what moves the break-even most first.
        fixed: input that was not changed → why.
        missing: inputs that an interruption left out.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
    """

    num_draft_tokens: int
    change: float
    batches: tuple[int, ...]
    base: Crossings
    shifts: tuple[Shift, ...]
    fixed: dict[str, str]
    missing: tuple[str, ...] = ()
    extrapolation: Extrapolation | None = None


def break_even(found: Crossings) -> Crossing | None:
    """The largest batch at which speculation was established to stop paying; None where there is none."""
    stops = [crossing for crossing in found.crossings if crossing.established and crossing.stops_paying]
    return stops[-1] if stops else None


def simulate_sensitivity(
    inputs: Inputs,
    change: float,
    *,
    jobs: int | None = None,
    progress: Progress = lambda share: None,
) -> SensitivityResult:
    """The curve of the policy's (longest) draft as the scenario stands, and with each input lower and higher by itself.

    An interruption (Ctrl-C) ends it; the inputs finished by then are the result, which says what is missing.

    Args:
        inputs: the scenario and what it refers to.
        change: share by which each input is lower and higher, above 0 and below 1.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InputError: when the policy never drafts.
        InfeasibleError: when some request could never be served.
        KeyboardInterrupt: before the first input was finished.
    """
    num_draft_tokens = inputs.scenario.speculation.policy.num_draft_tokens
    if num_draft_tokens == 0:
        where = str(inputs.files["scenario"])
        raise invalid(
            where, "speculation.policy.num_draft_tokens", 0, "drafts nothing; write how many tokens it drafts"
        )
    alone = _alone(inputs, num_draft_tokens)
    fixed = {part.name: reason for part in CHANGEABLE if (reason := part.why_not(alone))}
    varied = [part for part in CHANGEABLE if part.name not in fixed]
    share = 1 / (1 + 2 * len(varied))

    def curve_of(one: Inputs) -> CurveResult:
        found = simulate_curve(one, jobs=jobs, progress=lambda done: progress(share * done))
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    base = curve_of(alone)
    shifts: dict[str, Shift] = {}
    try:
        for part in varied:
            shifts[part.name] = _shift(alone, part, change, curve_of)
    except KeyboardInterrupt:
        if not shifts:
            raise
    return SensitivityResult(
        num_draft_tokens=num_draft_tokens,
        change=change,
        batches=base.batches,
        base=base.crossings[num_draft_tokens],
        shifts=tuple(sorted(shifts.values(), key=lambda shift: -shift.swing)),
        fixed=fixed,
        missing=tuple(part.name for part in varied if part.name not in shifts),
        extrapolation=base.extrapolation,
    )


def _alone(inputs: Inputs, num_draft_tokens: int) -> Inputs:
    """The scenario with no other draft length in its curve."""
    scenario = inputs.scenario
    policy = StaticPolicy(num_draft_tokens=num_draft_tokens)
    update = {
        "speculation": scenario.speculation.model_copy(update={"policy": policy}),
        "curve": scenario.curve.model_copy(update={"num_draft_tokens": (num_draft_tokens,)}),
    }
    return replace(inputs, scenario=scenario.model_copy(update=update))


def _shift(inputs: Inputs, part: Changeable, change: float, curve_of: Callable[[Inputs], CurveResult]) -> Shift:
    (k,) = inputs.scenario.compared_draft_lengths
    ends = [curve_of(changed(inputs, part, factor)).crossings[k] for factor in (1 - change, 1 + change)]
    return Shift(part.name, *ends)
