"""The files of a curve: what ``specsim curve`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from specsim.figures.curve import curve_figure
from specsim.figures.style import png_bytes, svg_bytes
from specsim.planner.curve import CurveResult
from specsim.report.curve import featured_draft_length, table
from specsim.report.folder import Writer, bytes_writer, table_writer, text_writer
from specsim.report.inputs import provenance_json, resolved_scenario
from specsim.report.text import as_text
from specsim.schema.load import Inputs


def curve_files(inputs: Inputs, result: CurveResult, sentences: Sequence[str]) -> Mapping[str, Writer]:
    """File name → what writes it.

    Args:
        inputs: what was simulated.
        result: what came out.
        sentences: the answer, as printed.
    """
    k = featured_draft_length(inputs.scenario)
    figure = curve_figure(
        pd.concat([result.points, result.closed_form]),
        title=_title(sentences[0]),
        subtitle=_plain(inputs.scenario.description or inputs.scenario.name),
        highlight=k,
        crossings=result.crossings[k],
        free_verify_batch=result.free_batch[k],
        running_limit=result.running_limit,
    )
    return {
        "curve.csv": table_writer(result.points),
        "closed_form.csv": table_writer(result.closed_form),
        "curve.png": bytes_writer(png_bytes(figure)),
        "curve.svg": bytes_writer(svg_bytes(figure)),
        "answer.txt": text_writer(as_text(sentences, table(inputs.scenario, result))),
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(provenance_json(inputs)),
    }


def _plain(text: str) -> str:
    """Text in which dollars are dollars; matplotlib sets what stands between two of them as a formula."""
    return text.replace("$", r"\$")


def _title(sentence: str) -> str:
    """The first clause of the answer."""
    return sentence.split(";")[0].split(": ")[0].split(". ")[0].rstrip(".")
