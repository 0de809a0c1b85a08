"""What a break-even is when inputs are off: the ends of each input, and how far apart they lie. Simulates nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from specsim.analysis.crossings import Crossing, Crossings
from specsim.analysis.intervals import Interval
from specsim.costs.extrapolation import Extrapolation

Where = Literal["found", "beyond", "below", "open"]


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
        run_lengths: which runs of the scenario as it stands were made longer, and which still drift, in sentences.
    """

    num_draft_tokens: int
    change: float
    batches: tuple[int, ...]
    base: Outcome
    shifts: tuple[Shift, ...]
    fixed: dict[str, str]
    missing: tuple[str, ...] = ()
    extrapolation: Extrapolation | None = None
    run_lengths: tuple[str, ...] = ()

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
