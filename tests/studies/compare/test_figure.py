"""Points are where they are said to be, names cover none of them, and the same data give the same bytes."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from specsim.reporting.style import png_bytes, svg_bytes
from specsim.studies.compare.figure import BAND, ParetoLine, pareto_figure

BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def line(name, arm, factor, *, featured=False):
    batches = np.array(BATCHES, float)
    per_user = factor * 300 / (1 + batches / 40)
    return ParetoLine(name, arm, featured, BATCHES, per_user, per_user * batches)


LINES = [
    line("a", "", 0.6),
    line("a", "3 draft tokens", 1.0, featured=True),
    line("a", "5 draft tokens", 0.9),
    line("b", "", 0.61, featured=True),
    line("a very long name of a scenario", "up to 5 draft tokens", 1.02, featured=True),
]
FRONTIER = list(zip(LINES[4].per_user, LINES[4].per_gpu, strict=True))


def draw():
    return pareto_figure(LINES, FRONTIER, title=["one line", "another"], subtitle="what was compared")


@pytest.fixture
def figure():
    found = draw()
    found.draw_without_rendering()
    return found


def test_lines_are_the_points_and_the_band_the_frontier(figure):
    band, *drawn = figure.axes[0].lines
    assert to_rgb(band.get_color()) == to_rgb(BAND)
    np.testing.assert_array_equal(band.get_xydata(), FRONTIER)
    for found, expected in zip(drawn, LINES, strict=True):
        np.testing.assert_array_equal(found.get_xdata(), expected.per_user)
        np.testing.assert_array_equal(found.get_ydata(), expected.per_gpu)
    assert [found.get_linestyle() for found in drawn] == ["--", "-", "-.", "--", "-"]
    colours = [found.get_color() for found in drawn]
    markers = [found.get_marker() for found in drawn]
    assert (colours[0], markers[0]) == (colours[1], markers[1]) == (colours[2], markers[2])
    assert len({*colours}) == len({*markers}) == 3


def test_axes_begin_at_0_and_hold_every_point(figure):
    axes = figure.axes[0]
    assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0, 0)
    assert axes.get_xlim()[1] > max(one.per_user.max() for one in LINES)
    assert axes.get_ylim()[1] > max(one.per_gpu.max() for one in LINES)


def test_names_of_batches_cover_neither_points_nor_each_other(figure):
    axes, renderer = figure.axes[0], figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    points = np.concatenate([axes.transData.transform(np.column_stack((one.per_user, one.per_gpu))) for one in LINES])
    assert len(boxes) >= 8
    for i, box in enumerate(boxes):
        assert not any(box.contains(*point) for point in points)
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_everything_stays_on_the_canvas(figure):
    axes, renderer = figure.axes[0], figure.canvas.get_renderer()
    for artist in (*figure.texts, axes.get_legend(), axes.xaxis.label, axes.yaxis.label):
        box = artist.get_window_extent(renderer)
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height


@pytest.mark.slow
def test_the_same_data_give_the_same_bytes():
    assert png_bytes(draw()) == png_bytes(draw())
    assert svg_bytes(draw()) == svg_bytes(draw())
