"""A map drawn: the speedup and the best draft length over batch and context, cell by cell, with the break-even.

Knows nothing of how cells were simulated, and computes no statistics: speedups, intervals and break-evens are given to
it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from specsim.arrays import Floats
from specsim.reporting.style import BLUE, GREY, INK, PALE, STYLE, VERMILLION, new_figure
from specsim.studies.map.changes import Change

STRONGEST = np.log(2.0)
"""The log of the speedup from which on colours grow no stronger."""
SPEEDUPS = LinearSegmentedColormap.from_list("speedup", [VERMILLION, "#FFFFFF", BLUE])
DARK = 0.45
"""Luminance under which text is white."""
BELOW = 17
"""How far below its batch and context a cell's value stands, in points, where a break-even is marked in the cell."""
LINE = 118
"""Characters of the title in a line."""


class BreakEven(NamedTuple):
    """Where the speedup passes 1.0 at a context, with its interval, and whether it falls there."""

    batch: float
    low: float
    high: float
    stops_paying: bool


def map_figure(
    cells: pd.DataFrame,
    break_evens: Mapping[int, Sequence[BreakEven]],
    *,
    changes: Sequence[Change] = (),
    title: str,
    subtitle: str,
    speedup_name: str,
    best_name: str,
) -> Figure:
    """Two panels: speedup, and best draft length.

    Args:
        cells: a row for each context and batch of the grid, with the columns context, batch, speedup, best (draft
            length, 0 for none) and all_run; where that is False the batch does not run at once, and is hatched.
        break_evens: of the speedup drawn, by context in ascending order; also of those that have none.
        changes: where it starts or stops paying between two contexts at the same batch.
        title: what was found.
        subtitle: what it was found for.
        speedup_name, best_name: what the panels are called.
    """
    with mpl.rc_context(STYLE):
        figure = new_figure(1500, 800)
        lines = textwrap.wrap(title, LINE)
        for i, line in enumerate(lines):
            figure.text(0.02, 0.965 - 0.036 * i, line, fontsize=15, weight="bold", va="center")
        figure.text(0.02, 0.962 - 0.036 * len(lines), subtitle, fontsize=11, color=GREY, va="center")
        panels = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.065, right=0.985, top=0.9 - 0.036 * len(lines), bottom=0.135, wspace=0.05)
        contexts, batches = (np.array(sorted(cells[name].unique()), dtype=float) for name in ("context", "batch"))
        for axes, name in zip(panels, (speedup_name, best_name), strict=True):
            _frame(axes, batches, contexts)
            axes.set_title(name, loc="left", fontsize=12)
        panels[0].set_ylabel("context: mean tokens of a request in mid-decode (logarithmic)")
        _draw_speedups(panels[0], cells, batches, contexts, break_evens)
        _draw_break_evens(panels[0], break_evens)
        _draw_changes(panels[0], changes, batches, contexts)
        _draw_best(panels[1], cells, batches, contexts)
        _explain(figure, any_wait=not cells["all_run"].all(), crosses=any(break_evens.values()) or bool(changes))
        return figure


def _explain(figure: Figure, *, any_wait: bool, crosses: bool) -> None:
    """What the marks mean, below the panels."""
    marks: list[Artist] = []
    if crosses:
        line = Line2D([], [], color=INK, linewidth=2.4, marker="D", markersize=5)
        line.set_label("break-even: speedup 1.0, with its 95 % interval")
        marks.append(line)
    if any_wait:
        marks.append(Rectangle((0, 0), 1, 1, facecolor=PALE, edgecolor=GREY, hatch="///", linewidth=0))
        marks[-1].set_label("not all requests in flight run at once (KV cache full, or the engine's limit)")
    if marks:
        figure.legend(handles=marks, loc="lower left", bbox_to_anchor=(0.055, 0.005), ncols=2, fontsize=10.5)


def _frame(axes: Axes, batches: Floats, contexts: Floats) -> None:
    axes.grid(visible=False)
    for axis, values, set_scale, set_limits in (
        (axes.xaxis, batches, axes.set_xscale, axes.set_xlim),
        (axes.yaxis, contexts, axes.set_yscale, axes.set_ylim),
    ):
        set_scale("log", base=2)
        edges = _edges(values)
        set_limits(edges[0], edges[-1])
        axis.set_major_locator(FixedLocator(values.tolist()))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("batch: requests in flight (logarithmic)")


def _edges(values: Floats) -> Floats:
    """Ends of cells around values [n + 1], half way between neighbours in the logarithm."""
    logs = np.log(values)
    gaps = np.diff(logs) if values.size > 1 else np.array([np.log(2.0)])
    inner = logs[:-1] + np.diff(logs) / 2
    return np.asarray(np.exp(np.concatenate(([logs[0] - gaps[0] / 2], inner, [logs[-1] + gaps[-1] / 2]))))


def _table(cells: pd.DataFrame, column: str) -> Floats:
    """[contexts, batches], both ascending; NaN where not all requests run at once."""
    table = cells.pivot(index="context", columns="batch", values=column).to_numpy(dtype=float)
    runs = cells.pivot(index="context", columns="batch", values="all_run").to_numpy(dtype=bool)
    return np.where(runs, table, np.nan)


def _draw_speedups(
    axes: Axes, cells: pd.DataFrame, batches: Floats, contexts: Floats, found: Mapping[int, Sequence[BreakEven]]
) -> None:
    speedups = _table(cells, "speedup")
    colours = np.clip(np.log(speedups), -STRONGEST, STRONGEST)
    drawn = _cells(axes, colours, batches, contexts, SPEEDUPS, Normalize(-STRONGEST, STRONGEST))
    _write(axes, speedups, drawn, batches, contexts, "{:.2f}".format, _marked(found, batches, contexts))


def _marked(found: Mapping[int, Sequence[BreakEven]], batches: Floats, contexts: Floats) -> NDArray[np.bool_]:
    """Cells that a break-even or its interval lies in [contexts, batches]."""
    marked = np.zeros((contexts.size, batches.size), dtype=bool)
    for i, context in enumerate(contexts):
        for j, (left, right) in enumerate(pairwise(_edges(batches))):
            marked[i, j] = any(one.low < right and one.high > left for one in found.get(int(context), ()))
    return marked


def _draw_break_evens(axes: Axes, found: Mapping[int, Sequence[BreakEven]]) -> None:
    """Each with its interval, joined to those of the next context where there are as many of the same kind."""
    for context, those in found.items():
        for one in those:
            axes.plot([one.low, one.high], [context] * 2, color=INK, linewidth=5, solid_capstyle="butt", zorder=4)
            axes.plot([one.batch], [context], color=INK, marker="D", markersize=5, zorder=4)
    for (below, lower), (above, upper) in pairwise(found.items()):
        if [one.stops_paying for one in lower] == [one.stops_paying for one in upper]:
            for first, second in zip(lower, upper, strict=True):
                ends = [first.low, second.low], [first.high, second.high]
                axes.fill_betweenx([below, above], *ends, color=INK, alpha=0.25, linewidth=0)
                axes.plot([first.batch, second.batch], [below, above], color=INK, linewidth=2.4, zorder=4)


def _draw_changes(axes: Axes, changes: Sequence[Change], batches: Floats, contexts: Floats) -> None:
    """The edge between the two cells."""
    widths, heights = _edges(batches), _edges(contexts)
    for one in changes:
        place, height = batches.tolist().index(one.batch), heights[contexts.tolist().index(one.upper)]
        axes.plot(widths[[place, place + 1]], [height] * 2, color=INK, linewidth=2.4, zorder=4)


def _draw_best(axes: Axes, cells: pd.DataFrame, batches: Floats, contexts: Floats) -> None:
    best = _table(cells, "best")
    largest = max(int(np.nanmax(best)), 1)
    blue, white = np.array(to_rgb(BLUE)), np.ones(3)
    shades = ListedColormap([white + 0.9 * k / largest * (blue - white) for k in range(largest + 1)])
    drawn = _cells(axes, best, batches, contexts, shades, Normalize(-0.5, largest + 0.5))
    _write(axes, best, drawn, batches, contexts, lambda k: f"{k:.0f}" if k else "none")


def _cells(
    axes: Axes, values: Floats, batches: Floats, contexts: Floats, colours: Colormap, scale: Normalize
) -> Floats:
    """Draw cells in their colours, which are returned [contexts, batches, 4]; those without a value hatched."""
    widths, heights = _edges(batches), _edges(contexts)
    axes.pcolormesh(widths, heights, np.ma.masked_invalid(values), cmap=colours, norm=scale, edgecolor="white")
    for i, j in zip(*np.nonzero(np.isnan(values)), strict=True):
        size = widths[j + 1] - widths[j], heights[i + 1] - heights[i]
        axes.add_patch(
            Rectangle((widths[j], heights[i]), *size, facecolor=PALE, edgecolor=GREY, hatch="///", linewidth=0)
        )
    return np.asarray(colours(scale(values)))


def _write(
    axes: Axes,
    values: Floats,
    shades: Floats,
    batches: Floats,
    contexts: Floats,
    text: Callable[[float], str],
    marked: NDArray[np.bool_] | None = None,
) -> None:
    """The value of each cell at its batch and context, or right below where a mark stands; white where it is dark."""
    for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
        luminance = float(shades[i, j, :3] @ np.array([0.2126, 0.7152, 0.0722]))
        below = BELOW if marked is not None and marked[i, j] else 0
        axes.annotate(
            text(float(values[i, j])), xy=(batches[j], contexts[i]), xytext=(0, -below), textcoords="offset points",
            color="white" if luminance < DARK else INK, ha="center", va="center", fontsize=9.5, zorder=5,
            bbox={"boxstyle": "square,pad=0.15", "facecolor": shades[i, j], "edgecolor": "none"},  # lines pass behind
        )  # fmt: skip
