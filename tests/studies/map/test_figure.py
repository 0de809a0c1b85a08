"""Cells lie where they belong, those that do not run are hatched, texts stay on the canvas, and bytes repeat."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from specsim.reporting.style import png_bytes
from specsim.studies.map.figure import BreakEven, map_figure

CONTEXTS, BATCHES = (256, 1024, 3000), (1, 8, 64, 100)
FALLS, RISES = BreakEven(70.0, 60.0, 85.0, True), BreakEven(4.0, 3.0, 5.0, False)
FOUND = {256: [FALLS], 1024: [FALLS._replace(batch=80.0)], 3000: []}
WAITS = {(3000, 64), (3000, 100)}


def cells(contexts=CONTEXTS, batches=BATCHES):
    rows = []
    for context in contexts:
        for batch in batches:
            runs = (context, batch) not in WAITS
            drawn = {"speedup": 2.3 / (1 + batch / 90), "best": int(batch < 64) * 3} if runs else {}
            nothing = {"speedup": np.nan, "best": np.nan}
            rows.append({"context": context, "batch": batch, "all_run": runs} | nothing | drawn)
    return pd.DataFrame(rows)


def draw(table=None, found=FOUND, title="a title " * 25):
    return map_figure(
        cells() if table is None else table,
        found,
        title=title,
        subtitle="a subtitle",
        speedup_name="speedup with 3 draft tokens",
        best_name="best number of draft tokens",
    )


def inside(panel):
    return [text.get_text() for text in panel.texts if "×" not in text.get_text()]


def test_each_cell_says_its_value():
    speedups, best = draw().axes
    row = [f"{2.3 / (1 + batch / 90):.2f}" for batch in BATCHES]
    assert inside(speedups) == [*row, *row, *row[:2]]
    assert inside(best) == ["3", "3", "none", "none"] * 2 + ["3", "3"]


def test_cells_that_do_not_run_at_once_are_hatched_and_have_no_value():
    for panel in draw().axes:
        hatched = [patch for patch in panel.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
        assert len(hatched) == 2
        for patch in hatched:
            (left, low), right = patch.get_xy(), patch.get_x() + patch.get_width()
            assert any(left < batch < right for batch in (64, 100))
            assert low < 3000 < low + patch.get_height()
            assert not any(
                left < text.get_position()[0] < right and text.get_position()[1] > low
                for text in panel.texts
                if "×" not in text.get_text()
            )


def test_the_break_even_is_drawn_where_it_is_and_joined_where_it_goes_on():
    panel = draw().axes[0]
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in panel.lines]
    assert ([60.0, 85.0], [256, 256]) in lines
    assert ([70.0, 80.0], [256, 1024]) in lines
    assert not any(3000 in ys for _, ys in lines)


def test_break_evens_of_different_kinds_are_not_joined():
    panel = draw(found={256: [RISES], 1024: [FALLS], 3000: [RISES, FALLS]}).axes[0]
    assert not any(len(set(line.get_ydata())) > 1 for line in panel.lines)


def test_texts_stay_on_the_canvas():
    figure = draw()
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    texts = [*figure.texts, *(text for panel in figure.axes for text in (*panel.texts, panel.xaxis.label))]
    texts += [panel.yaxis.label for panel in figure.axes] + list(figure.legends[0].get_texts())
    for text in texts:
        box = text.get_window_extent(renderer)
        if text.get_text():
            assert box.x0 >= 0, text.get_text()
            assert box.x1 <= figure.bbox.width, text.get_text()
            assert box.y0 >= 0, text.get_text()
            assert box.y1 <= figure.bbox.height, text.get_text()


@pytest.mark.parametrize(("contexts", "batches"), [((256,), BATCHES), (CONTEXTS, (8,)), ((256,), (8,))])
def test_one_row_or_column_is_a_map_too(contexts, batches):
    assert len(png_bytes(draw(cells(contexts, batches), {context: [] for context in contexts}))) > 1000


def test_the_same_data_give_the_same_bytes():
    assert png_bytes(draw()) == png_bytes(draw())
