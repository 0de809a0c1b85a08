"""The files of a comparison: what ``specsim compare`` leaves in its folder."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from rich.table import Table

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.inputs import provenance_of, resolved_scenario
from specsim.reporting.style import no_math, png_bytes, svg_bytes
from specsim.reporting.text import as_text
from specsim.studies.compare.figure import ParetoLine, pareto_figure
from specsim.studies.compare.frontier import Cell
from specsim.studies.compare.ranking import Ranking
from specsim.studies.compare.run import Comparison
from specsim.studies.compare.tables import cells_frame, frontier_table, offers_table, plans_frame
from specsim.studies.compare.text import arm_name, frontier, frontier_sentence, traffic_words

TITLE_WIDTH = 105
"""Letters of a title in one line."""


def comparison_files(
    comparison: Comparison, cells: Sequence[Cell], ranked: Ranking | None, sentences: Sequence[str]
) -> Mapping[str, Writer]:
    """File name → what writes it.

    Args:
        comparison: what was simulated.
        cells: of it.
        ranked: of it; None without limits, or where none meets them.
        sentences: the answer, as printed.
    """
    inputs = [subject.inputs for subject in comparison.subjects]
    files = {
        "compare.csv": table_writer(cells_frame(cells)),
        "answer.txt": text_writer(as_text(sentences, *comparison_tables(comparison, cells, ranked))),
        "provenance.json": text_writer(_provenance(comparison)),
        **{scenario_file(one): text_writer(resolved_scenario(one)) for one in inputs},
        **_figure(comparison, cells),
    }
    if any(subject.plan for subject in comparison.subjects):
        files["plans.csv"] = table_writer(plans_frame(comparison, ranked))
    return files


def comparison_tables(comparison: Comparison, cells: Sequence[Cell], ranked: Ranking | None) -> list[Table]:
    """What is printed below the sentences."""
    offers = [offers_table(comparison, ranked)] if ranked else []
    return [*offers, *([frontier_table(cells)] if frontier(cells) else [])]


def scenario_file(inputs: Inputs) -> str:
    """What the resolved scenario is called."""
    return f"scenario-{inputs.scenario.name}.yaml"


def beyond(comparison: Comparison) -> str | None:
    """What was extrapolated."""
    return extrapolation_sentence([(subject.inputs, subject.extrapolation) for subject in comparison.subjects])


def _provenance(comparison: Comparison) -> str:
    found = {
        subject.name: provenance_of(subject.inputs, extrapolation_sentence([(subject.inputs, subject.extrapolation)]))
        for subject in comparison.subjects
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _figure(comparison: Comparison, cells: Sequence[Cell]) -> dict[str, Writer]:
    best = frontier(cells)
    if not best:
        return {}
    traffic = dict.fromkeys(traffic_words(subject.inputs) for subject in comparison.subjects)
    figure = pareto_figure(
        list(_lines(comparison, cells)),
        [(float(cell.per_user.mean()), float(cell.per_gpu.mean())) for cell in best],
        title=_title(cells),
        subtitle=no_math("; ".join(traffic)),
    )
    return {"pareto.png": bytes_writer(png_bytes(figure)), "pareto.svg": bytes_writer(svg_bytes(figure))}


def _title(cells: Sequence[Cell]) -> list[str]:
    """As much of the frontier as two lines hold."""
    fitting = (textwrap.wrap(no_math(frontier_sentence(cells, most)), TITLE_WIDTH) for most in range(4, 0, -1))
    return next((lines for lines in fitting if len(lines) <= 2), ["Frontier of tokens/s/user and tokens/s/GPU"])


def _lines(comparison: Comparison, cells: Sequence[Cell]) -> Iterator[ParetoLine]:
    """Each arm; batches are named on the scenario's own policy, or without speculation where that is all."""
    for subject in comparison.subjects:
        for i, arm in enumerate(subject.arms):
            own = [cell for cell in cells if cell.subject is subject and cell.arm == arm]
            yield ParetoLine(
                scenario=subject.name,
                arm=arm_name(subject, arm) if arm.policy else "",
                featured=i == min(1, len(subject.arms) - 1),
                batches=[cell.batch for cell in own],
                per_user=np.array([cell.per_user.mean() for cell in own]),
                per_gpu=np.array([cell.per_gpu.mean() for cell in own]),
            )
