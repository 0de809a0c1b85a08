"""A search drawn: the cost of every trial by the value of each setting. Knows nothing of what settings mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from specsim.reporting.style import BLUE, GREY, INK, STYLE, VERMILLION, new_figure

SPREAD = 0.22  # of the room of a value over which its trials are spread, so that equal ones do not hide each other
MARGIN = 1.2  # values that the edges of a panel take
LONG = 5  # letters of a value's name, from which names are written aslant


class OptimizePoint(NamedTuple):
    """A trial.

    Attributes:
        values: of each panel's setting.
        cost: of a million tokens.
        best: whether it is the answer.
    """

    values: tuple[str, ...]
    cost: float
    best: bool


def optimize_figure(
    points: Sequence[OptimizePoint],
    panels: Sequence[tuple[str, list[str]]],
    *,
    title: str,
    subtitle: str,
    legend: str,
    up: str,
) -> Figure:
    """A panel for each setting, all with the same costs.

    Args:
        points: trials that have a cost.
        panels: (name, values in order) of each setting.
        title, subtitle: what is drawn.
        legend: what the marks are.
        up: what the cost is in.
    """
    with mpl.rc_context(STYLE):
        figure = new_figure(1200, 620)
        figure.text(0.02, 0.945, title, fontsize=14, weight="bold", va="center")
        figure.text(0.02, 0.895, subtitle, fontsize=11, color=GREY, va="center")
        figure.text(0.02, 0.855, legend, fontsize=11, color=GREY, va="center")
        wide = [len(values) + MARGIN for _, values in panels]
        grid = figure.add_gridspec(1, len(panels), width_ratios=wide, wspace=0.06)
        grid.update(left=0.075, right=0.985, top=0.8, bottom=0.19)
        first: Axes | None = None
        for place, (name, values) in enumerate(panels):
            axes = figure.add_subplot(grid[place], sharey=first)
            _draw(axes, [(point.values[place], point) for point in points], values)
            axes.set_xlabel(name)
            if first is None:
                first = axes
                _scale(axes, [point.cost for point in points])
                axes.set_ylabel(up)
            else:
                axes.tick_params(labelleft=False)
        return figure


def _draw(axes: Axes, points: Sequence[tuple[str, OptimizePoint]], values: Sequence[str]) -> None:
    """Trials as dots, spread sideways in the order in which they were made; the cheapest of each value marked."""
    cheapest = []
    for place, value in enumerate(values):
        own = [point for chosen, point in points if chosen == value]
        sideways = np.linspace(-SPREAD, SPREAD, len(own)) if len(own) > 1 else np.zeros(len(own))
        for aside, point in zip(sideways, own, strict=True):
            axes.plot(place + aside, point.cost, "o", color=GREY, alpha=0.55, markersize=5, markeredgewidth=0, zorder=2)
            if point.best:
                axes.plot(place + aside, point.cost, "D", color=VERMILLION, markersize=9, zorder=4)
        if own:
            cheapest.append((place, min(point.cost for point in own)))
    axes.plot(
        *zip(*cheapest, strict=True), color=BLUE, linestyle="", marker="_", markersize=26, markeredgewidth=2.5, zorder=3
    )
    aslant = max(map(len, values)) > LONG
    axes.set_xticks(range(len(values)), values, rotation=35 if aslant else 0, ha="right" if aslant else "center")
    axes.set_xlim(-MARGIN / 2 - 0.1, len(values) - 1 + MARGIN / 2 + 0.1)
    axes.grid(axis="x", visible=False)


def _scale(axes: Axes, costs: Sequence[float]) -> None:
    axes.set_yscale("log")
    low, high = min(costs), max(costs)
    axes.set_ylim(low / 1.06, max(high * 1.06, low * 1.2))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="y", colors=INK, which="major")
