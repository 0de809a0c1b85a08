"""What a person reads of predicted against measured operators."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from specsim.inputs.measured.operator_tables import PACKAGE
from specsim.reporting.columns import Column, Table, shown
from specsim.studies.accuracy.operators.run import Operators

PRODUCTS, DECODE = "weights ≥ 32 MB, ≤ 1025 rows", "KV ≥ 50 MB"
Row = Mapping[Hashable, Any]
"""A group of the summary: column → value."""


def operator_sentences(operators: Operators) -> list[str]:
    """The answer first, then a sentence for each device."""
    chosen = operators.summary[operators.summary["size_class"].isin([PRODUCTS, DECODE])]
    chosen = chosen[chosen["precision"] == "bf16"].drop_duplicates(["device", "operator"])  # of the first stack
    products, decodes = (chosen[chosen["size_class"] == name] for name in (PRODUCTS, DECODE))
    lines = [
        f"Large BF16 matrix products are priced within {_span(products)} and decode attention within {_span(decodes)} "
        f"(median errors by device, {len(operators.rows):,} measurements of {PACKAGE} {operators.release})."
    ]
    for device, group in chosen.groupby("device", sort=False):
        parts = [
            f"{row['operator']} ({row['size_class']}) {_error(row, '')}, held-out shapes {_error(row, 'held_out_')}"
            for row in group.to_dict("records")
        ]
        lines.append(f"{device}, {group['stack'].iloc[0]}: {'; '.join(parts)}.")
    return lines


def _span(rows: pd.DataFrame) -> str:
    low, high = rows["median"].min(), rows["median"].max()
    return f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"


def _error(row: Row, prefix: str) -> str:
    median, p90, bias = (row[prefix + name] for name in ("median", "p90", "bias"))
    return f"{median:.1%} median, {p90:.1%} p90, {bias:+.1%} bias"


def _held_out(row: Row) -> str:
    return f"{row['held_out_median']:.1%} / {row['held_out_p90']:.1%}" if row["held_out_rows"] else ""


PRECISION: Column[Row] = shown("precision", lambda row: row["precision"], left=True)
COLUMNS: tuple[Column[Row], ...] = (
    shown("device", lambda row: row["device"], left=True),
    shown("operator", lambda row: row["operator"], left=True),
    PRECISION,
    shown("size", lambda row: row["size_class"], left=True),
    shown("stack", lambda row: row["stack"], left=True),
    shown("rows", lambda row: f"{row['rows']:,}"),
    shown("median", lambda row: f"{row['median']:.1%}"),
    shown("p90", lambda row: f"{row['p90']:.1%}"),
    shown("bias", lambda row: f"{row['bias']:+.1%}"),
    shown("held out", _held_out),
)
"""Of the page; the terminal has no precision."""


def page_table(summary: pd.DataFrame) -> Table[Row]:
    """A row for each group."""
    return Table(summary.to_dict("records"), COLUMNS)


def operator_table(operators: Operators) -> Table[Row]:
    """BF16 under the first stack of each device; the files have the rest."""
    found = usual(operators.summary)
    first = found.groupby("device")["stack"].transform("first").str.split().str[0]
    return Table(
        found[found["stack"].str.split().str[0] == first].to_dict("records"),
        [column for column in COLUMNS if column is not PRECISION],
        title="error of predicted operators in BF16 (held out: median / p90); --out writes all stacks and formats",
    )


def usual(summary: pd.DataFrame) -> pd.DataFrame:
    """Without what steps of the models known here hardly have: other formats than BF16, wide heads, vast messages."""
    rare = summary["size_class"].str.contains("heads of 512|> 128 MiB")
    return summary[(summary["precision"] == "bf16") & ~rare]
