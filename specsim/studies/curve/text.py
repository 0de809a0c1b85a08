"""What a person reads of a curve: the answer in sentences, and a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text

from specsim.analysis.crossings import Crossing, Crossings
from specsim.inputs.models.scenario import Scenario
from specsim.reporting.columns import Table, shown, verdict_colour
from specsim.reporting.fleet import fleet_words
from specsim.reporting.wording import drafts, from_to, listed, pays_throughout
from specsim.studies.curve.run import CurveResult
from specsim.studies.curve.waiting import Binding
from specsim.studies.shared.limits import BUDGET, CACHE, PLACES
from specsim.studies.shared.model_error import luck_and_model
from specsim.units import plural


def curve_sentences(scenario: Scenario, result: CurveResult) -> list[str]:
    """The sentences the user came for, the most important first."""
    repeats = plural(scenario.curve.replications, "paired run")
    below = f"Below: output tokens/s in steady state, and speedup at equal concurrency ± 95 % interval ({repeats})."
    if result.missing:
        return [
            f"Interrupted, no verdict: {missing(scenario, result)}.",
            *limits(scenario, result),
            below,
        ]
    k = featured_draft_length(scenario, result)
    off = "" if scenario.speculation.policy.num_draft_tokens else "Speculation is off in this scenario; if it were on: "
    return [
        f"{off}{headline(scenario, result)}{_consequence(result.crossings[k], _speedups(result, k))}."
        + "".join(f" {_free(batch)}" for length, batch in result.free_batch.items() if length == k),
        _best(scenario, result),
        *([result.model_error.sentence] if result.model_error else []),
        *limits(scenario, result),
        *(["Interrupted: crossings come from the batches below alone and were not refined."] * result.interrupted),
        below,
    ]


def missing(scenario: Scenario, result: CurveResult) -> str:
    """How much of the grid an interruption left out, or that it left out what comes after the grid."""
    if not result.missing:
        return "batches near the crossings missing"
    number = len(scenario.curve.batches) * (1 + len(scenario.compared_draft_lengths))
    batches = sorted({point.batch for point in result.missing})
    return f"{len(result.missing)} of {number} points missing, at batch {', '.join(map(str, batches))}"


def featured_draft_length(scenario: Scenario, result: CurveResult) -> int:
    """The draft length that the answer is about: the policy's; where that is none, the one that gains most overall."""
    asked = scenario.speculation.policy.num_draft_tokens
    return asked or max(result.crossings, key=lambda k: float(np.log(_speedups(result, k)).mean()))


def headline(scenario: Scenario, result: CurveResult, *, model: bool = True) -> str:
    """The answer in a clause, without a full stop; ``model``: whether the model's error is said."""
    k = featured_draft_length(scenario, result)
    batches = _speedups(result, k).index
    larger = " (larger ones do not run at once)" if batches.max() < result.batches[-1] else ""
    said = pays(
        result.crossings[k], from_to(batches.min(), batches.max()), result.model_crossings(k) if model else None
    )
    return f"{_who(scenario, k)} {said}{larger}"


def pays(found: Crossings, batches: str, model: Crossings | None = None) -> str:
    """Where speculation pays, as what stands after "speculation".

    Args:
        found: what a curve says.
        batches: that were simulated, in words.
        model: what the band of the model's error says; None without one.
    """
    if not (found.pays or found.costs or found.undecided):
        return "is not judged: at every batch simulated some requests wait; write smaller ones in curve.batches"
    if found.verdict in ("always pays", "never pays"):
        return pays_throughout(batches, pays=found.verdict == "always pays")
    established = [crossing for crossing in found.crossings if crossing.established]
    if not established:
        return _undecided(found, batches)
    if len(established) == 1 and established[0].stops_paying:
        return f"pays up to batch {_with_model(established[0], model) if model else established[0]}"
    return ", ".join(f"{'stops' if c.stops_paying else 'starts'} paying at batch {c}" for c in established)


def _with_model(found: Crossing, model: Crossings) -> str:
    """``220 (95 % luck 218–222, 90 % model 150 to 310)``."""
    assert found.low is not None
    assert found.high is not None
    around = next((span for span in model.undecided if span.low <= found.batch <= span.high), None)
    low, high = (around.low, around.high) if around else (found.low, found.high)
    last = max(span.high for span in (*model.pays, *model.costs, *model.undecided))
    ends = f"{math.floor(low)}", f"beyond {last:.0f}" if high == last else f"{math.ceil(high)}"
    return f"{found.batch:.0f} {luck_and_model(f'{math.floor(found.low)}–{math.ceil(found.high)}', *ends)}"


def _who(scenario: Scenario, k: int) -> str:
    tree = " of the tree" if scenario.speculation.tree else ""
    return f"With {drafts(scenario, k)}{tree} speculation"


def _consequence(found: Crossings, speedups: pd.Series[float]) -> str:
    """What follows from the headline: how much is gained or lost."""
    if found.verdict == "always pays":
        return f": {_gains(speedups)}"
    if found.verdict == "never pays":
        return f": it costs {_losses(speedups)}"
    established = [crossing for crossing in found.crossings if crossing.established]
    if not established:
        return "; run more replications" if found.undecided else ""
    if len(established) == 1 and established[0].stops_paying:
        return f"; beyond, it costs up to {_loss(speedups[speedups.index > established[0].batch].min())}"
    return ""


def _speedups(result: CurveResult, k: int) -> pd.Series[float]:
    """Batch → speedup, among those that run at once; all of them where none does."""
    rows = result.points[result.points["num_draft_tokens"] == k].set_index("batch")["speedup"]
    return rows[rows.index.isin(result.running or result.batches)]


def _undecided(found: Crossings, batches: str) -> str:
    """Where paying or costing is clear, although no crossing is."""
    sides = [(span, "pays") for span in found.pays] + [(span, "costs") for span in found.costs]
    clear = [
        f"clearly {verb} at batch {from_to(math.ceil(span.low), math.floor(span.high))}"
        for span, verb in sorted(sides, key=lambda side: side[0].low)
    ]
    elsewhere = "elsewhere" if clear else f"at batch {batches}"
    return ", ".join([*clear, f"is undecided {elsewhere}"])


def _gains(speedups: pd.Series[float]) -> str:
    return from_to(*(f"{speedup:.2f}×" for speedup in (speedups.min(), speedups.max())))


def _losses(speedups: pd.Series[float]) -> str:
    return from_to(_loss(speedups.max()), _loss(speedups.min()))


def _loss(speedup: float) -> str:
    return f"{100 * (1 - speedup):.0f} %"


def _free(batch: int | None) -> str:
    if batch is None:
        return "Verifying is never free here: more tokens activate more experts, whose weights must be read."
    if batch < 1:
        return "Verifying is never free here: one request's tokens already saturate compute."
    return f"Verifying stops being free near batch {batch}."


def _best(scenario: Scenario, result: CurveResult) -> str:
    """The best draft length by batch, runs of equal ones together."""
    return f"Best number of {drafted(scenario)} by batch: {by_batch(result.best_draft_lengths())}."


def drafted(scenario: Scenario) -> str:
    """What a draft length counts."""
    return "levels of the tree" if scenario.speculation.tree else "draft tokens"


def by_batch(best: pd.Series[int]) -> str:
    """``5 from 1 to 16; 3 at 32; none at 64``: batch → draft length, runs of equal ones together."""
    runs = [(k, [batch for batch, _ in run]) for k, run in groupby(best.items(), key=lambda item: item[1])]
    return "; ".join(f"{k or 'none'} {_range(batches)}" for k, batches in runs)


def _range(batches: list[object]) -> str:
    return f"at {batches[0]}" if len(batches) == 1 else f"from {batches[0]} to {batches[-1]}"


def limits(scenario: Scenario, result: CurveResult) -> Iterator[str]:
    """What the reader must know to read the numbers right."""
    if scenario.fleet is not None:
        yield f"Batches and output tokens/s are of the whole fleet: {fleet_words(scenario.fleet)}."
    yield from map(partial(_waits, scenario, result), result.waiting)
    simulated = set(result.points["batch"])
    if any(batch in simulated and batch not in result.running for batch in result.batches):
        yield "No break-even is sought where not all run at once."
    yield from result.run_lengths
    yield from result.notes


def _waits(scenario: Scenario, result: CurveResult, found: Binding) -> str:
    """From which batch on how many requests run, and what the others wait for."""
    first, simulated = found.batches[0], {int(batch) for batch in result.points["batch"]}
    onwards = len(found.batches) > 1 and set(found.batches) == {batch for batch in simulated if batch >= first}
    where = f"From batch {first} on" if onwards else f"At batch {listed([str(batch) for batch in found.batches])}"
    lengths, drafting = {0, *scenario.compared_draft_lengths}, ""
    if set(found.num_draft_tokens) == lengths - {0}:
        drafting = " with drafts"
    elif found.num_draft_tokens == (0,):
        drafting = " without drafts"
    elif set(found.num_draft_tokens) != lengths:
        drafting = f" with {listed([str(k) for k in found.num_draft_tokens])} {drafted(scenario)}"
    run = from_to(*(f"{running:.0f}" for running in found.running))
    everywhere = "" if scenario.fleet is None else " of all replicas"
    why = {
        PLACES: f"the engine's {found.room:,} places{everywhere} are taken ({found.setting})",
        BUDGET: f"the engine's {found.room:,} tokens of a step{everywhere} are taken ({found.setting})",
        CACHE: f"the KV cache of {found.room:,} tokens{everywhere} is full",
    }
    return f"{where}, {run} requests run at once{drafting} and the rest wait: {why[found.limit]}."


def curve_table(scenario: Scenario, result: CurveResult) -> Table[int]:
    """Batch by draft length: output tokens/s without and with speculation, speedup ± its 95 % interval."""
    points: dict[Any, Any] = {(row.batch, row.num_draft_tokens): row for row in result.points.itertuples()}
    return Table(
        rows=[batch for batch in scenario.curve.batches if (batch, 0) in points],  # an interrupted curve lacks some
        columns=[
            shown("batch", str),
            shown("without", lambda batch: f"{points[batch, 0].tokens_per_s:,.0f}"),
            *(shown(drafts(scenario, k), partial(_cell, points, k)) for k in scenario.compared_draft_lengths),
        ],
    )


def _cell(points: Mapping[Any, Any], k: int, batch: int) -> str | Text:
    row = points.get((batch, k))
    if row is None:
        return ""
    half = (row.speedup_high - row.speedup_low) / 2
    return Text.assemble(f"{row.tokens_per_s:,.0f} ", (f"{row.speedup:.2f}±{half:.2f}", verdict_colour(row)))
