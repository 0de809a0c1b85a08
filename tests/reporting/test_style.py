"""Figures draw the texts of users' files as they are."""

import matplotlib as mpl

from specsim.reporting.style import STYLE, new_figure, png_bytes, svg_bytes


def test_dollars_are_no_formula():
    with mpl.rc_context(STYLE):
        figure = new_figure()
        figure.text(0.5, 0.5, "$x^$ at $2.50")  # as a formula this raises an error
        axes = figure.subplots()
        axes.set_title("$x^$")
        axes.plot([1, 2], [1, 2], label="$y_$")
        axes.legend()
    assert png_bytes(figure)
    assert svg_bytes(figure)
