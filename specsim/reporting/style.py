"""One look for every figure, and the same bytes for the same data.

Uses matplotlib's objects and never pyplot, so importing or drawing needs no display and leaves no global state. Knows
nothing of what is drawn.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DOTS_PER_INCH = 100

# Okabe and Ito's palette, told apart with any common colour blindness: https://jfly.uni-koeln.de/color/
BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"
INK, GREY, PALE = "#222222", "#6B6B6B", "#E4E4E4"

STYLE: dict[Any, Any] = {  # Any: matplotlib's stubs spell out every key
    "font.family": "DejaVu Sans",  # ships with matplotlib, so text has the same size everywhere
    "font.size": 11,
    "text.parse_math": False,  # names from users' files may have dollars
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "svg.hashsalt": "specsim",  # element names follow from the content, not from chance
    "svg.fonttype": "path",
}


def new_figure(width: int = 1200, height: int = 900) -> Figure:
    """An empty figure of the given size [pixels]; build it within ``mpl.rc_context(STYLE)``."""
    figure = Figure(figsize=(width / DOTS_PER_INCH, height / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def png_bytes(figure: Figure) -> bytes:
    """The figure as PNG, at its size in pixels."""
    return _rendered(figure, "png", {"Software": "specsim"})


def svg_bytes(figure: Figure) -> bytes:
    """The figure as SVG, without a date, so that the same data give the same bytes."""
    return _rendered(figure, "svg", {"Creator": "specsim", "Date": None})


def _rendered(figure: Figure, kind: str, metadata: dict[str, str | None]) -> bytes:
    buffer = BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return buffer.getvalue()
