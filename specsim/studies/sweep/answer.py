"""A sweep's answer whole: sentences, tables of cells and runs, and a figure where one or two things vary."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from specsim.inputs.read.grid import Grid
from specsim.inputs.read.grid import as_text as value_text
from specsim.provenance import code_version, provenance
from specsim.reporting.folders import bytes_writer, text_writer
from specsim.reporting.publish import Answer
from specsim.reporting.record_tables import Format
from specsim.studies.sweep.figure import sweep_figure
from specsim.studies.sweep.run import Sweep
from specsim.studies.sweep.tables import sweep_tables
from specsim.studies.sweep.text import (
    BY_LATENCY,
    BY_THROUGHPUT,
    basis,
    kept_sentence,
    speedups,
    sweep_sentences,
    sweep_table,
)
from specsim.studies.sweep.value_labels import Labels

MOST_LINES = 8
UP = {
    BY_THROUGHPUT: "output tokens/s with speculation over without",
    BY_LATENCY: "median TPOT without speculation over with",
}


def sweep_answer(sweep: Sweep, form: Format, *, kept: Path, folder: Path) -> Answer:
    """What ``specsim sweep`` prints and writes beside the cells that it keeps; a figure where one or two things vary.

    Args:
        sweep: what came out.
        form: of the tables.
        kept: folder of the cells.
        folder: of the result.
    """
    again = "run again" if (folder / "cells").is_dir() else "run again with --force"
    return Answer(
        sentences=sweep_sentences(sweep),
        tables=[sweep_table(sweep), *sweep_tables(sweep, form)],
        figures=_figure(sweep),
        files={
            "grid.yaml": bytes_writer(sweep.grid.path.read_bytes()),
            "provenance.json": text_writer(_provenance(sweep)),
        },
        footer=[kept_sentence(sweep, kept)],
        partial=f"{sweep.missing} of {len(sweep.cells)} cells missing; {again} to continue" if sweep.stopped else "",
        failed=bool(sweep.failed),
    )


def _provenance(sweep: Sweep) -> str:
    found = provenance(None, dict(sorted(sweep.files.items())), {}) | {"code": code_version()}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _figure(sweep: Sweep) -> dict[str, Figure]:
    grid = sweep.grid.grid
    axes = [[path] for path in grid.fields] + [list(group) for group in grid.together]
    rows = speedups(sweep)
    longest_first = sorted(axes, key=lambda paths: -_length(grid, paths))
    if len(axes) > 2 or not rows or (len(axes) == 2 and _length(grid, longest_first[1]) > MOST_LINES):
        return {}
    across, *others = longest_first
    labels, lines = Labels(grid), [path for paths in others for path in paths]
    points = pd.DataFrame(
        {
            "line": [", ".join(labels.of(path, values[path]) for path in lines) for values, _ in rows],
            "speedup": [speedup.estimate for _, speedup in rows],
            "low": [speedup.low for _, speedup in rows],
            "high": [speedup.high for _, speedup in rows],
        }
    )
    points["x"], unit = _places([values for values, _ in rows], across, labels)
    label = " and ".join(across) + (f" [{unit}]" if unit else "")
    of_lines = f"lines: {' and '.join(lines)}" if lines else ""
    words = {"title": grid.name, "subtitle": grid.description, "across": label, "lines": of_lines}
    figure = sweep_figure(points, up=f"speedup: {UP[basis(sweep)]}; bands: 95 %", **words)
    return {"sweep": figure}


def _length(grid: Grid, paths: list[str]) -> int:
    group = next((group for group in grid.together if paths[0] in group), grid.fields)
    return len(group[paths[0]])


def _places(cells: list[dict[str, Any]], across: list[str], labels: Labels) -> tuple[list[Any], str]:
    """Where cells stand, by the first of the fields, with its unit where it is a quantity; else by labels."""
    found = _numbers([cell[across[0]] for cell in cells])
    if found:
        return found
    return [", ".join(labels.of(path, cell[path]) for path in across) for cell in cells], ""


def _numbers(values: list[Any]) -> tuple[list[Any], str] | None:
    """Values as numbers with their unit; None where not all are numbers or quantities of one unit."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return values, ""
    found = [re.fullmatch(r"\s*([0-9.eE+-]+)\s*(\D.*?)\s*", value_text(value)) for value in values]
    units = {match[2] for match in found if match}
    if len(units) == 1 and all(found):
        return [float(match[1]) for match in found if match], units.pop()
    return None
