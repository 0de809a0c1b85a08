"""Speedup against batch of every draft length, and of the schedule, whose ranges are marked.

Knows nothing of how the numbers came about.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from specsim.reporting.labels import label_ends
from specsim.reporting.style import GREY, INK, PALE, STYLE, new_figure
from specsim.studies.curve.figure import OTHER_COLOURS, batch_axis, end_label, line_with_band

LINE = 95
"""Characters of the title in a line."""


def decision_figure(
    points: pd.DataFrame,
    schedule: pd.DataFrame,
    ranges: Sequence[tuple[float, str]],
    *,
    title: str,
    subtitle: str,
    waits_from: float | None = None,
    draft_name: Callable[[int], str] = "K = {}".format,
) -> Figure:
    """One panel.

    Args:
        points: a row for each batch and draft length, with the columns batch, num_draft_tokens (0 for none), speedup,
            speedup_low and speedup_high.
        schedule: the same under the schedule, a row for each batch, without num_draft_tokens.
        ranges: of the schedule, ascending: first batch, and what is drafted there in a word.
        title: what was found.
        subtitle: what it was found for.
        waits_from: batch from which on not all requests run at once; None where all do.
        draft_name: draft length → what its line is called.
    """
    with mpl.rc_context(STYLE):
        figure = new_figure(1200, 700)
        axes = figure.add_axes((0.075, 0.1, 0.785, 0.7))
        lines = textwrap.wrap(title, LINE)
        for i, line in enumerate(lines):
            figure.text(0.02, 0.96 - 0.042 * i, line, fontsize=15, weight="bold", va="center")
        figure.text(0.02, 0.957 - 0.042 * len(lines), subtitle, fontsize=11, color=GREY, va="center")
        batches = sorted(points["batch"].unique())
        batch_axis(axes, batches)
        axes.axhline(1.0, color=INK, linewidth=1.6, zorder=1.5)
        labels = []
        for i, (length, rows) in enumerate(points[points["num_draft_tokens"] > 0].groupby("num_draft_tokens")):
            colour = OTHER_COLOURS[i % len(OTHER_COLOURS)]
            line_with_band(axes, rows.sort_values("batch"), "speedup", colour, False)
            labels.append(end_label(rows, "speedup", draft_name(int(str(length))), colour, False))
        line_with_band(axes, schedule, "speedup", INK, True)
        labels.append(end_label(schedule, "speedup", "schedule", INK, True))
        low = min(points["speedup_low"].min(), schedule["speedup_low"].min(), 1.0)
        high = max(points["speedup_high"].max(), schedule["speedup_high"].max(), 1.0)
        axes.set_ylim(low - 0.05 * (high - low), high + 0.1 * (high - low))
        axes.set_ylabel("speedup (output tokens/s, equal batch)")
        _mark_ranges(axes, ranges)
        if waits_from is not None and waits_from < axes.get_xlim()[1]:
            axes.axvspan(
                waits_from, axes.get_xlim()[1], facecolor=PALE, edgecolor=GREY, hatch="///", linewidth=0, zorder=0
            )
        label_ends(axes, labels)
        return figure


def _mark_ranges(axes: Axes, ranges: Sequence[tuple[float, str]]) -> None:
    """A line where each range begins, and above the panel what is drafted in it."""
    left, right = axes.get_xlim()
    shown = [(max(first, left), word) for first, word in ranges if first < right]
    ends = [*(first for first, _ in shown[1:]), right]
    for (first, word), end in zip(shown, ends, strict=True):
        if first > left:
            axes.axvline(first, color=INK, linewidth=1.2, linestyle=":", zorder=1.4)
        axes.text(
            (first * end) ** 0.5,
            1.015,
            word,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            weight="bold",
        )
