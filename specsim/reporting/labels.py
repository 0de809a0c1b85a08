"""Names written at the ends of lines instead of in a legend, moved apart where they would overlap.

Knows nothing of what the lines mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

GAP = 0.062
"""Least distance between two labels, in heights of the panel."""


@dataclass(frozen=True)
class EndLabel:
    """A name for a line that ends at (x, y), in data coordinates."""

    text: str
    x: float
    y: float
    color: str
    bold: bool


def label_ends(axes: Axes, labels: Sequence[EndLabel]) -> None:
    """Write the labels right of the panel, each joined to the end of its line; call it once the limits are final."""
    to_panel = axes.transData + axes.transAxes.inverted()
    heights = [float(to_panel.transform((label.x, label.y))[1]) for label in labels]
    for label, height in zip(labels, spread(heights, GAP), strict=True):
        axes.annotate(
            label.text,
            xy=(label.x, label.y),
            xytext=(1.025, height),
            textcoords=axes.transAxes,
            color=label.color,
            weight="bold" if label.bold else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": label.color, "linewidth": 0.8, "shrinkA": 2, "shrinkB": 3},
        )


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Positions at least ``gap`` apart, in the same order, moved as little as possible (least squares).

    Taking i·gap from the i-th smallest turns "at least gap apart" into "not falling", which is isotonic regression:
    neighbours that violate it are pooled at their mean.
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    pools: list[list[float]] = []
    for rank, i in enumerate(order):
        pools.append([positions[i] - rank * gap])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = [_mean(pool) for pool in pools for _ in pool]
    moved = [0.0] * len(positions)
    for rank, i in enumerate(order):
        moved[i] = level[rank] + rank * gap
    return moved


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
