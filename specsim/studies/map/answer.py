"""A map's answer whole: sentences, the tables that are read, the tables behind them, and the figure."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from specsim.analysis.crossings import Crossing, Crossings
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import Column, Described, FrameTable, Table, crossing_columns, interval_described
from specsim.reporting.deployment import deployment_words
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.inputs import input_files, source_sentences
from specsim.reporting.publish import Answer
from specsim.reporting.wording import drafts
from specsim.studies.curve.text import drafted
from specsim.studies.map.changes import changes
from specsim.studies.map.figure import BreakEven, map_figure
from specsim.studies.map.run import MapResult
from specsim.studies.map.text import cells_of, headline, map_sentences, map_tables, missing

CELL_COLUMNS: Described = {
    "context": ("tokens", "mean context of a request in mid-decode"),
    "batch": ("requests", "requests in flight"),
    "num_draft_tokens": ("tokens", "draft tokens per verify, or levels of the tree; 0 without speculation"),
    **interval_described("tokens_per_s", "tokens/s", "output tokens per second in the steady window"),
    **interval_described("speedup", "", "output tokens/s over that without speculation at the same batch, paired"),
    "closed_form_speedup": ("", "speedup on paper; empty where not all requests run at once"),
    "mean_running_batch": ("requests", "requests in a step, mean"),
    "all_run": ("", "whether all requests in flight run at once, whatever is drafted"),
    "limit": ("", "what those that wait wait for: max_num_seqs, max_num_batched_tokens or KV cache"),
    **interval_described("acceptance_length", "tokens", "tokens per verify, the recovered or bonus token included"),
    **interval_described("required_tokens", "tokens", "tokens per verify from which on speculation pays"),
    **interval_described("required_overlap", "", "constant acceptance α of a chain that yields as many"),
}


class BreakEvenRow(NamedTuple):
    """A crossing of 1.0 at a context with a draft length; None where there is none."""

    context: int
    num_draft_tokens: int
    found: Crossings
    crossing: Crossing | None


def map_answer(inputs: Inputs, result: MapResult) -> Answer:
    """What ``specsim map`` prints and writes; no figure of a map that lacks contexts."""
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    return Answer(
        sentences=[*map_sentences(inputs, result), *source_sentences(inputs)],
        tables=[
            *map_tables(inputs, result),
            FrameTable(result.cells, CELL_COLUMNS, "map.csv"),
            break_even_table(result),
        ],
        figures={} if result.missing else {"map": draw(inputs, result)},
        files=input_files(inputs, warning),
        warning=warning,
        partial=missing(result) if result.interrupted else "",
    )


def break_even_table(result: MapResult) -> Table[BreakEvenRow]:
    """A row for each context, draft length and crossing; one without a batch where there is no crossing."""
    return Table(
        rows=[
            BreakEvenRow(context, k, found, one)
            for (context, k), found in result.crossings.items()
            for one in (found.crossings or (None,))
        ],
        columns=[
            Column("context", lambda row: row.context, *CELL_COLUMNS["context"]),
            Column("num_draft_tokens", lambda row: row.num_draft_tokens, "tokens", "draft tokens per verify"),
            Column("verdict", lambda row: row.found.verdict, "", "whether speculation pays, over the batches that run"),
            Column("smallest_batch", lambda row: result.batches[0], "requests", "smallest batch of the grid"),
            Column(
                "largest_batch",
                lambda row: result.largest_running(row.context),
                "requests",
                "largest batch that runs at once",
            ),
            *crossing_columns("batch", "batch", lambda row: row.crossing, "where the speedup passes 1.0"),
            Column(
                "stops_paying",
                lambda row: row.crossing.stops_paying if row.crossing else "",
                description="whether speculation stops paying there, or starts",
            ),
        ],
        file="breakeven.csv",
    )


def draw(inputs: Inputs, result: MapResult) -> Figure:
    """The map drawn."""
    scenario, k = inputs.scenario, result.featured
    found = {
        context: [
            BreakEven(one.batch, one.low, one.high, one.stops_paying)
            for one in result.crossings[context, k].crossings
            if one.low is not None and one.high is not None
        ]
        for context in result.decided
    }
    return map_figure(
        _grid(result),
        found,
        changes=list(changes(result)),
        title=headline(scenario, result),
        subtitle=deployment_words(inputs),
        speedup_name=f"speedup with {drafts(scenario, k)} (output tokens/s, equal batch)",
        best_name=f"best number of {drafted(scenario)}",
    )


def _grid(result: MapResult) -> pd.DataFrame:
    """What is drawn, a row for each context and batch of the grid."""
    cells = cells_of(result, result.featured)
    best = {context: result.best_draft_lengths(context) for context in result.decided}
    rows: list[dict[str, Any]] = []
    for context, batch in product(result.contexts, result.batches):
        cell: Any = cells.get((context, batch))
        runs = cell is not None and cell.all_run
        drawn = {"speedup": cell.speedup, "best": best[context][batch]} if runs else {}
        rows.append(
            {"context": context, "batch": batch, "all_run": runs, "speedup": math.nan, "best": math.nan} | drawn
        )
    return pd.DataFrame(rows)
