"""One run of each arm: how TTFT and TPOT are distributed, and how many requests run and wait over time.

Knows nothing of how the numbers came about.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from specsim.arrays import Floats
from specsim.reporting.style import BLUE, GREY, INK, STYLE, new_figure

LINE = 98
"""Characters of the title in a line."""
SUBTITLE_LINE = 150
MARKS = 400
"""Points of a line; more would not be seen."""
SHARES = np.linspace(0, 1, MARKS)
COLOURS = (GREY, BLUE)
"""Of the arm without speculation, and of that with it."""


class DrawnRun(NamedTuple):
    """What is drawn of a run.

    Attributes:
        name: of the arm.
        ttft, tpot: of the requests that have them, ascending or not [requests] [s].
        times: at which requests are counted, ascending [s].
        running, waiting: requests at these times.
    """

    name: str
    ttft: Floats
    tpot: Floats
    times: Floats
    running: Floats
    waiting: Floats


def load_figure(
    runs: Sequence[DrawnRun], limits: Mapping[str, Sequence[tuple[float, float]]], *, title: str, subtitle: str
) -> Figure:
    """Two panels of latencies above one of requests over time.

    Args:
        runs: without speculation, and with it.
        limits: ``ttft`` or ``tpot`` → (percentile, seconds) of what is asked of it.
        title: what was found.
        subtitle: what it was found for.
    """
    with mpl.rc_context(STYLE):
        figure = new_figure(1200, 800)
        lines = textwrap.wrap(title, LINE)
        for i, line in enumerate(lines):
            figure.text(0.02, 0.965 - 0.035 * i, line, fontsize=14, weight="bold", va="center")
        below = textwrap.wrap(subtitle, SUBTITLE_LINE)
        for i, line in enumerate(below, len(lines)):
            figure.text(0.02, 0.96 - 0.035 * i, line, fontsize=11, color=GREY, va="center")
        top = 0.915 - 0.035 * (len(lines) + len(below))
        for left, latency in ((0.07, "ttft"), (0.56, "tpot")):
            _distribution(figure.add_axes((left, 0.47, 0.41, top - 0.47)), latency, runs, limits.get(latency, ()))
        _over_time(figure.add_axes((0.07, 0.08, 0.9, 0.27)), runs)
        return figure


def _distribution(axes: Axes, latency: str, runs: Sequence[DrawnRun], limits: Sequence[tuple[float, float]]) -> None:
    """Share of requests whose latency is at most that long."""
    for run, colour in zip(runs, COLOURS, strict=False):
        seconds: Floats = getattr(run, latency)
        if seconds.size:
            axes.plot(1e3 * np.quantile(seconds, SHARES), 100 * SHARES, color=colour, linewidth=2, label=run.name)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for percentile, limit in limits:
        axes.plot([1e3 * limit], [percentile], marker="X", color=INK, markersize=9, linestyle="", clip_on=False)
        left, right = axes.get_xlim()
        leftward = (1e3 * limit) ** 2 > left * right  # its label on the side where there is room
        axes.annotate(
            f"limit: p{percentile:g} {1e3 * limit:g} ms",
            (1e3 * limit, percentile), xytext=(-8 if leftward else 8, -14), textcoords="offset points",
            ha="right" if leftward else "left", bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.5},
        )  # fmt: skip
    low, high = axes.get_xlim()
    if high / low < 20:  # of a narrow range the powers of ten say little
        axes.set_xticks(_round_ticks(low, high))
    axes.set_ylim(0, 100)
    axes.set_xlabel(f"{latency.upper()} [ms]")
    axes.set_ylabel("% of requests within")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.2)
    else:
        axes.text(0.5, 0.5, "no request has one", transform=axes.transAxes, ha="center", color=GREY)


def _round_ticks(low: float, high: float) -> list[float]:
    """One, two and five times powers of ten within a range, or what lies between where that is too few."""
    for factors in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
        ticks = [float(t) for t in np.outer(decades, factors).ravel() if low <= t <= high]
        if len(ticks) >= 3:
            return ticks
    return [float(f"{t:.3g}") for t in np.geomspace(low, high, 4)]


def _over_time(axes: Axes, runs: Sequence[DrawnRun]) -> None:
    """Requests that run, and dashed those that wait."""
    for run, colour in zip(runs, COLOURS, strict=False):
        axes.plot(run.times, run.running, color=colour, linewidth=1.6, label=f"{run.name}: running")
        if run.waiting.any():
            axes.plot(run.times, run.waiting, color=colour, linewidth=1.6, linestyle="--", label=f"{run.name}: waiting")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("requests")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, borderaxespad=0.2)
