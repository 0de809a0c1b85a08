"""A tornado draws a bar to each end that is known, names the others, and keeps labels apart."""

from itertools import combinations

import pytest

from specsim.studies.sensitivity.figure import End, TornadoBar, tornado_figure

MIDDLE = End(250.0, "250 [248, 254]", known=True)
OPEN = End(None, "not established", known=False)


def ends(*values):
    return [End(value, f"{value:.0f} [{value - 3:.0f}, {value + 3:.0f}]", known=True) for value in values]


def drawn(*bars, middle=MIDDLE):
    return tornado_figure(bars, middle=middle, change=0.1, axis="break-even batch", title="t", subtitle="s")


@pytest.mark.parametrize("middle", [MIDDLE, None])
@pytest.mark.parametrize("pair", [(186, 386), (386, 186), (260, 280), (240, 230), (250, 250)])
def test_labels_of_a_bar_do_not_overlap(pair, middle):
    figure = drawn(TornadoBar("acceptance", *ends(*pair)), TornadoBar("wide", *ends(100, 500)), middle=middle)
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [
        text.get_window_extent() for text in axes.texts if "[" in text.get_text() and "as it" not in text.get_text()
    ]
    assert len(boxes) == 4
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_an_end_that_is_open_has_its_words_and_no_bar():
    figure = drawn(TornadoBar("acceptance", ends(186)[0], OPEN), TornadoBar("wide", *ends(100, 500)))
    (axes,) = figure.axes
    assert "not established" in [text.get_text() for text in axes.texts]
    assert len([patch for patch in axes.patches if patch.get_width()]) == 3
