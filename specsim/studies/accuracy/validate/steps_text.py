"""What a person reads of predicted against measured single steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from rich.table import Table

from specsim.analysis.agreement import error_summary
from specsim.reporting.text import add_rows
from specsim.studies.accuracy.validate.steps import PricedStep
from specsim.studies.accuracy.validate.text import other_units

Steps = Mapping[str, Sequence[PricedStep]]
"""Name of a table → its steps."""


def step_sentences(steps: Steps) -> list[str]:
    """One sentence per table."""
    sentences = []
    for name, rows in steps.items():
        priced = [row for row in rows if row.ms is not None]
        errors = error_summary([row.ms or 0 for row in priced], [row.row.ms for row in priced])
        if errors:
            sentences.append(
                f"Steps of {name}: median error {errors.median:.1%}, largest {errors.worst_error:+.0%} over {errors.n}."
            )
        sentences += other_units(((row.line, row.row.ms, row.ms or 0) for row in priced), f" of {name}")
    return sentences


def step_table(steps: Steps) -> Table:
    """One row per table, mode and split."""
    table = Table(title="error of predicted step times")
    for name in ("table", "mode", "split", "steps", "median", "p90", "bias", "worst"):
        table.add_column(name, justify="left" if name in ("table", "mode", "split") else "right")
    return add_rows(table, step_rows(steps))


def step_rows(steps: Steps) -> Iterator[tuple[str, ...]]:
    """Table, mode, split, number of steps, median and p90 error, bias, worst step."""
    for name, rows in steps.items():
        groups: dict[tuple[str, str], list[PricedStep]] = {}
        for row in rows:
            groups.setdefault((row.row.mode, row.row.split), []).append(row)
        for (mode, split), group in sorted(groups.items(), reverse=True):
            priced = [row for row in group if row.ms is not None]
            errors = error_summary([row.ms or 0 for row in priced], [row.row.ms for row in priced])
            if errors is None:
                yield name, mode, split, f"0/{len(group)}", "", "", "", group[0].reason
                continue
            worst = priced[errors.worst].row
            shape = f"{worst.requests} × {sum(worst.per_request()[0]) / worst.requests:g}"
            yield (
                name, mode, split, f"{errors.n}/{len(group)}", f"{errors.median:.1%}", f"{errors.p90:.1%}",
                f"{errors.bias:+.1%}", f"{errors.worst_error:+.0%} at {shape} tokens",
            )  # fmt: skip


def steps_frame(steps: Steps) -> pd.DataFrame:
    """Every step: what it is, measured, predicted and error."""
    return pd.DataFrame([_step(name, row) for name, rows in steps.items() for row in rows])


def _step(name: str, priced: PricedStep) -> dict[str, object]:
    row = priced.row
    queries, contexts = row.per_request()
    error = None if priced.ms is None else priced.ms / row.ms - 1
    return {
        "table": name, "split": row.split, "device": row.device, "engine": row.engine, "model": row.model,
        "measured": row.measured, "mode": row.mode, "requests": row.requests, "query_tokens": sum(queries),
        "context_tokens": sum(contexts), "num_draft_tokens": row.num_draft_tokens, "measured_ms": row.ms,
        "predicted_ms": priced.ms, "error": error, "not_priced": priced.reason,
    }  # fmt: skip
