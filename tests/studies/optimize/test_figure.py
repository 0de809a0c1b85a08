"""Every trial is a dot in every panel, names stay on the canvas, and the same data give the same bytes."""

import pytest

from specsim.reporting.style import png_bytes
from specsim.studies.optimize.figure import OptimizePoint, optimize_figure

PANELS = [
    ("TP", ["1", "2"]),
    ("token budget", ["2048", "16384"]),
    ("drafts", ["none", "1", "schedule", "per_request 3"]),
]
POINTS = [
    OptimizePoint(("1", "2048", "none"), 0.05, False),
    OptimizePoint(("1", "16384", "schedule"), 0.04, True),
    OptimizePoint(("2", "2048", "per_request 3"), 0.4, False),
]


def drawn():
    return optimize_figure(POINTS, PANELS, title="a title", subtitle="a subtitle", legend="a legend", up="$ a token")


def test_each_panel_has_every_trial_the_answer_and_the_cheapest_of_each_value():
    for axes in drawn().axes:
        dots = [line for line in axes.lines if line.get_marker() == "o"]
        assert sorted(float(line.get_ydata()[0]) for line in dots) == [0.04, 0.05, 0.4]
        [diamond] = [line for line in axes.lines if line.get_marker() == "D"]
        assert diamond.get_ydata()[0] == 0.04
    [dashes] = [line for line in drawn().axes[0].lines if line.get_marker() == "_"]
    assert list(dashes.get_ydata()) == [0.04, 0.4]
    assert drawn().axes[0].get_ylim()[0] < 0.04
    assert drawn().axes[0].get_ylim()[1] > 0.4


def test_names_stay_on_the_canvas():
    figure = drawn()
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        for label in (*axes.get_xticklabels(), axes.xaxis.label):
            box = label.get_window_extent(renderer)
            assert box.y0 >= 0, label.get_text()
            assert box.x0 >= 0, label.get_text()
            assert box.x1 <= figure.bbox.width, label.get_text()


@pytest.mark.slow
@pytest.mark.parametrize("points", [POINTS, POINTS[:1]])
def test_the_same_data_give_the_same_bytes(points):
    marks = {"title": "a", "subtitle": "b", "legend": "c", "up": "d"}
    one, two = (png_bytes(optimize_figure(points, PANELS, **marks)) for _ in range(2))
    assert one == two
