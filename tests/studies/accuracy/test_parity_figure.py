"""The parity plot shows every point, and the same data give the same bytes."""

import numpy as np
import pandas as pd

from specsim.reporting.style import png_bytes
from specsim.studies.accuracy.validate.figure import parity_figure


def points(n=6):
    measured = np.linspace(0.8, 2.5, n)
    predicted = measured * np.linspace(0.9, 1.1, n)
    return pd.DataFrame(
        {
            "sweep": ["A-one", "A-two", "B"] * (n // 3),
            "split": ["validation", "calibration", "beside"] * (n // 3),
            "load": [1.0, 8.0, 64.0] * (n // 3),
            "num_draft_tokens": 3,
            "measured_speedup": measured,
            "predicted_speedup": predicted,
            "error_speedup": predicted / measured - 1,
        }
    )


def offsets(axes):
    return np.concatenate([np.asarray(found.get_offsets()) for found in axes.collections if len(found.get_offsets())])


def test_every_point_is_drawn_in_both_panels():
    table = points()
    figure = parity_figure(table, title="", subtitle="")
    for axes, columns in zip(
        figure.axes, (["measured_speedup", "predicted_speedup"], ["load", "error_speedup"]), strict=True
    ):
        drawn = {tuple(point) for point in offsets(axes).round(9).tolist()}
        assert {tuple(point) for point in table[columns].round(9).to_numpy().tolist()} <= drawn


def test_points_without_a_prediction_are_left_out():
    table = points()
    table.loc[0, "predicted_speedup"] = None
    figure = parity_figure(table, title="", subtitle="")
    assert 0.8 not in offsets(figure.axes[0])[:, 0]


def test_sweeps_that_begin_alike_share_an_entry_of_the_legend():
    figure = parity_figure(points(), title="", subtitle="")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["A", "B"]


def test_the_same_data_give_the_same_bytes():
    once, twice = (png_bytes(parity_figure(points(), title="t", subtitle="s")) for _ in range(2))
    assert once == twice
