"""The files of a sensitivity: what ``specsim sensitivity`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from specsim.analysis.crossings import Crossings
from specsim.figures.style import png_bytes, svg_bytes
from specsim.figures.tornado import End, TornadoBar, tornado_figure
from specsim.planner.sensitivity import SensitivityResult, break_even
from specsim.report.curve_files import plain, subtitle
from specsim.report.extrapolation import extrapolation_sentence
from specsim.report.folder import Writer, bytes_writer, table_writer, text_writer
from specsim.report.inputs import provenance_json, resolved_scenario
from specsim.report.sensitivity import ending, sensitivity_table
from specsim.report.text import as_text
from specsim.report.words import drafts
from specsim.schema.load import Inputs


def sensitivity_files(inputs: Inputs, result: SensitivityResult, sentences: Sequence[str]) -> Mapping[str, Writer]:
    """File name → what writes it.

    Args:
        inputs: what was asked of.
        result: what came out.
        sentences: the answer, as printed.
    """
    base = break_even(result.base)
    figure = tornado_figure(
        [TornadoBar(shift.name, _end(result, shift.lower), _end(result, shift.higher)) for shift in result.shifts],
        middle=base.batch if base else None,
        change=result.change,
        title=f"Up to which batch {drafts(inputs.scenario, result.num_draft_tokens)} "
        f"{'pay' if result.num_draft_tokens > 1 else 'pays'} if an input is {100 * result.change:g} % off",
        subtitle=plain(subtitle(inputs)),
    )
    return {
        "sensitivity.csv": table_writer(sensitivity_frame(result)),
        "sensitivity.png": bytes_writer(png_bytes(figure)),
        "sensitivity.svg": bytes_writer(svg_bytes(figure)),
        "answer.txt": text_writer(as_text(sentences, sensitivity_table(result))),
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(
            provenance_json(inputs, extrapolation_sentence([(inputs, result.extrapolation)]))
        ),
    }


def _end(result: SensitivityResult, found: Crossings) -> End | None:
    """Where a bar ends: at the break-even, or at the last batch simulated; nowhere where runs leave it open."""
    if stops := break_even(found):
        return End(stops.batch, ending(result, found), known=True)
    match found.verdict:
        case "always pays":
            return End(float(result.batches[-1]), ending(result, found), known=False)
        case "never pays":
            return End(float(result.batches[0]), ending(result, found), known=False)
        case _:
            return None


def sensitivity_frame(result: SensitivityResult) -> pd.DataFrame:
    """A row for each input and each of its values, the scenario as it stands first."""
    rows = [_row("none", 1.0, result.base)]
    for shift in result.shifts:
        rows.append(_row(shift.name, 1 - result.change, shift.lower))
        rows.append(_row(shift.name, 1 + result.change, shift.higher))
    return pd.DataFrame(rows)


def _row(name: str, factor: float, found: Crossings) -> dict[str, Any]:
    stops = break_even(found)
    return {
        "input": name,
        "factor": factor,
        "verdict": found.verdict,
        "break_even_batch": stops.batch if stops else None,
        "break_even_low": stops.low if stops else None,
        "break_even_high": stops.high if stops else None,
    }
