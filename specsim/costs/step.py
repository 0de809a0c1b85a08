"""The time of one engine step: the target's pass, the drafter's passes and the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from specsim.arrays import fields_of
from specsim.costs.forms import HostTimes, StepForm
from specsim.costs.lowered import AS_CAPTURED, EAGER, GRAPH, PIECEWISE, PassTime, most_rows, price_step
from specsim.costs.passes import PassCost
from specsim.forward import Mode, Pass, passes_of
from specsim.inputs.models.drafters import NgramLookup, PassKind
from specsim.inputs.models.engine import Engine
from specsim.records import StepTime

NO_DRAFTER = "a draft pass was asked of a deployment without a drafter"
MODES: dict[Mode | None, int] = {None: AS_CAPTURED, "graph": GRAPH, "piecewise": PIECEWISE, "eager": EAGER}


class Pricing(Protocol):
    """What a replica asks for the time of a step."""

    def price(self, target_pass: Pass, draft_passes: Iterable[Pass] = (), num_lookups: int = 0) -> StepTime:
        """Time by part [s]; see ``StepCost.price``."""
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
        self._target, self._drafter = target, drafter
        self._graphs = engine.graphs if engine else None
        graphs, layers = self._graphs, target.num_layers
        self._host = HostTimes(
            per_step=engine.host_time_per_step if engine else 0.0,
            per_sequence=engine.host_time_per_sequence if engine else 0.0,
            per_verified_row=engine.host_time_per_verified_row if engine else 0.0,
            per_draft_pass=engine.draft_pass_time(kind) if engine else 0.0,
            per_lookup_step=lookup.host_time_per_step if lookup else 0.0,
            per_lookup=lookup.host_time_per_sequence if lookup else 0.0,
            per_verify=(engine.host_time_per_verify or 0.0) if engine else 0.0,
            idle=(engine.host_time_when_idle_drafter or 0.0) if engine and drafter else 0.0,
            graph_sizes=np.array(graphs.sizes if graphs else (), dtype=np.int64),
            eager=layers * graphs.eager_time_per_layer if graphs else 0.0,
            piecewise=layers * (graphs.piecewise_time_per_layer or 0.0) if graphs else 0.0,
        )

    def price(
        self,
        target_pass: Pass,
        draft_passes: Iterable[Pass] = (),
        num_lookups: int = 0,
        *,
        mode: Mode | None = None,
    ) -> StepTime:
        """Time by part of a step that runs the draft passes, or looks up drafts, and then verifies [s].

        Args:
            target_pass, draft_passes: the passes of the step.
            num_lookups: sequences whose drafts are looked up.
            mode: how the target's pass is launched; None: by the engine's graphs.

        Raises:
            ValueError: there are draft passes but no drafter.
        """
        passes_run = [target_pass, *draft_passes]
        if len(passes_run) > 1 and self._drafter is None:
            raise ValueError(NO_DRAFTER)
        passes, number = fields_of(passes_of(passes_run)), len(passes_run)
        form = self.form(most_rows(passes, number))
        return StepTime(*map(float, price_step(form, passes, number, num_lookups, MODES[mode])))

    def form(self, rows: int) -> StepForm:
        """The lowered form, with tables for passes of up to ``rows`` rows."""
        rows = max(rows, self._graphs.sizes[-1] if self._graphs else 0)
        target = self._target.form(rows)
        target_use = self._target.use.form(rows)
        return StepForm(
            rows,
            target,
            self._drafter.form(rows) if self._drafter else target,
            self._host,
            target_use,
            self._drafter.use.form(rows) if self._drafter else target_use,
            float(self._target.stages),
        )

    def launched(self, one: Pass) -> Pass:
        """The target's pass as launched: padded to the graph that replays it."""
        padded = self._graphs.padded(one.tokens) if self._graphs and one.tokens else None
        return one if padded is None else one._replace(tokens=padded)

    def draft_time(self, draft_pass: Pass) -> PassTime:
        """Device time of one draft pass, by part [s].

        Raises:
            ValueError: there is no drafter.
        """
        if self._drafter is None:
            raise ValueError(NO_DRAFTER)
        return self._drafter.price(draft_pass)
