"""Steps as stacked bars: where their time goes. Knows nothing of how it was priced."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from specsim.reporting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, STYLE, VERMILLION, new_figure

PART_COLOURS = {
    "weights": BLUE,
    "kv": SKY,
    "compute": VERMILLION,
    "launch": ORANGE,
    "communication": PURPLE,
    "draft": GREEN,
    "host": GREY,
}
WIDTH, BAR, HEAD, FOOT = 1200, 34, 140, 70
"""Pixels: of the figure, of a bar with the gap below it, and of what stands above and below the bars."""
GAP = 0.6  # between batches, in bars


def cost_figure(steps: pd.DataFrame, *, title: str, subtitle: str) -> Figure:
    """A bar per step, one under another, those of a batch together.

    Args:
        steps: one row per step with the columns batch, num_draft_tokens, step_s and <part>_s for each part.
        title: what was found, in one line.
        subtitle: what it was found for.
    """
    places = _places(steps)
    with mpl.rc_context(STYLE):
        height = HEAD + FOOT + BAR * (places[-1] + 1)
        figure = new_figure(WIDTH, round(height))
        axes = figure.subplots()
        figure.subplots_adjust(left=0.185, right=0.93, top=1 - HEAD / height, bottom=FOOT / height)
        figure.text(0.02, 1 - 35 / height, title, fontsize=14, weight="bold", va="center")
        figure.text(0.02, 1 - 68 / height, subtitle, fontsize=11, color=GREY, va="center")
        _draw_bars(axes, steps, places)
        _name_bars(axes, steps, places)
        axes.set_xlabel("time of a step [ms]")
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(PART_COLOURS), borderaxespad=0.4,
            handlelength=1.1, columnspacing=1.4,
        )  # fmt: skip
        return figure


def _places(steps: pd.DataFrame) -> list[float]:
    """How many bars below the first each step lies, with a gap before another batch."""
    changes = (steps["batch"] != steps["batch"].shift()).cumsum() - 1
    return [float(i + GAP * change) for i, change in enumerate(changes)]


def _draw_bars(axes: Axes, steps: pd.DataFrame, places: list[float]) -> None:
    left = np.zeros(len(steps))
    for part, colour in PART_COLOURS.items():
        wide = 1e3 * steps[f"{part}_s"].to_numpy(dtype=float)
        if wide.any():
            axes.barh(places, wide, left=left, height=0.78, color=colour, label=part)
        left += wide
    for place, end in zip(places, left, strict=True):
        axes.annotate(
            _milliseconds(end), xy=(end, place), xytext=(5, 0), textcoords="offset points", va="center", weight="bold"
        )
    axes.set_xlim(0, left.max())
    axes.set_ylim(places[-1] + 0.6, -0.6)


def _milliseconds(value: float) -> str:
    """With three digits, the smallest with two decimals."""
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"


def _name_bars(axes: Axes, steps: pd.DataFrame, places: list[float]) -> None:
    """The number of drafts beside each bar, and the batch beside the first of its bars."""
    drafts = [f"K = {k}" if k else "no drafts" for k in steps["num_draft_tokens"]]
    axes.set_yticks(places, drafts)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda milliseconds, _: f"{milliseconds:g}"))
    first = ~steps["batch"].eq(steps["batch"].shift()).to_numpy()
    for place, batch, named in zip(places, steps["batch"], first, strict=True):
        if named:
            axes.annotate(
                f"batch {batch:,}", xy=(0, place), xycoords=axes.get_yaxis_transform(), xytext=(-72, 0),
                textcoords="offset points", ha="right", va="center", color=INK, weight="bold",
            )  # fmt: skip
