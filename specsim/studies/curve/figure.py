"""The main figure: throughput and speedup against batch, and where speculation stops paying.

Knows nothing of how the table was measured or simulated, and computes no statistics: bands, crossings and the closed
form are given to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from specsim.analysis.crossings import Crossings
from specsim.reporting.labels import EndLabel, label_ends
from specsim.reporting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, STYLE, VERMILLION, new_figure
from specsim.studies.curve.marks import crossing_label, mark_crossing, mark_free_verify, mark_running_limit, shade

OTHER_COLOURS = (ORANGE, GREEN, PURPLE, SKY, VERMILLION)


def curve_figure(
    table: pd.DataFrame,
    *,
    title: str,
    subtitle: str,
    highlight: int,
    crossings: Crossings,
    free_verify_batch: float | None,
    running_limit: float | None = None,
    draft_name: Callable[[int], str] = "K = {}".format,
) -> Figure:
    """Throughput against batch above, speedup against batch below.

    Args:
        table: one row per batch and draft length, with the columns batch [requests], num_draft_tokens (0 for without
            speculation), tokens_per_s, speedup, each of these two also with _low and _high, and closed_form_speedup
            (NaN where the closed form does not apply). Rows with a closed form only, the rest NaN, draw its bends
            between the batches measured. Further columns are left alone.
        title: what was found, in one line.
        subtitle: what it was found for.
        highlight: the draft length that the crossings belong to; drawn thicker than the others.
        crossings: of the highlighted draft length's speedup.
        free_verify_batch: where its verifying stops being free [requests]; None to leave it out.
        running_limit: requests that run at once however many are in flight; None where all do.
        draft_name: draft length → what its lines are called.
    """
    with mpl.rc_context(STYLE):
        figure = new_figure()
        throughput, speedup = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.15))
        figure.subplots_adjust(left=0.085, right=0.86, top=0.885, bottom=0.075, hspace=0.2)
        figure.text(0.02, 0.962, title, fontsize=16, weight="bold", va="center")
        figure.text(0.02, 0.925, subtitle, fontsize=11, color=GREY, va="center")
        lines = _lines(table, highlight)
        batch_axis(speedup, sorted(table.dropna(subset="tokens_per_s")["batch"].unique()))
        _draw_throughput(throughput, lines, highlight, draft_name)
        _draw_speedup(speedup, lines, highlight, draft_name)
        shade(speedup, crossings)
        for number, crossing in enumerate(crossings.crossings):
            label = crossing_label(crossing, alone=len(crossings.crossings) == 1)
            mark_crossing(speedup, crossing, label, row=number % 2)
        if free_verify_batch is not None:
            mark_free_verify(throughput, speedup, free_verify_batch)
        if running_limit is not None:
            mark_running_limit(throughput, speedup, running_limit)
        return figure


def _lines(table: pd.DataFrame, highlight: int) -> dict[int, tuple[pd.DataFrame, str]]:
    """Draft length → (its rows by batch, its colour); the highlighted one last, so that it lies on top."""
    lengths = sorted(int(length) for length in table["num_draft_tokens"].unique())
    others = [length for length in lengths if length not in (0, highlight)]
    colours = {length: OTHER_COLOURS[i % len(OTHER_COLOURS)] for i, length in enumerate(others)}
    colours |= {0: GREY, highlight: BLUE}
    ordered = [length for length in lengths if length != highlight] + [highlight]
    return {
        length: (table[table["num_draft_tokens"] == length].sort_values("batch"), colours[length]) for length in ordered
    }


def batch_axis(axes: Axes, batches: list[int]) -> None:
    """Logarithmic, with the batches themselves as ticks, or powers of two where they would crowd."""
    crowded = len(batches) > 12 or any(right < 1.3 * left for left, right in pairwise(batches))
    powers = [2.0**i for i in range(math.floor(math.log2(batches[0])), math.ceil(math.log2(batches[-1])) + 1)]
    axes.set_xscale("log", base=2)
    # To the very ends, so that tinted regions fill the panel; a single batch needs some width.
    axes.set_xlim(*((batches[0], batches[-1]) if len(batches) > 1 else (batches[0] / 2, batches[0] * 2)))
    axes.xaxis.set_major_locator(FixedLocator(powers if crowded else [float(batch) for batch in batches]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda batch, _: f"{batch:,.0f}"))
    axes.set_xlabel("batch: requests in flight (logarithmic)")


def _draw_throughput(
    axes: Axes, lines: dict[int, tuple[pd.DataFrame, str]], highlight: int, draft_name: Callable[[int], str]
) -> None:
    labels = []
    for length, (rows, colour) in lines.items():
        thick = length in (0, highlight)
        line_with_band(axes, rows, "tokens_per_s", colour, thick)
        labels.append(
            end_label(rows, "tokens_per_s", draft_name(length) if length else "no speculation", colour, thick)
        )
    axes.set_ylim(0, 1.08 * max(rows["tokens_per_s"].max() for rows, _ in lines.values()))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:,.0f}"))
    axes.set_ylabel("output tokens/s")
    label_ends(axes, labels)


def _draw_speedup(
    axes: Axes, lines: dict[int, tuple[pd.DataFrame, str]], highlight: int, draft_name: Callable[[int], str]
) -> None:
    drawn = {length: line for length, line in lines.items() if length}
    axes.axhline(1.0, color=INK, linewidth=1.6, zorder=1.5)
    _draw_model(axes, drawn[highlight][0])
    for length, (rows, colour) in drawn.items():
        line_with_band(axes, rows, "speedup", colour, length == highlight)
    _draw_closed_form(axes, drawn[highlight][0], draft_name(highlight))
    _speedup_limits(axes, [rows for rows, _ in drawn.values()])
    axes.set_ylabel("speedup (output tokens/s, equal batch)")
    label_ends(
        axes,
        [
            end_label(rows, "speedup", draft_name(length), colour, length == highlight)
            for length, (rows, colour) in drawn.items()
        ],
    )


def _draw_model(axes: Axes, rows: pd.DataFrame) -> None:
    """Where nine in ten measurements would lie, by the model's error; nothing where that is not known."""
    if "speedup_model_low" not in rows:
        return
    known = rows.dropna(subset="speedup_model_low")
    low, high = (known[f"speedup_model_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    axes.fill_between(
        known["batch"], low, high, facecolor="none", edgecolor=BLUE, hatch="....", alpha=0.25, linewidth=0
    )
    axes.text(
        0.012, 0.03, "dotted: model's error, 90 %", transform=axes.transAxes, fontsize=10, color=BLUE, va="bottom"
    )


def _draw_closed_form(axes: Axes, rows: pd.DataFrame, draft: str) -> None:
    known = rows.dropna(subset="closed_form_speedup")
    if len(known) > 1:
        axes.plot(
            known["batch"], known["closed_form_speedup"], color=INK, linewidth=1.1, linestyle=(0, (5, 3)),
            label=f"closed form, {draft} (decode only)",
        )  # fmt: skip
        # Below the panel, where no curve, marker or tint can lie under it.
        axes.legend(loc="upper right", bbox_to_anchor=(1.0, -0.075), borderaxespad=0)


def _speedup_limits(axes: Axes, tables: list[pd.DataFrame]) -> None:
    """Every line and 1.0; a band wider than that is cut off rather than flatten the lines."""
    columns = ["speedup", "closed_form_speedup"]
    values = np.concatenate([rows[columns].to_numpy(dtype=float).ravel() for rows in tables] + [np.ones(1)])
    low, high = np.nanmin(values), np.nanmax(values)
    margin = 0.12 * max(high - low, 0.1)
    axes.set_ylim(max(0.0, low - margin), high + margin)


def line_with_band(axes: Axes, rows: pd.DataFrame, column: str, colour: str, thick: bool) -> None:
    """A column over the batches, with its interval from the columns of the same name with _low and _high."""
    known = rows.dropna(subset=column)
    low, high = (known[f"{column}_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    if np.all(np.isfinite(low) & np.isfinite(high)):  # one replication alone has no band
        axes.fill_between(known["batch"], low, high, color=colour, alpha=0.22 if thick else 0.12, linewidth=0)
    axes.plot(
        known["batch"], known[column], color=colour, linewidth=3.0 if thick else 1.4,
        marker="o", markersize=5.5 if thick else 3.5, clip_on=False, zorder=3 if thick else 2,
    )  # fmt: skip


def end_label(rows: pd.DataFrame, column: str, text: str, colour: str, bold: bool) -> EndLabel:
    """What stands at the end of such a line."""
    last = rows.dropna(subset=column).iloc[-1]
    return EndLabel(text, float(last["batch"]), float(last[column]), colour, bold)
