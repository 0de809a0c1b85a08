"""A sweep as tidy tables: one of runs, and one with intervals; a cell without a result is a row with its error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from specsim.analysis.intervals import Interval
from specsim.analysis.run_metrics import METRICS
from specsim.analysis.stability import Verdict
from specsim.inputs.read.grid import as_text
from specsim.reporting.columns import Described, RecordTable
from specsim.reporting.folders import Writer, table_writer
from specsim.reporting.record_tables import Columns, Format
from specsim.studies.sweep.cells import Arm, CellResult
from specsim.studies.sweep.run import Cell, Sweep

Row = dict[str, Any]
UNKNOWN = math.nan
RATE_IS_MET: Mapping[Verdict, str] = {"keeps up": "true", "falls behind": "false", "unknown": "unknown"}
SPEEDUPS = {"speedup": CellResult.speedup, "TPOT speedup": CellResult.latency_speedup}


@dataclass(frozen=True)
class SweepTable(RecordTable):
    """A table of a sweep: CSV with quotation marks where a text has commas, which tables of records do without."""

    def writer(self) -> Writer:
        """Writes the file."""
        return table_writer(pd.DataFrame(dict(self.columns))) if self.form == "csv" else super().writer()


def sweep_tables(sweep: Sweep, form: Format) -> list[SweepTable]:
    """One of runs, and one of means."""
    described = _described(sweep)
    return [
        SweepTable(run_columns(sweep), described, "runs", form),
        SweepTable(summary_columns(sweep), described, "summary", form),
    ]


def _described(sweep: Sweep) -> Described:
    found = {path: ("", f"the scenario's {path}") for path in sweep.grid.grid.paths} | {
        "cell": ("", "index of the cell"),
        "arm": ("", "with or without speculation"),
        "num_draft_tokens": ("tokens", "draft tokens per verify, 0 without speculation"),
        "replication": ("", "index of the run"),
        "replications": ("", "number of runs averaged"),
        "steady share [%]": ("%", "share of requests sent in the steady window; empty where a run has none"),
        "rate is met": (
            "",
            "whether the server keeps up with the rate offered: true, false, or unknown where too few requests are "
            "sent to tell; empty in a closed loop",
        ),
        "beyond measured ranges": ("", "whether steps exceeded the measured ranges of the figures used"),
        "error": ("", "why the cell has no result"),
    }
    of_cells = {
        "speedup": ("", "output tokens/s with speculation over without, paired"),
        "TPOT speedup": ("", "median TPOT without speculation over with, paired"),
    } | {metric.label: (metric.unit, metric.description) for metric in METRICS}
    for name, (unit, description) in of_cells.items():
        found[name] = (unit, description)
        found[f"{name} low"] = (unit, f"lower end of the 95 % interval of {name}")
        found[f"{name} high"] = (unit, f"upper end of the 95 % interval of {name}")
    return found


def run_columns(sweep: Sweep) -> Columns:
    """A row for each replication of each arm of each cell: the fields that vary, then every metric."""
    rows = (row for i, cell in enumerate(sweep.cells) for row in _run_rows(i, cell))
    names = ("cell", *sweep.grid.grid.paths, "arm", "num_draft_tokens", "replication", *_names(), "error")
    return _columns(list(rows), names, sweep.grid.grid.paths)


def summary_columns(sweep: Sweep) -> Columns:
    """A row for each arm of each cell: means over replications and the ends of their 95 % intervals."""
    rows = (row for i, cell in enumerate(sweep.cells) for row in _summary_rows(i, cell))
    of_metrics = [f"{name}{end}" for name in _names() for end in ("", " low", " high")]
    speedups = [f"{name}{end}" for name in SPEEDUPS for end in ("", " low", " high")]
    read_with = ("steady share [%]", "rate is met", "beyond measured ranges", "error")
    names = ("cell", *sweep.grid.grid.paths, "arm", "num_draft_tokens", "replications", *speedups, *of_metrics)
    return _columns(list(rows), (*names, *read_with), sweep.grid.grid.paths)


def _names() -> list[str]:
    return [metric.label for metric in METRICS]


def _run_rows(number: int, cell: Cell) -> Iterator[Row]:
    row: Row = {"cell": number, **cell.values}
    if not isinstance(cell.outcome, CellResult):
        yield row | {"error": cell.outcome.error}
        return
    for k, arm in cell.outcome.arms.items():
        for replication, values in enumerate(arm.values):
            counted = {"num_draft_tokens": k, "replication": replication}
            yield row | {"arm": _arm(k)} | counted | dict(zip(_names(), values, strict=True))


def _summary_rows(number: int, cell: Cell) -> Iterator[Row]:
    row: Row = {"cell": number, **cell.values}
    if not isinstance(cell.outcome, CellResult):
        yield row | {"error": cell.outcome.error}
        return
    speedups = [(name, of(cell.outcome)) for name, of in SPEEDUPS.items()]
    for k, arm in cell.outcome.arms.items():
        found = row | {"arm": _arm(k), "num_draft_tokens": k, "replications": len(arm.values)}
        for name, speedup in speedups:
            if k and speedup:
                found |= _with_ends(name, speedup)
        yield found | _means(arm) | {"beyond measured ranges": str(cell.outcome.beyond).lower()}


def _means(arm: Arm) -> Row:
    row: Row = {}
    for metric in METRICS:
        row |= _with_ends(metric.label, arm.interval(metric))
    row["rate is met"] = RATE_IS_MET[arm.keeps_up] if arm.keeps_up else ""
    row["steady share [%]"] = UNKNOWN if arm.steady_share is None else 100 * arm.steady_share
    return row


def _with_ends(name: str, interval: Interval) -> Row:
    return {name: interval.estimate, f"{name} low": interval.low, f"{name} high": interval.high}


def _arm(num_draft_tokens: int) -> str:
    return "with" if num_draft_tokens else "without"


def _columns(rows: list[Row], names: tuple[str, ...], fields: list[str]) -> Columns:
    """Numbers where all of a column are, text elsewhere; counts and metrics of failed cells are missing."""
    texts = ("arm", "error", "rate is met", "beyond measured ranges")
    return {
        name: _field([row[name] for row in rows]) if name in fields
        else np.array([row.get(name, "") for row in rows], dtype=object) if name in texts
        else _numbers([row.get(name) for row in rows])
        for name in names
    }  # fmt: skip


def _field(values: list[Any]) -> Any:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return np.array(values) if numbers else np.array([as_text(value) for value in values], dtype=object)


def _numbers(values: list[Any]) -> Any:
    """Counts stay whole numbers, unless some are missing."""
    return np.array(values) if None not in values else np.array(values, np.float64)
