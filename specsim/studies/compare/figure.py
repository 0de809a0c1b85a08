"""Tokens/s/user against tokens/s/GPU, a line for each arm of each scenario, and the frontier over all of them.

Knows nothing of how the points came about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from specsim.reporting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, STYLE, VERMILLION, new_figure

COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, INK)
MARKERS = "os^DvPX*"
"""Of another number than the colours, so that 56 scenarios differ in one or the other, and in grey by markers alone."""
DRAFTED = ("-", "-.", ":")
FILLS = ("full", "left", "bottom", "right", "top")
"""Lines and marks of a scenario's drafting arms; of other numbers, so that 15 differ in one or the other."""
LABELLED = 6
"""Batches named on a line, besides its first."""
LETTER, HEIGHT, MARKER = 8.5, 15.0, 4.0
"""Of a batch's name the width of a letter and the height, and half of a marker [pixels]."""
BAND, HALO = "#F3DE8A", 17
"""Colour of the frontier, pale enough for marks to be read on it, in grey too, and width of its points."""


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
    """Both axes linear and from 0 on.

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
        # points alone: what lies between two of them nobody simulated
        axes.plot(*np.array(frontier).T, color=BAND, linestyle="", marker="o", markersize=HALO, zorder=1)
        for line, number in zip(lines, _numbers(lines), strict=True):
            _draw(axes, line, names.index(line.scenario), number)
        axes.set_xlim(0, 1.06 * max(float(np.nanmax(line.per_user)) for line in lines))
        axes.set_ylim(0, 1.06 * max(float(np.nanmax(line.per_gpu)) for line in lines))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.set_xlabel("tokens/s/user: a request's rate after its first token")
        axes.set_ylabel("output tokens/s/GPU")
        _name_batches(axes, lines, names)
        _legend(axes, lines, names)
        return figure


def _draw(axes: Axes, line: ParetoLine, place: int, number: int) -> None:
    thick = line.featured or not line.arm
    axes.plot(
        line.per_user, line.per_gpu, markersize=7 if thick else 6, linewidth=2.2 if thick else 1.2,
        zorder=3 if thick else 2, **_look(place, number),
    )  # fmt: skip


def _look(place: int, number: int) -> dict[str, Any]:
    """Colour and mark of a scenario; line, and how the mark is filled, of its arm: dashed and hollow without drafts."""
    colour = _colour(place)
    look: dict[str, Any] = {"color": colour, "marker": _marker(place), "markerfacecoloralt": "white"}
    if number < 0:
        return look | {"linestyle": "--", "markerfacecolor": "white"}
    return look | {"linestyle": DRAFTED[number % len(DRAFTED)], "fillstyle": FILLS[number % len(FILLS)]}


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _marker(place: int) -> str:
    return MARKERS[place % len(MARKERS)]


def _numbers(lines: Sequence[ParetoLine]) -> list[int]:
    """Of each line its number among the drafting arms of its scenario; -1 without speculation."""
    found, seen = list[int](), Counter[str]()
    for line in lines:
        found.append(seen[line.scenario] if line.arm else -1)
        seen[line.scenario] += bool(line.arm)
    return found


def _name_batches(axes: Axes, lines: Sequence[ParetoLine], names: Sequence[str]) -> None:
    """Beside their points, where they cover neither a point nor each other; else left out. Limits have to be final."""
    points = [axes.transData.transform(np.column_stack((line.per_user, line.per_gpu))) for line in lines]
    everything, taken = np.concatenate(points), list[tuple[float, float, float, float]]()
    for line, own in zip(lines, points, strict=True):
        for i in _named(line.batches) if line.featured else ():
            text = f"{line.batches[i]:,}"
            width = LETTER * len(text)
            for dx, dy in ((8, 4), (8, -4 - HEIGHT), (-8 - width, -4 - HEIGHT), (-8 - width, 4)):
                left, low = own[i] + (dx, dy)
                box = (float(left), float(low), float(left) + width, float(low) + HEIGHT)
                if not (_covers(box, everything) or any(_meet(box, other) for other in taken)):
                    taken.append(box)
                    x, y = axes.transData.inverted().transform((left, low))
                    axes.text(
                        x, y, text, fontsize=9, color=_colour(names.index(line.scenario)), va="bottom", zorder=4,
                        path_effects=[withStroke(linewidth=2.5, foreground="white")],
                    )  # fmt: skip
                    break


def _covers(box: tuple[float, float, float, float], points: NDArray[np.float64]) -> bool:
    """Whether the marker of a point reaches into a box; points [points, 2], all in pixels."""
    left, low, right, high = box
    x, y = points.T
    return bool(((left - MARKER < x) & (x < right + MARKER) & (low - MARKER < y) & (y < high + MARKER)).any())


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _named(batches: Sequence[int]) -> list[int]:
    """Places of the batches to be named: the first, the last and some between, evenly spread."""
    last = len(batches) - 1
    return sorted({round(last * i / LABELLED) for i in range(LABELLED + 1)})


def _legend(axes: Axes, lines: Sequence[ParetoLine], names: Sequence[str]) -> None:
    """Right of the panel: each arm under its scenario's colour, then what is common to all."""
    handles = [
        Line2D(
            [], [], linewidth=2, markersize=7, label=f"{line.scenario}\n{line.arm or 'without speculation'}",
            **_look(names.index(line.scenario), number),
        )
        for line, number in zip(lines, _numbers(lines), strict=True)
    ]  # fmt: skip
    handles.append(Line2D([], [], color=BAND, linestyle="", marker="o", markersize=HALO, label="frontier over all"))
    axes.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, handlelength=4.5, fontsize=10,
        labelspacing=0.7, title="numbers on lines: requests in flight", title_fontsize=10, alignment="left",
    )  # fmt: skip
