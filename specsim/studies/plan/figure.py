"""A plan drawn: the rate of each arm with those of its seeds, and replicas over time where the demand changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from specsim.reporting.style import BLUE, GREY, INK, ORANGE, PALE, STYLE, new_figure

ROW, HEAD, SERIES = 34, 190, 330
"""Heights of an arm, of title and axis, and of the panel of replicas [pixels]."""
HOUR, MINUTE = 3600.0, 60.0


class PlanBar(NamedTuple):
    """An arm.

    Attributes:
        name: what it is called.
        bound: its lower bound [requests/s].
        rates: of each seed [requests/s].
        best: whether it is the answer.
    """

    name: str
    bound: float
    rates: NDArray[np.float64]
    best: bool


def plan_figure(bars: Sequence[PlanBar], *, title: str, subtitle: str, replicas: pd.DataFrame | None) -> Figure:
    """Rates by arm, from the top down in their order.

    Args:
        bars: the arms.
        title, subtitle: what is drawn.
        replicas: start_s, seconds, requests_per_s and replicas by period; None to leave that panel out.
    """
    with mpl.rc_context(STYLE):
        below = 0 if replicas is None else SERIES
        height = HEAD + ROW * len(bars) + below
        figure = new_figure(1200, height)
        figure.text(0.02, 1 - 34 / height, title, fontsize=15, weight="bold", va="center")
        figure.text(0.02, 1 - 66 / height, subtitle, fontsize=11, color=GREY, va="center")
        axes = figure.add_axes((0.37, (70 + below) / height, 0.6, ROW * len(bars) / height))
        _draw_rates(axes, bars)
        if replicas is not None:
            _draw_replicas(figure.add_axes((0.08, 70 / height, 0.84, (below - 110) / height)), replicas)
        return figure


def _draw_rates(axes: Axes, bars: Sequence[PlanBar]) -> None:
    places = np.arange(len(bars))
    axes.barh(places, [bar.bound for bar in bars], color=[BLUE if bar.best else PALE for bar in bars], height=0.66)
    for place, bar in enumerate(bars):
        if bar.bound:
            axes.plot(bar.rates, np.full(len(bar.rates), place), "|", color=INK, markersize=9, zorder=3)
            text, colour = f"{bar.bound:.3g}", "white" if bar.best else INK
            axes.text(bar.bound * 0.985, place, text, ha="right", va="center", color=colour, weight="bold")
        else:
            axes.text(0, place, " misses a limit even in an empty system, or at every rate", va="center", color=GREY)
    axes.set_yticks(places, [bar.name for bar in bars])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 1.06 * max(float(bar.rates.max()) for bar in bars))
    axes.set_xlabel("requests/s: bars end at the lower bound, ticks are the largest rates of seeds")


def _draw_replicas(axes: Axes, table: pd.DataFrame) -> None:
    edges = np.append(table["start_s"], table["start_s"].iloc[-1] + table["seconds"].iloc[-1])
    unit, name = (HOUR, "h") if edges[-1] > 2 * HOUR else (MINUTE, "min") if edges[-1] > 2 * MINUTE else (1.0, "s")
    axes.stairs(table["replicas"], edges / unit, color=BLUE, linewidth=2.2, baseline=None)
    axes.set_xlim(0, edges[-1] / unit)
    axes.set_ylim(0, 1.15 * float(table["replicas"].max()))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"time [{name}]")
    axes.set_ylabel("replicas", color=BLUE)
    rate = axes.twinx()
    rate.stairs(table["requests_per_s"], edges / unit, color=ORANGE, linewidth=1.2, baseline=None)
    rate.set_ylim(0, 1.15 * float(table["requests_per_s"].max()))
    rate.grid(visible=False)
    rate.set_ylabel("requests/s", color=ORANGE)
