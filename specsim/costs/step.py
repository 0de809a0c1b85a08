"""The time of one engine step: the target's pass, the drafter's passes and the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from specsim.costs.passes import PassCost, PassTime
from specsim.forward import Mode, Pass
from specsim.schema.engine import Engine, PassKind
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


class Pricing(Protocol):
    """What a replica asks for the time of a step."""

    def price(self, target_pass: Pass, draft_passes: Iterable[Pass] = (), num_lookups: int = 0) -> StepTime:
        """Seconds by part; see ``StepCost.price``."""
        ...


class StepCost:
    """Prices whole steps.

    Args:
        target: prices the target's passes.
        drafter: prices the drafter's passes; None without speculation.
        engine: whose host times are added and whose graphs are replayed; None for none (theory).
        kind: of drafter, where one runs passes.
        lookup: whose host times are added where drafts are looked up; None for none.
    """

    def __init__(
        self,
        target: PassCost,
        drafter: PassCost | None,
        engine: Engine | None,
        kind: PassKind | None = None,
        lookup: NgramLookup | None = None,
    ) -> None:
        self._target = target
        self._drafter = drafter
        self._per_step = engine.host_time_per_step if engine else 0.0
        self._per_sequence = engine.host_time_per_sequence if engine else 0.0
        self._per_draft_pass = engine.draft_pass_time(kind) if engine else 0.0
        self._per_verified_row = engine.host_time_per_verified_row if engine else 0.0
        self._per_lookup_step = lookup.host_time_per_step if lookup else 0.0
        self._per_lookup = lookup.host_time_per_sequence if lookup else 0.0
        self._idle = (engine.host_time_when_idle_drafter or 0.0) if engine and drafter else 0.0
        self._graphs = engine.graphs if engine else None

    def price(
        self,
        target_pass: Pass,
        draft_passes: Iterable[Pass] = (),
        num_lookups: int = 0,
        *,
        mode: Mode | None = None,
    ) -> StepTime:
        """Seconds of a step that runs the draft passes, or looks up the drafts of some sequences, and then verifies.

        Args:
            target_pass, draft_passes: what runs.
            num_lookups: sequences whose drafts are looked up.
            mode: how the target's pass is launched; None: as the engine's graphs have it.
        """
        draft, num_draft_passes = 0.0, 0
        for draft_pass in draft_passes:
            draft += self.draft_seconds(draft_pass)
            num_draft_passes += not draft_pass.corrected_rows  # corrections are launched with the pass before them
        host = (
            self._per_step
            + self._per_sequence * target_pass.sequences
            + self._per_verified_row * target_pass.logit_rows
            + self._per_draft_pass * num_draft_passes
            + (0.0 if num_draft_passes else self._idle)
        )
        if num_lookups:
            host += self._per_lookup_step + self._per_lookup * num_lookups
        return StepTime(*self._target_time(target_pass, mode), draft, host)

    def _target_time(self, work: Pass, mode: Mode | None) -> PassTime:
        """Of the target's pass; where the host takes longer to launch its kernels, the wait counts as launching."""
        graphs = self._graphs
        if graphs is None or not work.tokens:
            return self._target.price(work)
        padded = graphs.padded(work.tokens)
        if mode is None:
            mode = "eager" if padded is None else "piecewise" if work.prompt_query_context else "graph"
        per_layer = {"graph": None, "piecewise": graphs.piecewise_time_per_layer, "eager": graphs.eager_time_per_layer}
        time = self._target.price(work if mode == "eager" or padded is None else work._replace(tokens=padded))
        waiting = self._target.num_layers * (per_layer[mode] or 0.0) - sum(time)
        return time._replace(launch=time.launch + max(waiting, 0.0))

    def launched(self, work: Pass) -> Pass:
        """The target's pass as it is launched: padded to the graph that replays it."""
        padded = self._graphs.padded(work.tokens) if self._graphs and work.tokens else None
        return work if padded is None else work._replace(tokens=padded)

    def draft_seconds(self, draft_pass: Pass) -> float:
        """Device seconds of one draft pass."""
        return sum(self.draft_time(draft_pass))

    def draft_time(self, draft_pass: Pass) -> PassTime:
        """Device seconds of one draft pass, by part."""
        if self._drafter is None:
            raise ValueError("a draft pass was asked of a deployment without a drafter")
        return self._drafter.price(draft_pass)
