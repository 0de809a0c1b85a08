"""What a person reads of predicted against measured serving: the answer in sentences, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from rich.table import Table

from specsim.analysis.agreement import ErrorSummary
from specsim.planner.sweeps import (
    NEARLY_BEST,
    BestLength,
    BreakEvenPair,
    SweepErrors,
    best_lengths,
    break_evens,
    predicted,
    speedup_errors,
    sweep_errors,
    with_speedup,
)
from specsim.planner.validation import Compared

POINTS = (
    "sweep", "split", "device", "engine", "model", "drafter", "workload", "load_kind", "load", "num_draft_tokens",
    "metric", "repeat",
)  # fmt: skip


class Validation:
    """Compared points with what they add up to; each part computed once.

    Args:
        results: every row of the table that was asked for.
    """

    def __init__(self, results: Sequence[Compared]) -> None:
        self.results = tuple(results)
        self.sweeps: tuple[SweepErrors, ...] = sweep_errors(results)
        counted = [sweep for sweep in self.sweeps if sweep.split == "counted"]
        self.break_evens: tuple[BreakEvenPair, ...] = break_evens(counted)
        self.best_lengths: tuple[BestLength, ...] = best_lengths(counted)

    def not_simulated(self) -> dict[str, dict[str, int]]:
        """Reason → sweep → rows that miss an arm for it."""
        found: dict[str, dict[str, int]] = {}
        for result in self.results:
            for reason in result.reasons[-1:]:  # the speculating arm lacks whatever the other does
                sweeps = found.setdefault(reason, {})
                sweeps[result.row.sweep] = sweeps.get(result.row.sweep, 0) + 1
        return found


def validation_sentences(validation: Validation) -> list[str]:
    """The sentences the user came for, the most important first."""
    return [
        *_speedups(validation),
        *_break_evens(validation.break_evens),
        *_best(validation.best_lengths),
        *_left_out(validation),
    ]


def _speedups(validation: Validation) -> Iterator[str]:
    counted = [result for result in with_speedup(validation.results) if result.row.counted]
    errors = speedup_errors(counted)
    if errors is None:
        yield "No speedup was both measured and simulated; see the errors of each arm below."
        return
    worst = counted[errors.worst].row
    names = {result.row.sweep for result in counted}
    yield (
        f"Predicted speedups are {errors.mape:.1%} off on average (bias {errors.bias:+.1%}) over {errors.n} points of "
        f"{len(names)} {'sweeps' if len(names) > 1 else 'sweep'}; worst {errors.worst_error:+.0%}, {_where(worst)}."
    )
    unseen = speedup_errors([result for result in counted if result.row.split == "validation"])
    if unseen and unseen.n < errors.n:
        yield f"Of these, the {unseen.n} that calibration may not see: {unseen.mape:.1%} off, bias {unseen.bias:+.1%}."


def _where(row: object) -> str:
    sweep, load, k = (getattr(row, name) for name in ("sweep", "load", "num_draft_tokens"))
    return f"{sweep} at {load:g} with K = {k}"


def _break_evens(pairs: Sequence[BreakEvenPair]) -> Iterator[str]:
    if pairs:
        same = sum(pair.same for pair in pairs)
        yield (
            f"Break-even: {same} of the {len(pairs)} curves that measured a crossing of 1.0 are predicted to cross it at "
            "the same load (intervals overlap, or lie within one step of the measured loads)."
        )


def _best(lengths: Sequence[BestLength]) -> Iterator[str]:
    if lengths:
        right = sum(length.right for length in lengths)
        yield (
            f"Best draft length: right, or within {NEARLY_BEST:.0%} of the best measured speedup, at {right} of "
            f"{len(lengths)} loads."
        )


def _left_out(validation: Validation) -> Iterator[str]:
    missing = sum(bool(result.reasons) for result in validation.results)
    if missing:
        yield f"Not simulated in full: {missing} of {len(validation.results)} rows, for the reasons listed below."


def sweep_table(validation: Validation) -> Table:
    """One row per sweep and metric."""
    table = Table(title="error of predictions: mean absolute (bias)")
    for name in ("sweep", "", "simulated"):
        table.add_column(name)
    for name in ("speedup", "worst", "without", "with"):
        table.add_column(name, justify="right")
    for cells in sweep_rows(validation):
        table.add_row(*cells)
    return table


def sweep_rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    """Name, split, how many rows were simulated, errors of speedup, worst point, errors of each arm."""
    metrics = {sweep.name: {other.metric for other in validation.sweeps if other.name == sweep.name} for sweep in validation.sweeps}
    for sweep in validation.sweeps:
        name = f"{sweep.name} {sweep.metric}" if len(metrics[sweep.name]) > 1 else sweep.name
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
    for cells in break_even_rows(validation):
        table.add_row(*cells)
    return table


def break_even_rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    """Sweep, draft length, measured and predicted break-even, whether they are the same."""
    for pair in validation.break_evens:
        yield pair.sweep, str(pair.num_draft_tokens), str(pair.measured), str(pair.predicted), "yes" if pair.same else "NO"


def best_length_table(validation: Validation) -> Table:
    """One row per load at which draft lengths were compared."""
    table = Table("sweep", "load", "measured", "predicted", "lost", title="best number of draft tokens")
    for cells in best_length_rows(validation):
        table.add_row(*cells)
    return table


def best_length_rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    """Sweep, load, best draft length measured and predicted, share of the speedup lost by the prediction."""
    for best in validation.best_lengths:
        yield best.sweep, f"{best.load:g}", str(best.measured), str(best.predicted), f"{best.lost:.1%}"


def not_simulated_table(validation: Validation) -> Table:
    """One row per reason."""
    table = Table("reason", "rows of", title="not simulated")
    for cells in not_simulated_rows(validation):
        table.add_row(*cells)
    return table


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
