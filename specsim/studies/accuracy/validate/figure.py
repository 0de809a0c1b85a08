"""Predicted against measured: a parity plot of speedups, and their errors against load.

Knows nothing of how either came about.
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator, NullLocator

from specsim.reporting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, STYLE, VERMILLION, new_figure

COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
TOLERANCE = 0.08
"""Half-width of the band that is tinted."""


def parity_figure(points: pd.DataFrame, *, title: str, subtitle: str) -> Figure:
    """Left: predicted over measured speedup; right: the error against load.

    Args:
        points: one row per point with the columns sweep, split, load, num_draft_tokens, measured_speedup,
            predicted_speedup and error_speedup; confounded rows and those without a prediction are left out, and one is
            left at least.
        title: what was found, in one line.
        subtitle: what it was found for.
    """
    known = points.dropna(subset=["measured_speedup", "predicted_speedup"])
    known = known[known["split"] != "confounded"]
    with mpl.rc_context(STYLE):
        figure = new_figure(1300, 660)
        parity, errors = figure.subplots(1, 2, width_ratios=(1, 1.12))
        figure.subplots_adjust(left=0.06, right=0.975, top=0.84, bottom=0.1, wspace=0.2)
        figure.text(0.02, 0.948, title, fontsize=15, weight="bold", va="center")
        figure.text(0.02, 0.895, subtitle, fontsize=11, color=GREY, va="center")
        groups = _groups(known)
        _draw_parity(parity, groups)
        _draw_errors(errors, groups)
        return figure


def _groups(known: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """(name, colour, rows): sweeps whose names begin alike up to the first hyphen share a colour."""
    family = known["sweep"].str.split("-").str[0]
    names = list(dict.fromkeys(family))
    colours = [COLOURS[i] if i < len(COLOURS) else GREY for i in range(len(names))]
    return [(name, colour, known[family == name]) for name, colour in zip(names, colours, strict=True)]


def _points(axes: Axes, x: pd.Series[float], y: pd.Series[float], rows: pd.DataFrame, colour: str, label: str) -> None:
    """Filled where the prediction is put to the test, hollow where calibration may look, crosses beside."""
    marks = {"validation": ("o", colour), "calibration": ("o", "white")}
    for split in dict.fromkeys(rows["split"]):
        chosen = rows["split"] == split
        marker, face = marks.get(split, ("X", colour))
        axes.scatter(
            x[chosen], y[chosen], s=46, marker=marker, facecolors=face, edgecolors=colour, linewidths=1.4, zorder=3,
        )  # fmt: skip
    axes.scatter([], [], s=46, color=colour, label=label)


def _draw_parity(axes: Axes, groups: list[tuple[str, str, pd.DataFrame]]) -> None:
    columns = ["measured_speedup", "predicted_speedup"]
    values = np.concatenate([rows[columns].to_numpy(dtype=float).ravel() for _, _, rows in groups])
    low, high = 0.93 * min(values.min(), 1.0), 1.07 * max(values.max(), 1.0)
    line = np.array([low, high])
    axes.fill_between(line, line * (1 - TOLERANCE), line * (1 + TOLERANCE), color=GREY, alpha=0.15, linewidth=0)
    axes.plot(line, line, color=INK, linewidth=1.2)
    for through_one in (axes.axvline, axes.axhline):
        through_one(1.0, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    for name, colour, rows in groups:
        _points(axes, rows["measured_speedup"], rows["predicted_speedup"], rows, colour, name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MultipleLocator(0.5))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    axes.set_xlabel("measured speedup")
    axes.set_ylabel("predicted speedup")
    axes.legend(loc="lower right", handletextpad=0.2)


def _draw_errors(axes: Axes, groups: list[tuple[str, str, pd.DataFrame]]) -> None:
    axes.axhspan(-TOLERANCE, TOLERANCE, color=GREY, alpha=0.15, linewidth=0)
    axes.axhline(0, color=INK, linewidth=1.2)
    for name, colour, rows in groups:
        for _, line in rows.sort_values("load").groupby(["sweep", "num_draft_tokens"]):
            axes.plot(line["load"], line["error_speedup"], color=colour, linewidth=0.8, alpha=0.6, zorder=2)
        _points(axes, rows["load"], rows["error_speedup"], rows, colour, name)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda load, _: f"{load:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda error, _: f"{error:+.0%}" if error else "0"))
    axes.set_xlabel("load: requests in flight (logarithmic)")
    axes.set_ylabel("error of the predicted speedup")
    axes.set_title(
        f"band: ±{TOLERANCE:.0%};  filled: validation,  hollow: calibration may see it,  cross: beside, not counted",
        fontsize=9.5, color=GREY, loc="right",
    )  # fmt: skip
