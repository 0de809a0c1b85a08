"""Bars are as long as the bounds, names stay on the canvas, and the same data give the same bytes."""

import numpy as np
import pandas as pd
import pytest

from specsim.reporting.style import png_bytes
from specsim.studies.plan.figure import PlanBar, plan_figure

LONG = "up to 5 draft tokens by each request's last round"
BARS = [
    PlanBar("no speculation", 40.0, np.array([41.0, 43.0, 42.0]), False),
    PlanBar(LONG, 55.0, np.array([56.0, 57.0, 58.0]), True),
    PlanBar("none that will do", 0.0, np.zeros(3), False),
]
SERIES = pd.DataFrame(
    {"start_s": [0.0, 3600.0], "seconds": 3600.0, "requests_per_s": [30.0, 120.0], "replicas": [1, 3]}
)


@pytest.fixture(params=[None, SERIES], ids=["one rate", "over time"])
def figure(request):
    return plan_figure(BARS, title="a title", subtitle="a subtitle", replicas=request.param)


def test_bars_and_ticks_are_the_rates(figure):
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [40.0, 55.0, 0.0]
    assert [list(line.get_xdata()) for line in axes.lines] == [[41.0, 43.0, 42.0], [56.0, 57.0, 58.0]]
    assert axes.get_xlim()[1] > 58


def test_names_stay_on_the_canvas(figure):
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    labels = [label for axes in figure.axes for label in (*axes.get_yticklabels(), axes.yaxis.label, axes.xaxis.label)]
    for label in labels:
        box = label.get_window_extent(renderer)
        assert box.x0 >= 0, label.get_text()
        assert box.x1 <= figure.bbox.width, label.get_text()
        assert box.y0 >= 0, label.get_text()


def test_the_same_data_give_the_same_bytes():
    one, two = (png_bytes(plan_figure(BARS, title="a", subtitle="b", replicas=SERIES)) for _ in range(2))
    assert one == two
