"""The main figure: it says what was found, fits its canvas, and is the same bytes for the same data."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from specsim.analysis.crossings import Crossing, find_crossings
from specsim.analysis.intervals import mean_band
from specsim.reporting.style import png_bytes, svg_bytes
from specsim.studies.curve.figure import curve_figure
from specsim.studies.curve.marks import crossing_label

BATCHES = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])
SHAPES = {
    "none": 2.0 - 0.1 * np.arange(9),
    "one": 2.2 - 0.2 * np.arange(9),
    "several": 1.05 + 0.5 * np.sin(np.arange(9) * 1.3),
}


def rows_of(num_draft_tokens, throughput, speedup, replications, rng):
    """Table rows of one draft length, and the speedups [replications, batches] behind them."""
    noisy = speedup * np.exp(0.01 * rng.normal(size=(replications, BATCHES.size)))
    columns = {"batch": BATCHES, "num_draft_tokens": num_draft_tokens, "closed_form_speedup": np.nan}
    for name, values in (("tokens_per_s", throughput * noisy), ("speedup", noisy)):
        mean, half = mean_band(values)
        columns |= {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
    return pd.DataFrame(columns), noisy


def make_curve(shape, replications=5, free_verify_batch=73, running_limit=None):
    rng = np.random.default_rng(3)
    throughput = 100.0 * BATCHES / (1 + BATCHES / 64)
    without, _ = rows_of(0, throughput, np.ones(9), replications, rng)
    short, _ = rows_of(1, throughput, 1 + (SHAPES[shape] - 1) / 2, replications, rng)
    long, speedups = rows_of(3, throughput, SHAPES[shape], replications, rng)
    long["closed_form_speedup"] = 2.2
    return curve_figure(
        pd.concat([without, short, long]),
        title="a title",
        subtitle="a subtitle",
        highlight=3,
        crossings=find_crossings(BATCHES, speedups),
        free_verify_batch=free_verify_batch,
        running_limit=running_limit,
    )


@pytest.fixture
def draw():
    return make_curve


@pytest.fixture(params=SHAPES)
def shape(request) -> str:
    return request.param


def texts(figure):
    figure.canvas.draw()  # ticks get their words only now
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


@pytest.mark.slow
def test_it_says_what_was_found(shape, draw):
    found = texts(draw(shape))
    for due in ("a title", "a subtitle", "no speculation", "K = 1", "K = 3", "output tokens/s", "256"):
        assert due in found
    assert "closed form, K = 3 (decode only)" in found
    assert "verifying stops being free\nnear batch 73" in found
    # 1.05 + 0.5·sin(1.3 i) passes 1 between batches 4 and 8, 16 and 32, 64 and 128, 128 and 256.
    stops, starts = {"none": (0, 0), "one": (1, 0), "several": (2, 1)}[shape]
    assert sum(text.startswith("stops paying") for text in found) == stops
    assert sum(text.startswith("starts paying") for text in found) == starts
    assert "pays" in found
    assert ("costs" in found) == (shape != "none")


@pytest.mark.slow
def test_words_stay_on_the_canvas(shape, draw):
    figure = draw(shape)
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    renderer = figure.canvas.get_renderer()
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent(renderer)
            assert box.x0 >= 0, text
            assert box.y0 >= 0, text
            assert box.x1 <= width, text
            assert box.y1 <= height, text


@pytest.mark.slow
def test_the_same_data_give_the_same_bytes(shape, draw):
    assert svg_bytes(draw(shape)) == svg_bytes(draw(shape))
    assert png_bytes(draw(shape)) == png_bytes(draw(shape))


@pytest.mark.slow
def test_the_picture_has_the_size_promised(draw):
    png = png_bytes(draw("one"))
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")) == (1200, 900)


def test_one_replication_has_lines_but_no_bands(draw):
    figure = draw("one", replications=1)
    throughput, _ = figure.axes
    assert len(throughput.collections) == 0
    assert len(throughput.lines) > 3
    assert any("not established" in text for text in texts(figure))
    assert "pays" not in texts(figure)


@pytest.mark.parametrize("batch", [None, 0, 4000])
def test_a_free_batch_that_was_not_measured_is_left_out(batch, draw):
    assert not any("being free" in text for text in texts(draw("one", free_verify_batch=batch)))


def test_a_limit_on_running_requests_is_marked(draw):
    assert "no more than 200\nrun at once" in texts(draw("one", running_limit=200.4))
    assert not any("run at once" in text for text in texts(draw("one")))


def test_labels_of_crossings():
    established = Crossing(90.4, 84.2, 97.0, stops_paying=True)
    assert crossing_label(established, alone=True) == "stops paying at batch 90 [84, 97]"
    assert crossing_label(Crossing(1.84, 1.7, 2.0, False), alone=False) == "starts paying at 2 [1, 2]"
    assert crossing_label(Crossing(190.0, 150.0, None, True), alone=True) == (
        "stops paying near batch 190 (not established)"
    )


@pytest.mark.slow
def test_drawing_never_loads_pyplot():
    code = "import sys, specsim.studies.curve.figure; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
