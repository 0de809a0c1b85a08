"""The answer of priced operators whole: sentences, tables, the figure, and the page that docs keep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import specsim
from specsim.inputs.measured.operator_tables import PACKAGE
from specsim.reporting.columns import Described, FrameTable
from specsim.reporting.folders import text_writer
from specsim.reporting.publish import Answer
from specsim.studies.accuracy.operators.run import Operators
from specsim.studies.accuracy.operators.text import operator_sentences, operator_table, page_table, usual

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHAT = """\
Each operator is priced by the functions that price steps, under the device's profile as it is in `hardware/`: one
profile for all serving stacks. Errors are predicted / measured - 1. Times in the tables are those of one kernel
repeated back to back: KV below about 50 MB and weights below about 8 MB stay in the L2 cache there, as they do not
within a step. Not all rows time the device alone: with one scale per 128 numbers (`fp8_block`) vLLM's rows are flat
at 60-190 µs from 1 to 1024 rows, as if the host's launches were timed. Held out: shapes whose CRC-32 modulo 5 is 0,
which `benchmarks/fit_operators.py` does not fit; only what a profile's sources say was fitted by it is judged by them,
the other figures saw all shapes. Routed
experts are priced under uniform routing, whatever the table's routing is."""
ERRORS = {
    "rows": ("", "measurements"),
    "median": ("", "median of absolute errors, predicted / measured - 1"),
    "p90": ("", "90th percentile of absolute errors"),
    "bias": ("", "mean error"),
}
SUMMARY: Described = {
    "device": ("", "catalogue name of the device"),
    "operator": ("", "what was timed"),
    "precision": ("", "of weights, or of the KV cache"),
    "size_class": ("", "range of sizes, and of rows or tokens"),
    "stack": ("", "serving stack whose kernel was timed, with its version"),
    **ERRORS,
    **{f"held_out_{name}": (unit, f"{what}, of shapes held out of fits") for name, (unit, what) in ERRORS.items()},
}


def operators_answer(operators: Operators, *, drawn: bool) -> Answer:
    """What ``specsim validate --operators`` prints and writes; a figure where it is to be drawn."""
    sentences = operator_sentences(operators)
    return Answer(
        sentences=sentences,
        tables=[operator_table(operators), FrameTable(operators.summary, SUMMARY, "operators.csv")],
        figures={"operators": _figure(operators, sentences[0])} if drawn else {},
        files={"operators.md": text_writer(_page(operators, sentences))},
    )


def _figure(operators: Operators, answer: str) -> Figure:
    from specsim.studies.accuracy.operators.figure import operators_figure

    return operators_figure(
        operators.rows[operators.rows["precision"] == "bf16"],
        title=answer.split(" (median")[0] + " (medians)",
        subtitle=f"BF16; {PACKAGE} {operators.release}; specsim {specsim.__version__}",
    )


def _page(operators: Operators, sentences: Sequence[str]) -> str:
    summary = operators.summary
    products = summary[(summary["operator"] == "matrix product") & (summary["precision"] != "bf16")]
    parts = [
        "# Operators: predicted against measured",
        f"Made by `specsim validate --operators` on {date.today().isoformat()}, specsim {specsim.__version__}, from "
        f"{PACKAGE} {operators.release} (PyPI, Apache-2.0).",
        "\n".join(f"- {sentence}" for sentence in sentences),
        "![Error against size](operators.png)",
        WHAT,
        "Held out: median / p90. As numbers, with the classes left out here (wide heads, vast messages, FP8 caches): "
        "`operators.csv`.",
        "## BF16",
        page_table(usual(summary)).markdown(),
        "## Quantised matrix products",
        page_table(products).markdown(),
    ]
    return "\n\n".join(parts) + "\n"
