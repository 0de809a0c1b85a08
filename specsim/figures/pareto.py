"""Tokens/s/user against tokens/s/GPU, a line for each arm of each scenario, and the frontier over all of them.

Knows nothing of how the points came about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from specsim.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, STYLE, VERMILLION, new_figure

COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, INK)
MARKERS = "os^DvPX*"
"""Of another number than the colours, so that 56 scenarios differ in one or the other, and in grey by markers alone."""
LABELLED = 4
"""Batches named on a line, besides its first."""
BAND = "#F3DE8A"
"""Of the frontier: pale enough for lines to be read on it, in grey too."""


class ParetoLine(NamedTuple):
    """An arm of a scenario.

    Attributes:
        scenario: its name.
        arm: what it drafts, in words; empty without speculation.
        featured: whether it is the one whose batches are named.
        batches: requests in flight, ascending.
        per_user, per_gpu: tokens/s/user and tokens/s/GPU at these.
    """

    scenario: str
    arm: str
    featured: bool
    batches: Sequence[int]
    per_user: NDArray[np.float64]
    per_gpu: NDArray[np.float64]


def pareto_figure(
    lines: Sequence[ParetoLine], frontier: Sequence[tuple[float, float]], *, title: Sequence[str], subtitle: str
) -> Figure:
    """Both axes logarithmic, so that equal ratios are equal lengths.

    Args:
        lines: arms in the order of their scenarios.
        frontier: (tokens/s/user, tokens/s/GPU) of its members, in the order of the first.
        title: what was found, in one line or two.
        subtitle: what was compared.
    """
    names = list(dict.fromkeys(line.scenario for line in lines))
    with mpl.rc_context(STYLE):
        figure = new_figure(1200, 860)
        axes = figure.add_axes((0.085, 0.085, 0.62, 0.76))
        figure.text(
            0.02, 0.965 if len(title) == 1 else 0.955, "\n".join(title), fontsize=14, weight="bold", va="center"
        )
        figure.text(0.02, 0.895, subtitle, fontsize=11, color=GREY, va="center")
        axes.plot(*np.array(frontier).T, color=BAND, linewidth=13, solid_capstyle="round", zorder=1)
        for line in lines:
            _draw(axes, line, names.index(line.scenario))
        _scales(axes, lines)
        axes.set_xlabel("tokens/s/user: a request's rate after its first token (logarithmic)")
        axes.set_ylabel("output tokens/s/GPU (logarithmic)")
        _legend(axes, lines, names)
        return figure


def _draw(axes: Axes, line: ParetoLine, place: int) -> None:
    colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
    thick = line.featured or not line.arm
    axes.plot(
        line.per_user, line.per_gpu, color=colour, marker=marker, markersize=6.5 if thick else 4.5,
        linewidth=2.2 if thick else 1.2, linestyle=_style(line),
        markerfacecolor=colour if line.arm else "white", zorder=3 if thick else 2,
    )  # fmt: skip
    if line.featured:
        for i in _named(line.batches):
            axes.annotate(
                f"{line.batches[i]:,}", (line.per_user[i], line.per_gpu[i]), xytext=(8, 4), textcoords="offset points",
                fontsize=9, color=colour, zorder=4,
            )  # fmt: skip


def _style(line: ParetoLine) -> Literal["-", "--"]:
    return "-" if line.arm else "--"


def _named(batches: Sequence[int]) -> list[int]:
    """Places of the batches to be named: the first, the last and some between, evenly spread."""
    last = len(batches) - 1
    return sorted({round(last * i / LABELLED) for i in range(LABELLED + 1)})


def _scales(axes: Axes, lines: Sequence[ParetoLine]) -> None:
    for axis, values in (("x", [line.per_user for line in lines]), ("y", [line.per_gpu for line in lines])):
        every = np.concatenate(values)
        low, high = float(np.nanmin(every)), float(np.nanmax(every))
        room = (high / low) ** 0.06 if high > low else 1.5
        getattr(axes, f"set_{axis}scale")("log")
        getattr(axes, f"set_{axis}lim")(low / room, high * room)
        own = getattr(axes, f"{axis}axis")
        own.set_major_locator(LogLocator(subs=(1, 2, 5)))
        own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        own.set_minor_formatter(NullFormatter())


def _legend(axes: Axes, lines: Sequence[ParetoLine], names: Sequence[str]) -> None:
    """Right of the panel: each arm under its scenario's colour, then what is common to all."""
    handles = [
        Line2D(
            [], [], color=COLOURS[names.index(line.scenario) % len(COLOURS)],
            marker=MARKERS[names.index(line.scenario) % len(MARKERS)], linestyle=_style(line), linewidth=2,
            markerfacecolor=COLOURS[names.index(line.scenario) % len(COLOURS)] if line.arm else "white",
            label=f"{line.scenario}\n{line.arm or 'without speculation'}",
        )
        for line in lines
    ]  # fmt: skip
    handles.append(Line2D([], [], color=BAND, linewidth=13, label="frontier over all"))
    axes.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, handlelength=3.2, fontsize=10,
        labelspacing=0.7, title="numbers on lines: requests in flight", title_fontsize=10, alignment="left",
    )  # fmt: skip
