"""The tables of a map: speedups, what speculation takes to pay, and these beside what there is at one context."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich.table import Table

from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.wording import drafts
from specsim.studies.map.run import MapResult
from specsim.studies.map.text import cells_of, typical_context


def map_tables(inputs: Inputs, result: MapResult) -> tuple[Table, ...]:
    """Speedups, tokens per verify that speculation takes to pay, and these beside what there is at one context."""
    scenario = inputs.scenario
    if scenario.speculation.drafter.facts.looks_up:  # whose tokens per verify do not say whether they pay
        return (speedup_table(scenario, result),)
    return speedup_table(scenario, result), needed_table(scenario, result), overlap_table(inputs, result)


def speedup_table(scenario: Scenario, result: MapResult) -> Table:
    """Batch by context: speedup ± its 95 % interval; and up to which batch speculation pays."""
    k = result.featured
    table = _by_context(f"speedup with {drafts(scenario, k)}, by tokens of context", result, _speedup)
    table.add_section()
    table.add_row("pays up to", *(_up_to(result, context) for context in result.contexts))
    return table


def needed_table(scenario: Scenario, result: MapResult) -> Table:
    """Batch by context: tokens per verify from which on speculation pays; green where there are as many."""
    title = f"tokens per verify from which on {drafts(scenario, result.featured)} pay, by tokens of context"
    return _by_context(title, result, _needed_tokens)


def _by_context(title: str, result: MapResult, cell: Callable[[Any], str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("batch", justify="right")
    for context in result.contexts:
        table.add_column(f"{context:,}", justify="right")
    rows = cells_of(result, result.featured)
    for batch in result.batches:
        found = (rows.get((context, batch)) for context in result.contexts)
        table.add_row(str(batch), *(cell(row) if row and row.all_run else _waits(row) for row in found))
    return table


def _waits(row: Any) -> str:
    """How many run of a batch of which others wait; nothing of larger ones, which are not simulated."""
    return f"{row.mean_running_batch:.0f} run" if row else ""


def _colour(row: Any) -> str:
    return "green" if row.speedup_low > 1 else "red" if row.speedup_high < 1 else "yellow"


def _speedup(row: Any) -> str:
    half = (row.speedup_high - row.speedup_low) / 2
    return f"[{_colour(row)}]{row.speedup:.2f}±{half:.2f}[/]"


def _needed_tokens(row: Any) -> str:
    if row.required_tokens > row.num_draft_tokens + 1:
        return f"[red]{row.required_tokens:.2f}: never[/]"
    return f"[{_colour(row)}]{row.required_tokens:.2f}[/]"


def _up_to(result: MapResult, context: int) -> str:
    """The crossings that are established, or on which side all batches that run lie; nothing where none does."""
    if context not in result.decided:
        return ""
    found = result.crossings[context, result.featured]
    if found.verdict == "crosses":
        established = [crossing for crossing in found.crossings if crossing.established]
        return ", ".join(f"{'' if one.stops_paying else 'again from '}{one}" for one in established).replace("[", "\\[")
    largest = result.largest_running(context)
    return {"always pays": f"{largest} (all)", "never pays": "none"}.get(found.verdict, "undecided")


def overlap_table(inputs: Inputs, result: MapResult) -> Table:
    """At the scenario's own context, by batch: what it takes to pay beside what there is."""
    context = typical_context(inputs, result)
    table = Table(title=f"at {context:,} tokens of context", title_justify="left")
    for header in ("batch", "tokens per verify needed", "α needed", "tokens per verify", "speedup"):
        table.add_column(header, justify="right")
    rows = cells_of(result, result.featured)
    for batch in result.batches:
        row = rows.get((context, batch))
        if row and row.all_run:
            needed, gets = _interval(row, "required_tokens"), _interval(row, "acceptance_length")
            table.add_row(str(batch), needed, _overlap(row), gets, _speedup(row))
    return table


def _overlap(row: Any) -> str:
    if row.required_tokens > row.num_draft_tokens + 1:
        return "none suffices"
    if math.isnan(row.required_overlap):
        return ""
    high = 1.0 if math.isnan(row.required_overlap_high) else row.required_overlap_high
    return f"{row.required_overlap:.3f} \\[{row.required_overlap_low:.3f}, {high:.3f}]"


def _interval(row: Any, name: str) -> str:
    estimate, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    return f"{estimate:.2f} \\[{low:.2f}, {high:.2f}]"
