"""Marks on the speedup panel besides its lines: where speculation pays, where that changes, where verifying is free.

Knows nothing of lines and tables; it expects a logarithmic batch axis with its limits set.
"""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from specsim.analysis.crossings import Crossing, Crossings
from specsim.reporting.style import BLUE, INK, VERMILLION


def shade(axes: Axes, crossings: Crossings) -> None:
    """Tint the batches where the highlighted length pays and where it costs; the undecided stay white.

    Each word stands on its side of the line of 1.0: right above it what pays, at the foot of the panel what costs.
    """
    for spans, colour, word in ((crossings.pays, BLUE, "pays"), (crossings.costs, VERMILLION, "costs")):
        for span in spans:
            axes.axvspan(span.low, span.high, color=colour, alpha=0.08, linewidth=0, zorder=0.5)
            left, right = _across(axes, span.low), _across(axes, span.high)
            if right - left > 0.06:
                height = max(_up(axes, 1.0) + 0.015, 0.03) if word == "pays" else 0.03
                axes.text(
                    (left + right) / 2, height, word, transform=axes.transAxes, color=colour,
                    ha="center", va="bottom", fontsize=13, weight="bold",
                )  # fmt: skip


def _up(axes: Axes, speedup: float) -> float:
    """Where a speedup lies between the lower (0) and the upper (1) edge of the panel."""
    low, high = axes.get_ylim()
    return (speedup - low) / (high - low)


def _across(axes: Axes, batch: float) -> float:
    """Where a batch lies between the left (0) and the right (1) edge of the panel."""
    left, right = axes.get_xlim()
    return math.log(batch / left) / math.log(right / left)


def mark_crossing(axes: Axes, crossing: Crossing, label: str, row: int) -> None:
    """Its interval as a bar on the line of 1.0, its estimate as a diamond, hollow when not established.

    The label stands above the panel, where no curve can run through it, in one of two rows so that neighbours fit.
    """
    if crossing.low is not None or crossing.high is not None:  # an open end runs to the edge of the panel
        left, right = axes.get_xlim()
        ends = [crossing.low or left, crossing.high or right]
        axes.plot(ends, [1, 1], color=INK, linewidth=7, solid_capstyle="butt", zorder=4)
    face = INK if crossing.established else "white"
    axes.plot(crossing.batch, 1, marker="D", markersize=8, color=INK, markerfacecolor=face, zorder=5)
    axes.plot([crossing.batch] * 2, [1, axes.get_ylim()[1]], color=INK, linewidth=0.9, zorder=1.4)
    across = _across(axes, crossing.batch)
    axes.text(
        crossing.batch, 1.015 + 0.055 * row, label, transform=axes.get_xaxis_transform(),
        ha="left" if across < 0.2 else "right" if across > 0.8 else "center", va="bottom", weight="bold",
    )  # fmt: skip


def crossing_label(crossing: Crossing, alone: bool) -> str:
    """What happens at a crossing, at which batch, and between which bounds; shorter where it is not alone."""
    verb = "stops paying" if crossing.stops_paying else "starts paying"
    batch = "batch " if alone else ""
    if not crossing.established:
        return f"{verb} near {batch}{crossing.batch:.0f} (not established)"
    return f"{verb} at {batch}{crossing}"


def mark_free_verify(throughput: Axes, speedup: Axes, batch: float) -> None:
    """Where verifying stops being free: a dotted line, named at the foot of the upper panel."""
    _mark_batch(throughput, speedup, batch, f"verifying stops being free\nnear batch {batch:,.0f}", ":", height=0.04)


def mark_running_limit(throughput: Axes, speedup: Axes, batch: float) -> None:
    """How many requests run at once however many are in flight: a dash-dotted line, named above the other's name."""
    _mark_batch(throughput, speedup, batch, f"no more than {batch:,.0f}\nrun at once", "-.", height=0.2)


def _mark_batch(throughput: Axes, speedup: Axes, batch: float, text: str, linestyle: str, height: float) -> None:
    """A line through both panels; nothing beyond what was measured."""
    left, right = speedup.get_xlim()
    if not left <= batch <= right:
        return
    for axes in (throughput, speedup):
        axes.axvline(batch, color=INK, linewidth=1.5, linestyle=linestyle, zorder=1.4)
    leftward = _across(throughput, batch) > 0.78
    throughput.annotate(
        text,
        xy=(batch, height), xycoords=throughput.get_xaxis_transform(),
        xytext=(-6 if leftward else 6, 0), textcoords="offset points", ha="right" if leftward else "left",
        va="bottom", fontsize=10, bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.5}, zorder=6,
    )  # fmt: skip
