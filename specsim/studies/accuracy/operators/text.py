"""What a person reads of predicted against measured operators, and the files they leave."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Any

import pandas as pd
from rich.table import Table

import specsim
from specsim.inputs.measured.operator_tables import PACKAGE
from specsim.reporting.folders import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.style import png_bytes
from specsim.studies.accuracy.operators.figure import operators_figure
from specsim.studies.accuracy.operators.run import summaries

PRODUCTS, DECODE = "weights ≥ 32 MB, ≤ 1025 rows", "KV ≥ 50 MB"
COLUMNS = ("device", "operator", "precision", "size", "stack", "rows", "median", "p90", "bias", "held out")
WHAT = """\
Each operator is priced by the functions that price steps, under the device's profile as it is in `hardware/`: one
profile for all serving stacks. Errors are predicted / measured - 1. Times in the tables are those of one kernel
repeated back to back: KV below about 50 MB and weights below about 8 MB stay in the L2 cache there, as they do not
within a step. Not all rows time the device alone: with one scale per 128 numbers (`fp8_block`) vLLM's rows are flat
at 60-190 µs from 1 to 1024 rows, as if the host's launches were timed. Held out: shapes whose CRC-32 modulo 5 is 0,
which `benchmarks/fit_operators.py` does not fit; only what a profile's sources say was fitted by it is judged by them,
the other figures saw all shapes. Routed
experts are priced under uniform routing, whatever the table's routing is."""


class Operators:
    """Priced operators.

    Args:
        rows: as ``price_operators`` returns them.
        release: of the package that holds their measurements.
    """

    def __init__(self, rows: pd.DataFrame, release: str) -> None:
        self.rows = rows
        self.release = release

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Errors by group."""
        return summaries(self.rows)


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


def _error(row: Mapping[Hashable, Any], prefix: str) -> str:
    median, p90, bias = (row[prefix + name] for name in ("median", "p90", "bias"))
    return f"{median:.1%} median, {p90:.1%} p90, {bias:+.1%} bias"


def operator_rows(summary: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """A line for each group, in the order of ``COLUMNS``."""
    for row in summary.to_dict("records"):
        held = f"{row['held_out_median']:.1%} / {row['held_out_p90']:.1%}" if row["held_out_rows"] else ""
        yield (
            row["device"], row["operator"], row["precision"], row["size_class"], row["stack"], f"{row['rows']:,}",
            f"{row['median']:.1%}", f"{row['p90']:.1%}", f"{row['bias']:+.1%}", held,
        )  # fmt: skip


def operator_table(operators: Operators) -> Table:
    """BF16 under the first stack of each device; the files have the rest."""
    table = Table(
        title="error of predicted operators in BF16 (held out: median / p90); --out writes all stacks and formats"
    )
    for name in COLUMNS:
        if name != "precision":
            table.add_column(name, justify="left" if name in COLUMNS[:5] else "right")
    found = usual(operators.summary)
    first = found.groupby("device")["stack"].transform("first").str.split().str[0]
    for device, operator, _, *cells in operator_rows(found[found["stack"].str.split().str[0] == first]):
        table.add_row(device, operator, *cells)
    return table


def usual(summary: pd.DataFrame) -> pd.DataFrame:
    """Without what steps of the models known here hardly have: other formats than BF16, wide heads, vast messages."""
    rare = summary["size_class"].str.contains("heads of 512|> 128 MiB")
    return summary[(summary["precision"] == "bf16") & ~rare]


def operator_files(operators: Operators, today: date) -> dict[str, Writer]:
    """File name → what writes it: the page, the summary as a table, and the figure."""
    sentences = operator_sentences(operators)
    figure = operators_figure(
        operators.rows[operators.rows["precision"] == "bf16"],
        title=sentences[0].split(" (median")[0] + " (medians)",
        subtitle=f"BF16; {PACKAGE} {operators.release}; specsim {specsim.__version__}",
    )
    return {
        "operators.md": text_writer(_page(operators, sentences, today)),
        "operators.csv": table_writer(operators.summary),
        "operators.png": bytes_writer(png_bytes(figure)),
    }


def _page(operators: Operators, sentences: Sequence[str], today: date) -> str:
    summary = operators.summary
    products = summary[(summary["operator"] == "matrix product") & (summary["precision"] != "bf16")]
    parts = [
        "# Operators: predicted against measured",
        f"Made by `specsim validate --operators` on {today.isoformat()}, specsim {specsim.__version__}, from {PACKAGE} "
        f"{operators.release} (PyPI, Apache-2.0).",
        "\n".join(f"- {sentence}" for sentence in sentences),
        "![Error against size](operators.png)",
        WHAT,
        "Held out: median / p90. As numbers, with the classes left out here (wide heads, vast messages, FP8 caches): "
        "`operators.csv`.",
        "## BF16",
        _table(usual(summary)),
        "## Quantised matrix products",
        _table(products),
    ]
    return "\n\n".join(parts) + "\n"


def _table(summary: pd.DataFrame) -> str:
    lines = [COLUMNS, ["---"] * len(COLUMNS), *operator_rows(summary)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
