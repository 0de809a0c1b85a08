"""What a person reads of a map: where speculation pays, with which drafts, and what it takes to pay; and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.wording import drafts, from_to
from specsim.simulation.expected import mean_context
from specsim.simulation.replica import Simulation
from specsim.studies.curve.text import by_batch, drafted, pays
from specsim.studies.map.run import MapResult


def map_sentences(inputs: Inputs, result: MapResult) -> list[str]:
    """The answer, the most important first."""
    scenario = inputs.scenario
    return [
        f"{headline(scenario, result)}.",
        *([f"Interrupted: {missing(result)}."] * result.interrupted),
        _best(scenario, result),
        _needed(inputs, result),
        *_waiting(result),
        _cells(scenario, result),
        *result.notes,
        *_policy(scenario),
    ]


def headline(scenario: Scenario, result: MapResult) -> str:
    """The answer in a clause, without a full stop."""
    k, contexts = result.featured, result.decided
    found = [pays(result.crossings[context, k], _batches(result, context)) for context in contexts]
    what = f"speculation with {drafts(scenario, k)}{' of the tree' if scenario.speculation.tree else ''}"
    if len(contexts) > 1 and len(set(found)) == 1:
        clause = f"{what} {found[0]}, whatever the context, {contexts[0]:,} to {contexts[-1]:,} tokens"
    else:
        clause = f"at {contexts[0]:,} tokens of context {what} {found[0]}"
        clause += f"; at {contexts[-1]:,} tokens it {found[-1]}" if len(contexts) > 1 else ""
    if scenario.speculation.policy.num_draft_tokens:
        return clause[0].upper() + clause[1:]
    return f"Speculation is off in this scenario; if it were on: {clause}"


def _batches(result: MapResult, context: int) -> str:
    """That all run at once at a context."""
    return from_to(result.batches[0], result.largest_running(context))


def missing(result: MapResult) -> str:
    """What an interruption left out."""
    if not result.missing:
        return "batches near the last context's break-even are missing"
    contexts = ", ".join(f"{context:,}" for context in result.missing)
    number = len(result.missing) + len(result.contexts)
    return f"{len(result.missing)} of {number} contexts are missing: {contexts} tokens"


def _best(scenario: Scenario, result: MapResult) -> str:
    """The best draft lengths at the shortest and the longest context."""
    ends = dict.fromkeys((result.decided[0], result.decided[-1]))
    found = [f"at {context:,} tokens {by_batch(result.best_draft_lengths(context))}" for context in ends]
    return f"Best number of {drafted(scenario)} by batch: {', and '.join(found)}."


def _needed(inputs: Inputs, result: MapResult) -> str:
    """What it takes to pay at the load that the scenario is about."""
    context, k = typical_context(inputs, result), result.featured
    batch = min(_typical_batch(inputs.scenario, result), result.largest_running(context))
    row = cells_of(result, k)[context, batch]
    where = f"At batch {batch} and {context:,} tokens of context speculation with {drafts(inputs.scenario, k)}"
    if math.isnan(row.required_tokens):
        return "What acceptance it takes to pay is not said: lookups that find nothing leave steps without a verify."
    if row.required_tokens > k + 1:
        most = f"it would take {row.required_tokens:.2f} tokens per verify, and there are {k + 1} at most"
        return f"{where} cannot pay: {most}."
    alpha = "" if math.isnan(row.required_overlap) else f" (α ≥ {row.required_overlap:.2f})"
    return (
        f"{where} pays from {row.required_tokens:.2f} [{row.required_tokens_low:.2f}, {row.required_tokens_high:.2f}] "
        f"tokens per verify on{alpha}; it gets {row.acceptance_length:.2f}."
    )


def cells_of(result: MapResult, num_draft_tokens: int) -> dict[tuple[int, int], Any]:
    """(context, batch) → the row of its cell with a draft length."""
    rows = result.cells[result.cells["num_draft_tokens"] == num_draft_tokens]
    found: list[Any] = list(rows.itertuples())
    return {(row.context, row.batch): row for row in found}


def typical_context(inputs: Inputs, result: MapResult) -> int:
    """The context of the map that is nearest to the mean of the scenario's own requests in mid-decode."""
    own = mean_context(Simulation(inputs))
    return min(result.decided, key=lambda context: abs(math.log(context / own)))


def _typical_batch(scenario: Scenario, result: MapResult) -> int:
    """The batch of the map that is nearest to the scenario's closed loop; the middle one under other loads."""
    load = scenario.workload.load
    if not isinstance(load, ClosedLoop):
        return result.batches[len(result.batches) // 2]
    return min(result.batches, key=lambda batch: abs(math.log(batch / load.concurrency)))


def _waiting(result: MapResult) -> Iterator[str]:
    """Where requests wait for others."""
    waiting = result.cells[(result.cells["num_draft_tokens"] == 0) & ~result.cells["all_run"]]
    first = waiting.groupby("context")["batch"].min()
    if first.empty:
        return
    spans = [(batch, [context for context, _ in span]) for batch, span in groupby(first.items(), lambda item: item[1])]
    found = [f"{batch} at {from_to(f'{contexts[0]:,}', f'{contexts[-1]:,}')}" for batch, contexts in spans]
    yield (
        "Not all requests run at once, as memory and the engine's limits allow, from these batches on: "
        f"{', '.join(found)} tokens. There a batch is not what it says, and the map is hatched."
    )


def _cells(scenario: Scenario, result: MapResult) -> str:
    """What a cell is."""
    outputs = sorted({lengths.output_tokens for lengths in result.lengths.values()})
    classes = ", of the scenario's classes" if scenario.workload.mixture else ""
    return (
        f"Each cell is a closed loop of so many requests{classes}, which decode {from_to(outputs[0], outputs[-1])} "
        "tokens each around the context stated; their prompts are in the cache and cost nothing."
    )


def _policy(scenario: Scenario) -> Iterator[str]:
    policy = scenario.speculation.policy
    if not isinstance(policy, StaticPolicy):
        yield f"The policy ({policy.kind}) is left aside: every length is drafted in every step."
