"""The figure of a sweep: a line for each value, over numbers or names, and the same bytes for the same data."""

import pandas as pd
import pytest

from specsim.reporting.style import png_bytes
from specsim.studies.sweep.figure import sweep_figure


@pytest.fixture
def points():
    rows = [(x, line, 2 - 0.1 * i + 0.2 * (line == "3")) for i, x in enumerate((1, 8, 64)) for line in ("1", "3")]
    table = pd.DataFrame(rows, columns=["x", "line", "speedup"])
    return table.assign(low=table["speedup"] - 0.05, high=table["speedup"] + 0.05)


def drawn(points, **words):
    words = {"title": "a", "subtitle": "costs $1 or $2", "across": "load", "up": "speedup", "lines": "lines: K"} | words
    return sweep_figure(points, **words)


def test_each_line_has_its_values_and_its_name(points):
    (axes,) = drawn(points).axes
    lines = [line for line in axes.lines if line.get_marker() == "o"]
    assert [list(line.get_ydata()) for line in lines] == [
        points[points["line"] == name]["speedup"].tolist() for name in ("1", "3")
    ]
    assert [text.get_text() for text in axes.texts] == ["1", "3"]
    assert axes.get_xscale() == "log"
    assert list(axes.get_xticks()) == [1, 8, 64]


def test_names_stand_in_their_order(points):
    (axes,) = drawn(points.assign(x=points["x"].map({1: "h200", 8: "a100", 64: "b200"}))).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["h200", "a100", "b200"]
    assert axes.get_xscale() == "linear"


@pytest.mark.parametrize("number", [3, 6, 16])
def test_long_names_stay_in_the_figure_and_apart(number):
    names = [f"closed_loop 16 of kind {i:02}" for i in range(number)]
    rows = pd.DataFrame({"x": names, "line": "", "speedup": 1.5, "low": 1.4, "high": 1.6})
    figure = drawn(rows, lines="")
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [label.get_window_extent() for label in [*axes.get_xticklabels(), axes.xaxis.label]]
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 for box in boxes)
    assert not any(box.overlaps(other) for i, box in enumerate(boxes) for other in boxes[:i])


def test_the_same_data_give_the_same_bytes(points):
    assert png_bytes(drawn(points)) == png_bytes(drawn(points))
