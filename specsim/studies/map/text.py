"""What a person reads of a map: where speculation pays, with which drafts, and what it takes to pay; and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

from rich.text import Text

from specsim.inputs.models.drafters import NgramLookup
from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import Column, Table, shown, verdict_colour
from specsim.reporting.wording import drafts, from_to, listed
from specsim.simulation.expected import mean_context
from specsim.simulation.replica import Simulation
from specsim.studies.curve.text import by_batch, drafted, pays
from specsim.studies.map.changes import changes
from specsim.studies.map.run import MapResult


def map_sentences(inputs: Inputs, result: MapResult) -> list[str]:
    """The answer, the most important first."""
    scenario = inputs.scenario
    return [
        f"{headline(scenario, result)}.",
        *([f"Interrupted: {missing(result)}."] * result.interrupted),
        _best(scenario, result),
        _needed(inputs, result),
        *_changing(result),
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


def _changing(result: MapResult) -> Iterator[str]:
    """Between which contexts speculation starts or stops paying at the same batch."""
    for (lower, upper, pays_above), found in groupby(changes(result), key=lambda one: one[1:]):
        verb, batches = "starts" if pays_above else "stops", listed([str(one.batch) for one in found])
        yield f"Between {lower:,} and {upper:,} tokens of context it {verb} paying at batch {batches}."


def _waiting(result: MapResult) -> Iterator[str]:
    waiting = result.cells[result.cells["limit"] != ""].sort_values(["context", "batch", "num_draft_tokens"])
    if waiting.empty:
        return
    first = waiting.groupby("context")[["batch", "limit"]].first()
    spans = [
        (limit, [context for context, *_ in span])
        for limit, span in groupby(first.itertuples(), lambda row: (row.batch, row.limit))
    ]
    found = [
        f"{batch} at {from_to(f'{contexts[0]:,}', f'{contexts[-1]:,}')} tokens ({limit})"
        for (batch, limit), contexts in spans
    ]
    yield (
        "From these batches on some requests wait, for the limit in brackets: "
        f"{', '.join(found)}. There a batch is not what it says, and the map is hatched."
    )


def _cells(scenario: Scenario, result: MapResult) -> str:
    """What a cell is."""
    outputs = sorted({lengths.output_tokens for lengths in result.lengths.values()})
    classes = ", of the scenario's classes" if scenario.workload.mixture else ""
    return (
        f"Each cell is a closed loop of that many requests{classes}. Each request decodes "
        f"{from_to(outputs[0], outputs[-1])} tokens around that context; its prompt is in the cache and costs nothing."
    )


def _policy(scenario: Scenario) -> Iterator[str]:
    policy = scenario.speculation.policy
    if not isinstance(policy, StaticPolicy):
        yield f"The policy ({policy.kind}) is left aside: every length is drafted in every step."


def map_tables(inputs: Inputs, result: MapResult) -> list[Table[Any]]:
    """Speedups, tokens per verify that speculation takes to pay, and these beside what there is at one context."""
    drafted = drafts(inputs.scenario, result.featured)
    context, rows = typical_context(inputs, result), cells_of(result, result.featured)
    speedups = Table[int | None](
        rows=[*result.batches, None],
        columns=_by_context(result, _speedup, _up_to),
        title=f"speedup with {drafted}, by tokens of context",
        sections=[len(result.batches)],
    )
    if isinstance(inputs.scenario.speculation.drafter, NgramLookup):  # whose tokens per verify do not say if they pay
        return [speedups]
    needed = Table[int | None](
        rows=result.batches,
        columns=_by_context(result, _needed_tokens),
        title=f"tokens per verify from which on {drafted} pay, by tokens of context",
    )
    here = (rows.get((context, batch)) for batch in result.batches)
    beside = Table[Any](
        rows=[row for row in here if row and row.all_run],
        columns=[
            shown("batch", lambda row: str(row.batch)),
            shown("tokens per verify needed", lambda row: _interval(row, "required_tokens")),
            shown("α needed", _overlap),
            shown("tokens per verify", lambda row: _interval(row, "acceptance_length")),
            shown("speedup", _speedup),
        ],
        title=f"at {context:,} tokens of context",
    )
    return [speedups, needed, beside]


def _by_context(
    result: MapResult, cell: Callable[[Any], Text], last: Callable[[MapResult, int], str] | None = None
) -> list[Column[int | None]]:
    """A column for each context, whose rows are batches, and None for the last where there is one."""
    rows = cells_of(result, result.featured)

    def of(context: int, batch: int | None) -> str | Text:
        if batch is None:
            return last(result, context) if last else ""
        row = rows.get((context, batch))
        # of a batch of which some wait, how many run; nothing of larger ones, which are not simulated
        return cell(row) if row and row.all_run else f"{row.mean_running_batch:.0f} run" if row else ""

    first: Column[int | None] = shown("batch", lambda batch: "pays up to" if batch is None else str(batch))
    return [first, *(shown(f"{context:,}", partial(of, context)) for context in result.contexts)]


def _speedup(row: Any) -> Text:
    return Text(f"{row.speedup:.2f}±{(row.speedup_high - row.speedup_low) / 2:.2f}", verdict_colour(row))


def _needed_tokens(row: Any) -> Text:
    """Green where there are as many."""
    if row.required_tokens > row.num_draft_tokens + 1:
        return Text(f"{row.required_tokens:.2f}: never", "red")
    return Text(f"{row.required_tokens:.2f}", verdict_colour(row))


def _up_to(result: MapResult, context: int) -> str:
    """The crossings that are established, or on which side all batches that run lie; nothing where none does."""
    if context not in result.decided:
        return ""
    found = result.crossings[context, result.featured]
    if found.verdict == "crosses":
        established = [crossing for crossing in found.crossings if crossing.established]
        return ", ".join(f"{'' if one.stops_paying else 'again from '}{one}" for one in established)
    largest = result.largest_running(context)
    return {"always pays": f"{largest} (all)", "never pays": "none"}.get(found.verdict, "undecided")


def _overlap(row: Any) -> str:
    if row.required_tokens > row.num_draft_tokens + 1:
        return "none suffices"
    if math.isnan(row.required_overlap):
        return ""
    high = 1.0 if math.isnan(row.required_overlap_high) else row.required_overlap_high
    return f"{row.required_overlap:.3f} [{row.required_overlap_low:.3f}, {high:.3f}]"


def _interval(row: Any, name: str) -> str:
    estimate, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    return f"{estimate:.2f} [{low:.2f}, {high:.2f}]"
