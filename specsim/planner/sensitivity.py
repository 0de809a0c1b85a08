"""How far the break-even moves when one input is off: a curve for each change, at the same batches and luck."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from specsim.analysis.crossings import Crossing, Crossings
from specsim.analysis.intervals import Interval, paired_speedup_interval
from specsim.costs.extrapolation import Extrapolation
from specsim.errors import invalid
from specsim.planner.changes import CHANGEABLE, Changeable, changed
from specsim.planner.curve import CurveResult, simulate_curve
from specsim.planner.points import Point, Progress
from specsim.schema.load import Inputs
from specsim.schema.policy import StaticPolicy

Where = Literal["found", "beyond", "below", "open"]
SLOPES = (1.5, 3.0)
"""Percent of the break-even for each percent of an input, at which all curves have a batch on either side.

Most inputs move it by about their own share at the most, since costs are sums of parts, and acceptance, which costs
nothing, by about three times its share; so most ends lie between batches that are near to them.
"""

CHANGES = (0.01, 0.9)
"""The least share that inputs are changed by, and the most."""


class Outcome(NamedTuple):
    """What came of the inputs as they were.

    Attributes:
        crossings: where speculation pays.
        speedup: at the largest batch, at equal concurrency.
    """

    crossings: Crossings
    speedup: Interval

    @property
    def break_even(self) -> Crossing | None:
        """The largest batch at which speculation was established to stop paying; None where there is none."""
        found = [crossing for crossing in self.crossings.crossings if crossing.established and crossing.stops_paying]
        return found[-1] if found else None

    @property
    def where(self) -> Where:
        """Where the break-even lies: found, beyond the batches simulated, below them, or left open by the runs."""
        if self.break_even:
            return "found"
        if self.crossings.verdict == "never pays":
            return "below"
        pays, undecided = self.crossings.pays, self.crossings.undecided
        # costs that reach the largest batch, after batches at which it pays, would make a break-even
        return "beyond" if pays and (not undecided or pays[-1].high > undecided[-1].high) else "open"

    @property
    def left_open(self) -> tuple[float, ...]:
        """The batch on one side or other of which the break-even lies, where the runs leave it open.

        It is the largest simulated where that is undecided; else speculation costs at the largest and is nowhere known
        to pay, and it is the smallest undecided.
        """
        if self.where != "open":
            return ()
        undecided, costs = self.crossings.undecided, self.crossings.costs
        reaches_end = not costs or undecided[-1].high > costs[-1].high
        return (undecided[-1].high if reaches_end else undecided[0].low,)


class Shift(NamedTuple):
    """What came of an input that was lower and higher.

    Attributes:
        name: of the input.
        lower, higher: what came of it.
    """

    name: str
    lower: Outcome
    higher: Outcome


@dataclass(frozen=True)
class SensitivityResult:
    """The break-even, and what moves it.

    Attributes:
        num_draft_tokens: that are drafted.
        change: by which share each input was lower and higher.
        batches: that were simulated, the same whatever was changed.
        base: what comes of the scenario as it stands.
        shifts: of each input, in the order of ``CHANGEABLE``.
        fixed: input that was not changed → why.
        missing: inputs that an interruption left out.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
    """

    num_draft_tokens: int
    change: float
    batches: tuple[int, ...]
    base: Outcome
    shifts: tuple[Shift, ...]
    fixed: dict[str, str]
    missing: tuple[str, ...] = ()
    extrapolation: Extrapolation | None = None

    @property
    def has_break_even(self) -> bool:
        """Whether there is one, if only with some input lower or higher; else the speedup is what moves."""
        outcomes = [self.base, *(outcome for shift in self.shifts for outcome in shift[1:])]
        return any(outcome.break_even for outcome in outcomes)

    def ends(self, shift: Shift) -> tuple[float | None, float | None]:
        """The break-evens of both ends; without any in the whole result, the speedups at the largest batch."""
        return self._value(shift.lower), self._value(shift.higher)

    def _value(self, outcome: Outcome) -> float | None:
        if not self.has_break_even:
            return outcome.speedup.estimate
        return outcome.break_even.batch if outcome.break_even else None

    def swing(self, shift: Shift) -> float:
        """How many times as large the answer is at one end as at the other, at least 1.

        Infinite where one end lies beyond or below all batches and the other does not. An end that the runs leave open
        is taken for what comes of the scenario as it stands.
        """
        known = [end for end in self.ends(shift) if end is not None]
        if self.is_open(shift) and (base := self._value(self.base)):
            known.append(base)
        if len(known) == 2:
            return max(known) / min(known)
        return 1.0 if self.is_open(shift) or shift.lower.where == shift.higher.where else math.inf

    def is_open(self, shift: Shift) -> bool:
        """Whether the runs leave open where the break-even lies at an end."""
        return self.has_break_even and "open" in (shift.lower.where, shift.higher.where)

    def elasticity(self, shift: Shift) -> float | None:
        """By how many percent the answer moves for each of the input, on average over the change.

        None where one end has no answer.
        """
        lower, higher = self.ends(shift)
        if lower is None or higher is None:
            return None
        return math.log(higher / lower) / math.log((1 + self.change) / (1 - self.change))

    @property
    def by_swing(self) -> list[Shift]:
        """What moves the answer most first."""
        return sorted(self.shifts, key=lambda shift: -self.swing(shift))


def check_change(change: float) -> None:
    """Refuse a change that is none, or that leaves next to nothing of an input.

    Raises:
        InputError: when it is no number within the limits.
    """
    least, most = CHANGES
    if not least <= change <= most:  # nan is neither
        remedy = f"must be a share from {least:g} to {most:g} of each input; write 0.1 for 10 % lower and higher"
        raise invalid("--change", "", change, remedy)


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
    share = 1 / (2 + 2 * len(varied))

    def curve_of(one: Inputs, *, refine: bool = False) -> CurveResult:
        found = simulate_curve(one, jobs=jobs, progress=lambda done: progress(share * done), refine=refine)
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def outcome_of(one: Inputs) -> Outcome:
        return _outcome(curve_of(one), num_draft_tokens)

    shared = _at_batches(alone, _shared_batches(curve_of(alone, refine=True), num_draft_tokens, change))
    base = curve_of(shared)
    shifts: dict[str, Shift] = {}
    try:
        for part in varied:
            shifts[part.name] = _shift(shared, part, change, outcome_of)
    except KeyboardInterrupt:
        if not shifts:
            raise
    return SensitivityResult(
        num_draft_tokens=num_draft_tokens,
        change=change,
        batches=base.batches,
        base=_outcome(base, num_draft_tokens),
        shifts=tuple(shifts.values()),
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


def _shared_batches(curve: CurveResult, num_draft_tokens: int, change: float) -> tuple[int, ...]:
    """Batches at which all are compared: the grid, and more around the break-even of the scenario as it stands.

    Were each curve refined at its own crossing, ends would differ by the luck of different batches as well.

    Args:
        curve: of the scenario as it stands, with batches right at its crossings.
        num_draft_tokens: whose break-even it is.
        change: by which share inputs are lower and higher.
    """
    stops = _outcome(curve, num_draft_tokens).break_even
    if stops is None:
        return curve.batches
    powers = [sign * slope for slope in SLOPES for sign in (-1, 1)]
    around = {round(stops.batch * (1 + change) ** power) for power in powers}
    within = {batch for batch in around if curve.batches[0] < batch < curve.batches[-1]}
    return tuple(sorted({*curve.points["batch"].tolist(), *within}))


def _at_batches(inputs: Inputs, batches: tuple[int, ...]) -> Inputs:
    scenario = inputs.scenario
    curve = scenario.curve.model_copy(update={"batches": batches})
    return replace(inputs, scenario=scenario.model_copy(update={"curve": curve}))


def _outcome(curve: CurveResult, num_draft_tokens: int) -> Outcome:
    largest = curve.batches[-1]
    drafted, plain = (curve.throughputs[Point(largest, k)] for k in (num_draft_tokens, 0))
    return Outcome(curve.crossings[num_draft_tokens], paired_speedup_interval(drafted, plain))


def _shift(inputs: Inputs, part: Changeable, change: float, outcome_of: Callable[[Inputs], Outcome]) -> Shift:
    lower, higher = (outcome_of(changed(inputs, part, factor)) for factor in (1 - change, 1 + change))
    return Shift(part.name, lower, higher)
