"""The time of one engine step: the target's pass, the drafter's passes and the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from specsim.costs.passes import PassCost
from specsim.forward import Pass
from specsim.schema.hardware import Engine
from specsim.schema.speculation import NgramLookup


class StepTime(NamedTuple):
    """Seconds of one step by part, in the order of ``records.PARTS``; they add up to its time."""

    weights: float
    kv: float
    compute: float
    launch: float
    communication: float
    draft: float
    host: float


class StepCost:
    """Prices whole steps.

    Args:
        target: prices the target's passes.
        drafter: prices the drafter's passes; None without speculation.
        engine: whose host times are added; None for none (theory).
        lookup: whose host times are added where drafts are looked up; None for none.
    """

    def __init__(
        self, target: PassCost, drafter: PassCost | None, engine: Engine | None, lookup: NgramLookup | None = None
    ) -> None:
        self._target = target
        self._drafter = drafter
        self._per_step = engine.host_time_per_step if engine else 0.0
        self._per_sequence = engine.host_time_per_sequence if engine else 0.0
        self._per_draft_pass = engine.host_time_per_draft_pass if engine else 0.0
        self._per_verified_row = engine.host_time_per_verified_row if engine else 0.0
        self._per_lookup_step = lookup.host_time_per_step if lookup else 0.0
        self._per_lookup = lookup.host_time_per_sequence if lookup else 0.0

    def price(self, target_pass: Pass, draft_passes: Iterable[Pass] = (), num_lookups: int = 0) -> StepTime:
        """Seconds of a step that runs the draft passes, or looks up the drafts of some sequences, and then verifies."""
        draft, num_draft_passes = 0.0, 0
        for draft_pass in draft_passes:
            draft += self.draft_seconds(draft_pass)
            num_draft_passes += 1
        host = (
            self._per_step
            + self._per_sequence * target_pass.sequences
            + self._per_verified_row * target_pass.logit_rows
            + self._per_draft_pass * num_draft_passes
        )
        if num_lookups:
            host += self._per_lookup_step + self._per_lookup * num_lookups
        return StepTime(*self._target.price(target_pass), draft, host)

    def draft_seconds(self, draft_pass: Pass) -> float:
        """Device seconds of one draft pass."""
        if self._drafter is None:
            raise ValueError("a draft pass was asked of a deployment without a drafter")
        return sum(self._drafter.price(draft_pass))
