"""The time of one engine step: the target's pass, the drafter's passes and the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from specsim.costs.passes import PassCost, PassTime
from specsim.forward import Pass
from specsim.schema.hardware import Engine


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
    """

    def __init__(self, target: PassCost, drafter: PassCost | None, engine: Engine | None) -> None:
        self._target = target
        self._drafter = drafter
        self._per_step = engine.host_time_per_step if engine else 0.0
        self._per_sequence = engine.host_time_per_sequence if engine else 0.0
        self._per_draft_pass = engine.host_time_per_draft_pass if engine else 0.0
        self._per_verified_row = engine.host_time_per_verified_row if engine else 0.0

    def price(self, target_pass: Pass, draft_passes: Iterable[Pass] = ()) -> StepTime:
        """Seconds of a step that runs the draft passes, then the target's pass."""
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
        return StepTime(*self._target.price(target_pass), draft, host)

    def draft_seconds(self, draft_pass: Pass) -> float:
        """Device seconds of one draft pass."""
        return sum(self.draft_time(draft_pass))

    def draft_time(self, draft_pass: Pass) -> PassTime:
        """Device seconds of one draft pass, by part."""
        if self._drafter is None:
            raise ValueError("a draft pass was asked of a deployment without a drafter")
        return self._drafter.price(draft_pass)
