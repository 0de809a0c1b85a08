"""The files of a map: what ``specsim map`` leaves in its folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.deployment import deployment_words
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.inputs import provenance_json, resolved_scenario
from specsim.reporting.style import no_math, png_bytes, svg_bytes
from specsim.reporting.text import as_text
from specsim.reporting.wording import drafts
from specsim.studies.curve.text import drafted
from specsim.studies.map.figure import BreakEven, map_figure
from specsim.studies.map.run import MapResult
from specsim.studies.map.tables import map_tables
from specsim.studies.map.text import cells_of, headline


def map_files(inputs: Inputs, result: MapResult, sentences: Sequence[str]) -> Mapping[str, Writer]:
    """File name → what writes it; no figure of a map that lacks contexts.

    Args:
        inputs: what was simulated.
        result: what came out.
        sentences: the answer, as printed.
    """
    files = {
        "map.csv": table_writer(result.cells),
        "breakeven.csv": table_writer(pd.DataFrame(_break_evens(result))),
        "answer.txt": text_writer(as_text(sentences, *map_tables(inputs, result))),
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(
            provenance_json(inputs, extrapolation_sentence([(inputs, result.extrapolation)]))
        ),
    }
    if result.missing:
        return files
    figure = figure_of(inputs, result)
    return files | {"map.png": bytes_writer(png_bytes(figure)), "map.svg": bytes_writer(svg_bytes(figure))}


def _break_evens(result: MapResult) -> Iterator[dict[str, Any]]:
    """A row for each context, draft length and crossing; one without a batch where there is no crossing."""
    for (context, k), found in result.crossings.items():
        row: dict[str, Any] = {"context": context, "num_draft_tokens": k, "verdict": found.verdict}
        row |= {"smallest_batch": result.batches[0], "largest_batch": result.largest_running(context)}
        nothing = {"batch": math.nan, "batch_low": math.nan, "batch_high": math.nan, "stops_paying": ""}
        if not found.crossings:
            yield row | nothing
        for one in found.crossings:
            ends = {"batch_low": one.low, "batch_high": one.high}
            yield row | {"batch": one.batch, **ends, "stops_paying": one.stops_paying}


def figure_of(inputs: Inputs, result: MapResult) -> Figure:
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
        title=no_math(headline(scenario, result)),
        subtitle=no_math(deployment_words(inputs)),
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
