"""A tornado: how far an answer moves as each input does. Knows nothing of what the inputs are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from specsim.figures.style import BLUE, GREY, INK, ORANGE, STYLE, new_figure

WIDTH, BAR, HEAD, FOOT = 1200, 62, 150, 75
"""Pixels: of the figure, of a bar with the gap below it, and of what stands above and below the bars."""
ROOM = 0.34  # beyond the longest bars, for their labels, as a share of what they span


class End(NamedTuple):
    """Where a bar ends.

    Attributes:
        value: of the answer.
        label: what stands there.
        known: False where the answer lies beyond.
    """

    value: float
    label: str
    known: bool


class TornadoBar(NamedTuple):
    """An input; an end that is None is not drawn."""

    name: str
    lower: End | None
    higher: End | None


def tornado_figure(
    bars: Sequence[TornadoBar], *, middle: End | None, change: float, axis: str, title: str, subtitle: str
) -> Figure:
    """A bar for each input, one under another, from the answer with a lower value to that with a higher.

    Args:
        bars: in their order from above.
        middle: the answer as inputs stand; None where there is none, and bars go from one end to the other.
        change: by which share inputs are lower and higher.
        axis: what the answer is.
        title: what was found, in one line.
        subtitle: what it was found for.
    """
    with mpl.rc_context(STYLE):
        height = HEAD + FOOT + BAR * len(bars)
        figure = new_figure(WIDTH, height)
        axes = figure.subplots()
        figure.subplots_adjust(left=0.2, right=0.95, top=1 - HEAD / height, bottom=FOOT / height)
        figure.text(0.02, 1 - 35 / height, title, fontsize=14, weight="bold", va="center")
        figure.text(0.02, 1 - 68 / height, subtitle, fontsize=11, color=GREY, va="center")
        at = middle.value if middle else None
        _limit(axes, bars, at)
        for place, bar in enumerate(bars):
            _draw(axes, place, bar, at)
        if middle is not None:
            axes.axvline(middle.value, color=INK, linewidth=1.2)
            axes.annotate(
                f"as it stands: {middle.label}", xy=(middle.value, 0), xycoords=axes.get_xaxis_transform(),
                xytext=(0, -32), textcoords="offset points", ha="center", annotation_clip=False,
            )  # fmt: skip
        axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
        axes.tick_params(axis="y", length=0, labelsize=12)
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlabel(axis, loc="right")
        axes.legend(
            handles=[
                Patch(facecolor=ORANGE, label=f"input {100 * change:g} % lower"),
                Patch(facecolor=BLUE, label=f"{100 * change:g} % higher"),
            ],
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.4, handlelength=1.1,
        )  # fmt: skip
        return figure


def _limit(axes: Axes, bars: Sequence[TornadoBar], middle: float | None) -> None:
    """Room for all bars and their labels; the answer's scale does not begin at 0, since bars are differences."""
    ends = [end.value for bar in bars for end in (bar.lower, bar.higher) if end]
    values = [*ends, *([] if middle is None else [middle])] or [1.0]
    span = max(values) - min(values) or 0.1 * max(values)
    axes.set_xlim(max(0.0, min(values) - ROOM * span), max(values) + ROOM * span)


def _draw(axes: Axes, place: int, bar: TornadoBar, middle: float | None) -> None:
    for end, other, colour in ((bar.lower, bar.higher, ORANGE), (bar.higher, bar.lower, BLUE)):
        if end is None:
            continue
        start = middle if middle is not None else (end.value + other.value) / 2 if other else end.value
        axes.barh(
            place, end.value - start, left=start, height=0.6, color=colour, hatch="" if end.known else "//",
            edgecolor="white", linewidth=0,
        )  # fmt: skip
        left = end.value < start
        axes.annotate(
            end.label, xy=(end.value, place), xytext=(-6 if left else 6, 0), textcoords="offset points",
            ha="right" if left else "left", va="center",
        )  # fmt: skip
