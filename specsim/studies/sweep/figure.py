"""Speedups over one field of a grid, a line for each value of another. Knows nothing of how they came about."""

from __future__ import annotations

from textwrap import fill

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from specsim.reporting.labels import EndLabel, label_ends
from specsim.reporting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, STYLE, VERMILLION, new_figure

COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, INK, GREY)
LETTER = 0.0072
"""Widths of the figure that a letter of a line's name takes."""
LINE = 0.032
"""Heights of the figure that a line of a name takes."""
UPRIGHT = LETTER * 1200 / 700
"""Heights of the figure that a letter of an upright name takes."""
NARROW = 9
"""Letters that must fit between two places for names to be broken into lines."""
UP = 45
"""Letters in a line beside the axis, which is low where names stand upright."""
WIDE = 8.0
"""From that ratio of the largest value to the smallest on, the axis is logarithmic."""


def sweep_figure(points: pd.DataFrame, *, title: str, subtitle: str, across: str, up: str, lines: str) -> Figure:
    """A line of speedups with its band for each value of ``line``.

    Args:
        points: one row per cell with the columns x (numbers or texts), line, speedup, low and high.
        title: in one line.
        subtitle: what was simulated.
        across: what x is.
        up: what speedups are of.
        lines: what lines are; empty where there is one.
    """
    named = not pd.api.types.is_numeric_dtype(points["x"])
    places = list(dict.fromkeys(points["x"]))
    with mpl.rc_context(STYLE):
        figure = new_figure(1200, 700)
        axes = figure.subplots()
        longest = max(map(len, points["line"]))
        figure.subplots_adjust(left=0.09, right=min(0.92, 0.94 - LETTER * longest), top=0.84, bottom=0.11)
        figure.text(0.02, 0.95, title, fontsize=14, weight="bold", va="center")
        figure.text(0.02, 0.905, subtitle, fontsize=11, color=GREY, va="center")
        drawn = points.assign(x=[places.index(x) for x in points["x"]]) if named else points
        if named:
            _name_ticks(figure, axes, places)
        else:
            _scale(axes, points["x"])
        axes.axhline(1.0, color=INK, linewidth=1.2, zorder=1)
        labels = [_draw(axes, drawn[drawn["line"] == line], line, colour) for line, colour in _lines(drawn)]
        axes.set_xlabel(across)
        axes.set_ylabel(fill(up, UP))
        axes.set_ylim(axes.get_ylim())  # as they are now, which is where labels are put by
        if lines:
            figure.text(0.98, 0.875, lines, color=GREY, fontsize=10, ha="right", va="center")
            label_ends(axes, labels)
        return figure


def _lines(points: pd.DataFrame) -> list[tuple[str, str]]:
    """Each line in order, with its colour."""
    return list(zip(dict.fromkeys(points["line"]), COLOURS, strict=False))


def _name_ticks(figure: Figure, axes: Axes, names: list[str]) -> None:
    """Names under their places, broken into lines as narrow as the places; upright where even words would not fit."""
    room = int(axes.get_position().width / len(names) / LETTER)
    if room >= NARROW or max(map(len, names)) <= room:
        texts = [fill(name, max(room - 1, 1)) for name in names]
        high = LINE * max(text.count("\n") + 1 for text in texts)
        axes.set_xticks(range(len(names)), texts)
    else:
        high = UPRIGHT * max(map(len, names))
        axes.set_xticks(range(len(names)), names, rotation=90)
    figure.subplots_adjust(bottom=0.08 + high)


def _scale(axes: Axes, x: pd.Series[float]) -> None:
    places = sorted(set(x))
    if places[0] > 0 and places[-1] / places[0] >= WIDE:
        axes.set_xscale("log")
    axes.set_xticks(places)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _draw(axes: Axes, points: pd.DataFrame, name: str, colour: str) -> EndLabel:
    points = points.sort_values("x")
    axes.fill_between(points["x"], points["low"], points["high"], color=colour, alpha=0.18, linewidth=0)
    axes.plot(points["x"], points["speedup"], color=colour, linewidth=2, marker="o", markersize=5)
    last = points.iloc[-1]
    return EndLabel(name, float(last["x"]), float(last["speedup"]), colour, bold=False)
