"""Predicted against measured serving as tables, for the terminal and for files."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich.table import Table

from specsim.analysis.agreement import ErrorSummary
from specsim.reporting.text import add_rows
from specsim.studies.accuracy.validate.run import Compared
from specsim.studies.accuracy.validate.sweeps import SweepErrors, predicted
from specsim.studies.accuracy.validate.text import Validation

POINTS = (
    "sweep", "split", "device", "engine", "model", "drafter", "workload", "load_kind", "load", "num_draft_tokens",
    "metric", "repeat",
)  # fmt: skip


def validation_tables(validation: Validation) -> list[Table]:
    """What is printed below the answer; tables without rows are left out."""
    makers = (sweep_table, break_even_table, best_length_table, not_simulated_table)
    return [table for make in makers if (table := make(validation)).row_count]


def sweep_table(validation: Validation) -> Table:
    """One row per sweep and metric."""
    table = Table(title="error of predictions: mean absolute (bias)")
    for name in ("sweep", "", "simulated"):
        table.add_column(name)
    for name in ("speedup", "worst", "without", "with"):
        table.add_column(name, justify="right")
    return add_rows(table, sweep_rows(validation))


def sweep_rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    """Name, split, how many rows were simulated, errors of speedup, worst point, errors of each arm."""
    names = [sweep.name for sweep in validation.sweeps]
    for sweep in validation.sweeps:
        name = f"{sweep.name} {sweep.metric}" if names.count(sweep.name) > 1 else sweep.name
        yield (
            name,
            "" if sweep.split == "counted" else sweep.split,
            f"{sweep.num_simulated}/{len(sweep.points)}",
            _error(sweep.speedup),
            _worst(sweep),
            _error(sweep.baseline),
            _error(sweep.with_speculation),
        )


def _error(errors: ErrorSummary | None) -> str:
    return f"{errors.mape:.1%} ({errors.bias:+.1%})" if errors else ""


def _worst(sweep: SweepErrors) -> str:
    if sweep.worst is None or sweep.speedup is None:
        return ""
    row = sweep.worst.row
    return f"{sweep.speedup.worst_error:+.0%} at {row.load:g}, K = {row.num_draft_tokens}"


def break_even_table(validation: Validation) -> Table:
    """One row per curve that measured a crossing."""
    table = Table("sweep", "K", "measured", "predicted", "same", title="load at which speculation stops paying")
    return add_rows(table, break_even_rows(validation))


def break_even_rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    """Sweep, draft length, measured and predicted break-even, whether they are the same."""
    for pair in validation.break_evens:
        same = "yes" if pair.same else "NO"
        yield pair.sweep, str(pair.num_draft_tokens), str(pair.measured), str(pair.predicted), same


def best_length_table(validation: Validation) -> Table:
    """One row per load at which draft lengths were compared."""
    table = Table("sweep", "load", "measured", "predicted", "lost", title="best number of draft tokens")
    return add_rows(table, best_length_rows(validation))


def best_length_rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    """Sweep, load, best draft length measured and predicted, share of the speedup lost by the prediction."""
    for best in validation.best_lengths:
        yield best.sweep, f"{best.load:g}", str(best.measured), str(best.predicted), f"{best.lost:.1%}"


def not_simulated_table(validation: Validation) -> Table:
    """One row per reason."""
    table = Table("reason", "rows of", title="not simulated")
    return add_rows(table, not_simulated_rows(validation))


def not_simulated_rows(validation: Validation) -> Iterator[tuple[str, str]]:
    """Reason, and the sweeps with how many rows it concerns."""
    for reason, sweeps in validation.not_simulated().items():
        yield reason, ", ".join(f"{name} ({number})" for name, number in sweeps.items())


def points_frame(validation: Validation) -> pd.DataFrame:
    """Every row of the table: what it says of itself, measured, predicted and error of each arm and the speedup."""
    return pd.DataFrame([_point(result) for result in validation.results])


def _point(result: Compared) -> dict[str, object]:
    row = result.row
    cells: dict[str, object] = {name: getattr(row, name) for name in POINTS}
    arms = {
        "baseline": (row.baseline, result.baseline),
        "with_speculation": (row.with_speculation, result.with_speculation),
        "speedup": (row.measured_speedup, result.speedup),
    }
    for name, (measured, values) in arms.items():
        mine = None if values is None else predicted(values)
        cells |= {f"measured_{name}": measured, f"predicted_{name}": mine}
        cells[f"error_{name}"] = None if mine is None or measured is None else mine / measured - 1
    return cells | {"not_simulated": "; ".join(result.reasons), "citation": row.citation}
