"""The files of a sensitivity: what ``specsim sensitivity`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.inputs import provenance_json, resolved_scenario
from specsim.reporting.style import no_math, png_bytes, svg_bytes
from specsim.reporting.text import as_text
from specsim.reporting.wording import drafts
from specsim.studies.sensitivity.figure import End, TornadoBar, tornado_figure
from specsim.studies.sensitivity.shifts import Outcome, SensitivityResult
from specsim.studies.sensitivity.text import ending, percent, sensitivity_table


def sensitivity_files(inputs: Inputs, result: SensitivityResult, sentences: Sequence[str]) -> Mapping[str, Writer]:
    """File name → what writes it.

    Args:
        inputs: what was asked of.
        result: what came out.
        sentences: the answer, as printed.
    """
    base = _end(result, result.base)
    figure = tornado_figure(
        [TornadoBar(shift.name, _end(result, shift.lower), _end(result, shift.higher)) for shift in result.by_swing],
        middle=base if base.known else None,
        change=result.change,
        axis="break-even batch" if result.has_break_even else f"speedup at batch {result.batches[-1]}",
        title=_title(inputs, result),
        subtitle=no_math(subtitle(inputs)),
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


def _title(inputs: Inputs, result: SensitivityResult) -> str:
    drafted, off = drafts(inputs.scenario, result.num_draft_tokens), f"if an input is {percent(result)} off"
    pay = "pay" if result.num_draft_tokens > 1 else "pays"
    if result.has_break_even:
        return f"Up to which batch {drafted} {pay} {off}"
    return f"What {drafted} gain at batch {result.batches[-1]} {off}"


def _end(result: SensitivityResult, outcome: Outcome) -> End:
    """Where a bar ends: at the answer, or at the last batch simulated; nowhere where runs leave it open."""
    label = ending(result, outcome)
    if not result.has_break_even:
        return End(outcome.speedup.estimate, label, known=True)
    if outcome.break_even:
        return End(outcome.break_even.batch, label, known=True)
    match outcome.where:
        case "beyond":
            return End(float(result.batches[-1]), label, known=False)
        case "below":
            return End(float(result.batches[0]), label, known=False)
        case _:
            return End(None, label, known=False)


def sensitivity_frame(result: SensitivityResult) -> pd.DataFrame:
    """A row for each input and each of its values, the scenario as it stands first."""
    rows = [_row("none", 1.0, result.base)]
    for shift in result.by_swing:
        rows.append(_row(shift.name, 1 - result.change, shift.lower))
        rows.append(_row(shift.name, 1 + result.change, shift.higher))
    return pd.DataFrame(rows)


def _row(name: str, factor: float, outcome: Outcome) -> dict[str, Any]:
    stops, speedup = outcome.break_even, outcome.speedup
    return {
        "input": name,
        "factor": factor,
        "verdict": outcome.crossings.verdict,
        "break_even_batch": stops.batch if stops else None,
        "break_even_low": stops.low if stops else None,
        "break_even_high": stops.high if stops else None,
        "largest_batch_speedup": speedup.estimate,
        "largest_batch_speedup_low": speedup.low,
        "largest_batch_speedup_high": speedup.high,
    }
