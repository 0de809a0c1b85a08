"""Single steps of a table, priced by the cost model that the engine uses, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from specsim.costs.extrapolation import Extrapolation
from specsim.drafting.drafters import catch_up_tokens, draft_passes
from specsim.drafting.shape import chain
from specsim.errors import InputError, Problem, SpecsimError, raise_if_any
from specsim.forward import Pass, Reach, attended
from specsim.inputs.measured.steps import LocatedStep, Step
from specsim.inputs.models.drafters import ModelDrafter, NgramLookup
from specsim.inputs.read.scenario import Inputs, load_scenario
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.validate.bounds import Fastest, fastest_step, impossible_step
from specsim.studies.accuracy.validate.measured import BASE, deployment_overrides, drafter_overrides, why_not


@dataclass(frozen=True)
class PricedStep:
    """A measured step and its price.

    Attributes:
        line: of the row in its file.
        row: what was measured.
        ms: the predicted time; None where it could not be priced.
        reason: why it could not; empty where it could.
        beyond: under what it was priced, and what of it lies beyond the ranges that the figures were measured over.
    """

    line: int
    row: Step
    ms: float | None
    reason: str
    beyond: tuple[Inputs, Extrapolation | None] | None = None


Steps = Mapping[str, Sequence[PricedStep]]
"""Name of a table → its steps."""


def price_steps(rows: Sequence[LocatedStep], *, where: str, scenario: str | None = None) -> tuple[PricedStep, ...]:
    """Price every step that can be.

    Where the engine profile does not say what launching costs, all steps are priced as if replayed as a graph.

    Args:
        rows: of one table.
        where: the table, for messages.
        scenario: what rows are laid over; without it each row names device, engine and model itself.

    Raises:
        InputError: when not one step can be priced, or steps are faster than any device.
    """
    simulations: dict[tuple[bool, tuple[str, ...]], Simulation | str] = {}
    fastest: dict[tuple[tuple[str, ...], bool], Fastest] = {}
    priced, problems = [], list[Problem]()
    for line, row in rows:
        speculating = row.num_draft_tokens > 0
        overrides = (*deployment_overrides(row), *drafter_overrides(row, speculating=speculating))
        if (speculating, overrides) not in simulations:
            simulations[speculating, overrides] = _simulation(row, overrides, scenario)
        found = simulations[speculating, overrides]
        if isinstance(found, str):
            priced.append(PricedStep(line, row, None, found))
        else:
            beyond = found.inputs, found.extrapolation(step_reach(row))
            priced.append(PricedStep(line, row, 1e3 * step_seconds(found, row), "", beyond))
            logits = row.logit_rows != 0
            if (overrides, logits) not in fastest:
                fastest[overrides, logits] = fastest_step(found.inputs, logits=logits)
            problems += impossible_step(where, line, row.ms, fastest[overrides, logits])
    raise_if_any(problems)
    if all(step.ms is None for step in priced):
        reasons = sorted({step.reason for step in priced})
        raise InputError(Problem(where, "", "", f"no step can be priced: {why}") for why in reasons)
    return tuple(priced)


def lacking_of(row: Step) -> str:
    """What a row has to say before it can be priced without a scenario; empty where nothing lacks."""
    names = {"use_device": row.use_device, "use_engine": row.use_engine, "use_model": row.use_model}
    names |= {"use_drafter": row.use_drafter} if row.num_draft_tokens else {}
    return ", ".join(f"no {name}" for name, value in names.items() if not value)


def _simulation(row: Step, overrides: tuple[str, ...], scenario: str | None) -> Simulation | str:
    """What prices the row, or why nothing does."""
    if scenario is None and (lacking := lacking_of(row)):
        return lacking
    try:
        simulation = Simulation(load_scenario(scenario or BASE, overrides))
    except SpecsimError as error:
        return why_not(error)
    if row.num_draft_tokens and simulation.inputs.scenario.speculation.tree:
        return "the scenario drafts trees, and num_draft_tokens of a step says how long a chain is"
    return simulation


def step_reach(row: Step) -> Reach:
    """How far a step goes."""
    queries, contexts = row.per_request()
    return Reach(sum(queries), row.requests, sum(contexts))


def step_seconds(simulation: Simulation, row: Step) -> float:
    """The price of a step [s]: of the target's pass alone, or with drafting and host."""
    speculating, drafter = row.num_draft_tokens > 0, simulation.inputs.scenario.speculation.drafter
    cost, verify = simulation.step_cost(speculating), _target_pass(row)
    if not speculating:
        parts = cost.price(verify, mode=row.mode)
    elif isinstance(drafter, NgramLookup):
        parts = cost.price(verify, num_lookups=row.requests, mode=row.mode)
    else:
        parts = cost.price(
            verify,
            _draft_passes(drafter, row, first_pass_over_verified=simulation.first_pass_over_verified),
            mode=row.mode,
        )
    return sum(parts) - parts.host - parts.draft if row.measured == "forward" else sum(parts)


def _target_pass(row: Step) -> Pass:
    queries, contexts = row.per_request()
    tokens = sum(queries)
    pairs = sum(attended(query, context) for query, context in zip(queries, contexts, strict=True))
    rows = tokens if row.logit_rows is None else row.logit_rows
    verifying = sum(context for query, context in zip(queries, contexts, strict=True) if query > 1)
    return Pass(tokens, rows, row.requests, sum(contexts), pairs, verify_context=verifying)


def _draft_passes(drafter: ModelDrafter, row: Step, *, first_pass_over_verified: bool) -> Iterable[Pass]:
    """The drafter's passes before a verify; it starts from the context without this step's drafts."""
    wanted = np.full(row.requests, row.num_draft_tokens)
    emitted = 1 + row.num_draft_tokens / 2 if row.acceptance_length is None else row.acceptance_length
    accepted = np.full(row.requests, round(emitted - 1))
    catch_up = catch_up_tokens(drafter, accepted, accepted == wanted, wanted + 1 if first_pass_over_verified else None)
    contexts = np.array(row.per_request()[1]) - row.num_draft_tokens
    return draft_passes(drafter, chain(row.num_draft_tokens), wanted, catch_up, contexts)
