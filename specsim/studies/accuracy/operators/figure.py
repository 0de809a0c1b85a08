"""Errors of predicted operators against their size: an operator a row, a device a column.

Knows nothing of how either came about.
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from specsim.reporting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, STYLE, VERMILLION, new_figure

COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE)
SIZES = {
    "matrix product": "weights [MB]", "decode attention": "KV [MB]", "prefill attention": "tokens",
    "all-reduce": "message [MB]", "routed experts": "tokens",
}  # fmt: skip
BIN = 0.3  # decades
FEWEST = 3  # measurements for a point of a line
LIMIT = 0.8
TOLERANCE = 0.1


def operators_figure(rows: pd.DataFrame, *, title: str, subtitle: str) -> Figure:
    """A line for each stack's median error in a bin of sizes, with the band from the 10th to the 90th percentile.

    Args:
        rows: the columns device, stack, operator, size, measured and predicted; one row per measurement.
        title: what was found, in one line.
        subtitle: what it was found for.
    """
    operators = [name for name in SIZES if name in set(rows["operator"])]
    devices = list(dict.fromkeys(rows["device"]))
    stacks = list(dict.fromkeys(rows["stack"].str.split().str[0]))
    with mpl.rc_context(STYLE):
        figure = new_figure(360 * len(devices) + 120, 250 * len(operators) + 150)
        height = 250 * len(operators) + 150
        grid = figure.subplots(len(operators), len(devices), sharey=True, squeeze=False)
        figure.subplots_adjust(
            left=0.055, right=0.985, top=1 - 110 / height, bottom=50 / height, wspace=0.06, hspace=0.42
        )
        figure.text(0.012, 1 - 30 / height, title, fontsize=15, weight="bold", va="center")
        figure.text(0.012, 1 - 58 / height, f"{subtitle}; band: 10th to 90th percentile", color=GREY, va="center")
        for line, operator in zip(grid, operators, strict=True):
            for axes, device in zip(line, devices, strict=True):
                chosen = rows[(rows["operator"] == operator) & (rows["device"] == device)]
                _draw(axes, chosen, dict(zip(stacks, COLOURS, strict=False)), f"{operator}, {device}", SIZES[operator])
        for stack, colour in zip(stacks, COLOURS, strict=False):
            grid[0][0].plot([], [], color=colour, label=stack)
        grid[0][0].legend(loc="upper right", ncols=len(stacks), fontsize=9, handlelength=1.2, columnspacing=1)
        return figure


def _draw(axes: Axes, rows: pd.DataFrame, colours: dict[str, str], title: str, size: str) -> None:
    axes.axhspan(-TOLERANCE, TOLERANCE, color=GREY, alpha=0.13, linewidth=0)
    axes.axhline(0, color=INK, linewidth=1)
    scale = 1e6 if "MB" in size else 1.0
    for stack, colour in colours.items():
        one = rows[rows["stack"].str.startswith(stack + " ")]
        errors = one["predicted"] / one["measured"] - 1
        groups = errors.groupby((np.log10(one["size"] / scale) / BIN).round() * BIN)
        found = pd.DataFrame({share: groups.quantile(share) for share in (0.1, 0.5, 0.9)})[groups.size() >= FEWEST]
        if found.empty:
            continue
        x = 10 ** found.index.to_numpy(dtype=float)
        axes.fill_between(x, found[0.1], found[0.9], color=colour, alpha=0.14, linewidth=0)
        axes.plot(x, found[0.5], color=colour, linewidth=1.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(-LIMIT, LIMIT)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda error, _: f"{error:+.0%}" if error else "0"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_title(title, fontsize=10.5, loc="left")
    axes.set_xlabel(size, fontsize=9.5, labelpad=1)
    axes.tick_params(labelsize=9)
