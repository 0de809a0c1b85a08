"""A tornado: how far an answer moves as each input does. Knows nothing of what the inputs are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from specsim.reporting.style import BLUE, GREY, INK, ORANGE, STYLE, new_figure

WIDTH, BAR, HEAD, FOOT = 1200, 62, 150, 75
"""Pixels: of the figure, of a bar with the gap below it, and of what stands above and below the bars."""
ROOM = 0.34  # beyond the longest bars, for their labels, as a share of what they span


HEIGHT = 0.6  # of a bar; the rest is gap


class End(NamedTuple):
    """Where a bar ends.

    Attributes:
        value: of the answer; None where that is open, so that only the label is drawn.
        label: what stands there.
        known: False where the answer lies beyond, or is open.
    """

    value: float | None
    label: str
    known: bool


class TornadoBar(NamedTuple):
    """An input, and where the answer is with a lower and a higher value of it."""

    name: str
    lower: End
    higher: End


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
        if middle is not None and at is not None:
            axes.axvline(at, color=INK, linewidth=1.2)
            axes.annotate(
                f"as it stands: {middle.label}", xy=(at, 0), xycoords=axes.get_xaxis_transform(),
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
    ends = [end.value for bar in bars for end in (bar.lower, bar.higher) if end.value is not None]
    values = [*ends, *([] if middle is None else [middle])] or [1.0]
    span = max(values) - min(values) or 0.1 * max(values)
    axes.set_xlim(max(0.0, min(values) - ROOM * span), max(values) + ROOM * span)


def _draw(axes: Axes, place: int, bar: TornadoBar, middle: float | None) -> None:
    """Both ends beside each other; where they lie on the same side, one under the other, each half as high."""
    start = _start(bar, middle, sum(axes.get_xlim()) / 2)
    lower_left = _is_left(bar.lower, bar.higher, start)
    higher_left = _is_left(bar.higher, bar.lower, start)
    if bar.lower.value is None and bar.higher.value is None:
        higher_left = not lower_left
    same_side = lower_left == higher_left
    for end, left, colour, row in ((bar.lower, lower_left, ORANGE, -1), (bar.higher, higher_left, BLUE, 1)):
        at = place + row * HEIGHT / 4 if same_side else place
        value = start if end.value is None else end.value
        axes.barh(
            at, value - start, left=start, height=HEIGHT / 2 if same_side else HEIGHT, color=colour,
            hatch="" if end.known else "//", edgecolor="white", linewidth=0,
        )  # fmt: skip
        if end.value == start:  # a bar of no length would not be seen
            axes.plot([start], [at], color=colour, marker="|", markersize=14, markeredgewidth=3)
        axes.annotate(
            end.label, xy=(value, at), xytext=(-6 if left else 6, 0), textcoords="offset points",
            ha="right" if left else "left", va="center", color=GREY if end.value is None else INK,
        )  # fmt: skip


def _start(bar: TornadoBar, middle: float | None, otherwise: float) -> float:
    """Where both ends begin: at the answer as inputs stand, or half way between them; otherwise where told."""
    values = [end.value for end in (bar.lower, bar.higher) if end.value is not None]
    if middle is not None:
        return middle
    return sum(values) / len(values) if values else otherwise


def _is_left(end: End, other: End, start: float) -> bool:
    """On which side of the start an end lies; one that is open stands where the other does not."""
    if end.value is not None:
        return end.value < start
    return other.value is None or other.value >= start
