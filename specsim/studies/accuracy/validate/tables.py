"""Predicted against measured serving and steps as tables, for the terminal, the page and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from specsim.analysis.agreement import BreakEven, ErrorSummary, error_summary
from specsim.inputs.read.case import case_of
from specsim.reporting.columns import Column, Table, shown
from specsim.studies.accuracy.validate.run import Compared
from specsim.studies.accuracy.validate.steps import PricedStep, Steps
from specsim.studies.accuracy.validate.sweeps import BestLength, BreakEvenPair, SweepErrors, Validation, predicted

NamedStep = tuple[str, PricedStep]
"""Name of a table, and one of its steps."""
NAMED = dict.fromkeys(("device", "engine", "model"), ("", "as its source names it"))
SAID_OF_POINTS = {
    "sweep": ("", "what was measured together"),
    "split": ("", "whether calibration may see it, or why it is not counted"),
    **NAMED,
    **dict.fromkeys(("drafter", "workload"), ("", "as its source names it")),
    "load_kind": ("", "what the load is: concurrency, batch or rate"),
    "load": ("requests, or requests/s", "in flight, or offered"),
    "num_draft_tokens": ("tokens", "draft tokens per verify"),
    "metric": ("", "what was measured of each arm"),
    "repeat": ("", "number of the run, where it was repeated"),
}
SAID_OF_CASES = {
    "profile": "calibrated on the device and engine, or general",
    "target": "dense, MoE, or MLA",
    "numbers": "of weights and KV cache",
    "drafter_kind": "of the model that drafts; ngram for lookups",
    "devices": "one or several",
    "figures": "of the device's kernels: measured, or carried over",
    "software": "that served",
}
SAID_OF_STEPS = {
    "split": ("", "whether calibration may see it"),
    **NAMED,
    "measured": ("", "the whole step, or the target's forward pass alone"),
    "mode": ("", "how its kernels were launched"),
    "requests": ("requests", "in the step"),
}


def sweep_table(validation: Validation) -> Table[SweepErrors]:
    """One row per sweep and metric: how many rows were simulated, errors of speedup, worst point, errors of arms."""
    names = [sweep.name for sweep in validation.sweeps]
    return Table(
        rows=validation.sweeps,
        columns=[
            shown(
                "sweep",
                lambda sweep: f"{sweep.name} {sweep.metric}" if names.count(sweep.name) > 1 else sweep.name,
                left=True,
            ),
            shown("", lambda sweep: "" if sweep.split == "counted" else sweep.split, left=True),
            shown("simulated", lambda sweep: f"{sweep.num_simulated}/{len(sweep.points)}", left=True),
            shown("speedup", lambda sweep: _error(sweep.speedup)),
            shown("worst", _worst),
            shown("without", lambda sweep: _error(sweep.baseline)),
            shown("with", lambda sweep: _error(sweep.with_speculation)),
        ],
        title="error of predictions: mean absolute (bias)",
    )


def _error(errors: ErrorSummary | None) -> str:
    return f"{errors.mape:.1%} ({errors.bias:+.1%})" if errors else ""


def _worst(sweep: SweepErrors) -> str:
    if sweep.worst is None or sweep.speedup is None:
        return ""
    row = sweep.worst.row
    return f"{sweep.speedup.worst_error:+.0%} at {row.load:g}, K = {row.num_draft_tokens}"


def break_even_table(validation: Validation) -> Table[BreakEvenPair]:
    """One row per curve that measured a crossing."""
    return Table(
        rows=validation.break_evens,
        columns=[
            shown("sweep", lambda pair: pair.sweep, left=True),
            shown("K", lambda pair: str(pair.num_draft_tokens), left=True),
            shown("measured", lambda pair: str(pair.measured), left=True),
            shown("predicted", lambda pair: str(pair.predicted), left=True),
            shown("90 % model", lambda pair: _ends(pair.model), left=True),
            shown("log2 apart", lambda pair: "" if math.isnan(pair.octaves) else f"{pair.octaves:+.2f}", left=True),
            shown("overlap", lambda pair: "yes" if pair.same else "NO", left=True),
        ],
        title="load at which speculation stops paying",
    )


def _ends(interval: BreakEven) -> str:
    """``40 to 62``; a question mark where it runs out of the sweep."""
    return " to ".join("?" if end in (0, math.inf) else f"{end:.0f}" for end in (interval.low, interval.high))


def best_length_table(validation: Validation) -> Table[BestLength]:
    """One row per load at which draft lengths were compared; lost: of the best speedup, by the predicted length."""
    return Table(
        rows=validation.best_lengths,
        columns=[
            shown("sweep", lambda best: best.sweep, left=True),
            shown("load", lambda best: f"{best.load:g}", left=True),
            shown("measured", lambda best: str(best.measured), left=True),
            shown("predicted", lambda best: str(best.predicted), left=True),
            shown("lost", lambda best: f"{best.lost:.1%}", left=True),
        ],
        title="best number of draft tokens",
    )


def not_simulated_table(validation: Validation) -> Table[tuple[str, dict[str, int]]]:
    """One row per reason, with the sweeps and how many of their rows it concerns."""
    return Table(
        rows=list(validation.not_simulated().items()),
        columns=[
            shown("reason", lambda row: row[0], left=True),
            shown("rows of", lambda row: ", ".join(f"{name} ({n})" for name, n in row[1].items()), left=True),
        ],
        title="not simulated",
    )


def point_table(validation: Validation) -> Table[Compared]:
    """Every row of the measurements: what it says of itself, measured, predicted and error of each arm and speedup."""
    return Table(
        rows=validation.results,
        columns=[
            *(Column(name, attrgetter(f"row.{name}"), unit, what) for name, (unit, what) in SAID_OF_POINTS.items()),
            *(Column(name, partial(_of_case, name), "", what) for name, what in SAID_OF_CASES.items()),
            *_compared("baseline", "without speculation", attrgetter("row.baseline", "baseline")),
            *_compared("with_speculation", "with speculation", attrgetter("row.with_speculation", "with_speculation")),
            *_compared("speedup", "of the speedup", attrgetter("row.measured_speedup", "speedup")),
            Column("not_simulated", lambda point: "; ".join(point.reasons), "", "why an arm was not simulated"),
            Column("citation", lambda point: point.row.citation, "", "where the measurement is from"),
        ],
        file="accuracy.csv",
    )


def _of_case(name: str, point: Compared) -> str:
    """A column of the case; empty where nothing of it was simulated."""
    return getattr(case_of(point.beyond[-1][0]), name) if point.beyond else ""


def _compared(
    name: str, what: str, figures: Callable[[Compared], tuple[float | None, Any]]
) -> Iterator[Column[Compared]]:
    """Measured, predicted and error of a figure; empty where it is not known."""

    def mine(point: Compared) -> float | None:
        values = figures(point)[1]
        return None if values is None else predicted(values)

    def error(point: Compared) -> float | None:
        measured, own = figures(point)[0], mine(point)
        return None if own is None or measured is None else own / measured - 1

    unit = "" if name == "speedup" else "of the metric"
    yield Column(f"measured_{name}", lambda point: figures(point)[0], unit, f"measured {what}")
    yield Column(f"predicted_{name}", mine, unit, f"predicted {what}, geometric mean over replications")
    yield Column(f"error_{name}", error, "", f"predicted / measured - 1 {what}")


class StepGroup(NamedTuple):
    """Steps of a table with one mode and split, and the errors of those that were priced; None where none was."""

    table: str
    mode: str
    split: str
    steps: list[PricedStep]
    errors: ErrorSummary | None


def step_table(steps: Steps) -> Table[StepGroup]:
    """One row per table, mode and split."""
    return Table(
        rows=[group for name, rows in steps.items() for group in _groups(name, rows)],
        columns=[
            shown("table", lambda group: group.table, left=True),
            shown("mode", lambda group: group.mode, left=True),
            shown("split", lambda group: group.split, left=True),
            shown("steps", lambda group: f"{group.errors.n if group.errors else 0}/{len(group.steps)}"),
            shown("median", lambda group: f"{group.errors.median:.1%}" if group.errors else ""),
            shown("p90", lambda group: f"{group.errors.p90:.1%}" if group.errors else ""),
            shown("bias", lambda group: f"{group.errors.bias:+.1%}" if group.errors else ""),
            shown("worst", _worst_step),
        ],
        title="error of predicted step times",
    )


def _groups(name: str, rows: Sequence[PricedStep]) -> Iterator[StepGroup]:
    groups: dict[tuple[str, str], list[PricedStep]] = {}
    for row in rows:
        groups.setdefault((row.row.mode, row.row.split), []).append(row)
    for (mode, split), group in sorted(groups.items(), reverse=True):
        known = _priced(group)
        yield StepGroup(name, mode, split, group, error_summary([s.ms or 0 for s in known], [s.row.ms for s in known]))


def _priced(steps: Sequence[PricedStep]) -> list[PricedStep]:
    return [step for step in steps if step.ms is not None]


def _worst_step(group: StepGroup) -> str:
    """Where the largest error is; why where no step was priced."""
    if group.errors is None:
        return group.steps[0].reason
    worst = _priced(group.steps)[group.errors.worst].row
    shape = f"{worst.requests} × {sum(worst.per_request()[0]) / worst.requests:g}"
    return f"{group.errors.worst_error:+.0%} at {shape} tokens"


def steps_table(steps: Steps) -> Table[NamedStep]:
    """Every step: what it is, measured, predicted and error."""
    return Table(
        rows=[(name, step) for name, rows in steps.items() for step in rows],
        columns=[
            Column("table", lambda one: one[0], "", "the table that it is from"),
            *(Column(name, partial(_of_step, name), unit, what) for name, (unit, what) in SAID_OF_STEPS.items()),
            Column("query_tokens", lambda one: sum(one[1].row.per_request()[0]), "tokens", "computed, of all requests"),
            Column("context_tokens", lambda one: sum(one[1].row.per_request()[1]), "tokens", "attended to, of all"),
            Column("num_draft_tokens", lambda one: one[1].row.num_draft_tokens, "tokens", "draft tokens per verify"),
            Column("measured_ms", lambda one: one[1].row.ms, "ms", "measured"),
            Column("predicted_ms", lambda one: one[1].ms, "ms", "predicted; empty where it could not be"),
            Column("error", _step_error, "", "predicted / measured - 1"),
            Column("not_priced", lambda one: one[1].reason, "", "why it could not be"),
        ],
        file="accuracy_steps.csv",
    )


def _of_step(name: str, one: NamedStep) -> object:
    return getattr(one[1].row, name)


def _step_error(one: NamedStep) -> float | None:
    return None if one[1].ms is None else one[1].ms / one[1].row.ms - 1
