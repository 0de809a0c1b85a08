"""Stacked bars: lengths are the table's, words stay on the canvas and apart, and the same data give the same bytes."""

from itertools import combinations

import pandas as pd
import pytest
from matplotlib.text import Text

from specsim.records import PARTS
from specsim.reporting.style import png_bytes
from specsim.studies.cost.figure import PART_COLOURS, cost_figure

LONGEST = "At batch 65536 a step with 64 levels (1024 nodes) waits longest for memory bandwidth (weights)"


def steps(batches, lengths=(0, 3)):
    rows = []
    for batch in batches:
        for k in lengths:
            seconds = {f"{part}_s": 1e-3 * (i + 1) * (1 + 1e-4 * batch * (k + 1)) for i, part in enumerate(PARTS)}
            rows.append({"batch": batch, "num_draft_tokens": k, "step_s": sum(seconds.values()), **seconds})
    return pd.DataFrame(rows)


def test_every_part_has_a_colour_of_its_own():
    assert tuple(PART_COLOURS) == PARTS
    assert len(set(PART_COLOURS.values())) == len(PARTS)


def test_bars_are_as_long_as_the_parts():
    table = steps([1, 64])
    (axes,) = cost_figure(table, title="t", subtitle="s").axes
    drawn = [bar.get_width() for bars in axes.containers for bar in bars]
    assert drawn == pytest.approx([1e3 * value for part in PARTS for value in table[f"{part}_s"]])


@pytest.mark.slow
@pytest.mark.parametrize("batches", [[1], [1, 8, 64], [*range(1, 20), 65536]])
def test_words_stay_on_the_canvas_and_apart(batches):
    figure = cost_figure(steps(batches, (0, 1, 64)), title=LONGEST, subtitle="a subtitle")
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    found = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    boxes = [text.get_window_extent(figure.canvas.get_renderer()) for text in found]
    for text, box in zip(found, boxes, strict=True):
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text
    for (one, a), (other, b) in combinations(zip(found, boxes, strict=True), 2):
        assert not a.overlaps(b), (one, other)


def test_the_same_data_give_the_same_bytes():
    once, twice = (png_bytes(cost_figure(steps([1, 8]), title="t", subtitle="s")) for _ in range(2))
    assert once == twice
