"""A comparison's answer whole: sentences, tables, the figure, and each scenario."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure

from specsim.reporting.columns import AnyTable
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import json_writer, text_writer
from specsim.reporting.inputs import provenance_of, resolved_scenario
from specsim.reporting.publish import Answer
from specsim.studies.compare.figure import ParetoLine, pareto_figure
from specsim.studies.compare.frontier import Cell, cells_of, frontier
from specsim.studies.compare.ranking import ranking
from specsim.studies.compare.run import Comparison, Subject
from specsim.studies.compare.tables import cells_table, frontier_table, plans_table
from specsim.studies.compare.text import comparison_sentences, frontier_sentence, traffic_words
from specsim.studies.plan.text import drafting

TITLE_WIDTH = 105
"""Letters of a title in one line."""


def comparison_answer(comparison: Comparison) -> Answer:
    """What ``specsim compare`` prints and writes."""
    cells, ranked, subjects = cells_of(comparison), ranking(comparison), comparison.subjects
    plans = plans_table(comparison, ranked)
    tables: list[AnyTable] = [] if plans is None else [plans]
    number = len(subjects) + len(comparison.missing)
    return Answer(
        sentences=comparison_sentences(comparison, cells, ranked),
        tables=[*tables, cells_table(cells), frontier_table(cells)],
        figures={"pareto": _draw(comparison, cells)} if frontier(cells) else {},
        files={
            "provenance.json": json_writer({one.name: provenance_of(one.inputs, _beyond(one)) for one in subjects}),
            **{f"scenario-{one.name}.yaml": text_writer(resolved_scenario(one.inputs)) for one in subjects},
        },
        warning=_beyond(*subjects),
        partial=f"{len(comparison.missing)} of {number} scenarios missing" if comparison.missing else "",
    )


def _beyond(*subjects: Subject) -> str:
    return extrapolation_sentence([(subject.inputs, subject.extrapolation) for subject in subjects])


def _draw(comparison: Comparison, cells: Sequence[Cell]) -> Figure:
    traffic = dict.fromkeys(traffic_words(subject.inputs) for subject in comparison.subjects)
    return pareto_figure(
        list(_lines(comparison, cells)),
        [(float(cell.per_user.mean()), float(cell.per_gpu.mean())) for cell in frontier(cells)],
        title=_title(cells),
        subtitle="; ".join(traffic),
    )


def _title(cells: Sequence[Cell]) -> list[str]:
    """As much of the frontier as two lines hold."""
    fitting = (textwrap.wrap(frontier_sentence(cells, most), TITLE_WIDTH) for most in range(4, 0, -1))
    return next((lines for lines in fitting if len(lines) <= 2), ["Frontier of tokens/s/user and tokens/s/GPU"])


def _lines(comparison: Comparison, cells: Sequence[Cell]) -> Iterator[ParetoLine]:
    """Each arm; batches are named on the scenario's own policy, or without speculation where that is all."""
    for subject in comparison.subjects:
        for i, arm in enumerate(subject.arms):
            own = [cell for cell in cells if cell.subject is subject and cell.arm == arm]
            yield ParetoLine(
                scenario=subject.name,
                arm=drafting(subject.inputs.scenario, arm, without=""),
                featured=i == min(1, len(subject.arms) - 1),
                batches=[cell.batch for cell in own],
                per_user=np.array([cell.per_user.mean() for cell in own]),
                per_gpu=np.array([cell.per_gpu.mean() for cell in own]),
            )
