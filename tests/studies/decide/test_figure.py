"""The figure of a decision: a line for each draft length and the schedule's, its ranges named above the panel."""

import numpy as np
import pandas as pd

from specsim.studies.decide.figure import decision_figure

BATCHES = (1, 8, 64)
SPEEDUPS = {0: (1, 1, 1), 1: (1.5, 1.25, 0.9), 3: (2, 1.2, 0.7)}


def rows(values, **more):
    return [
        {"batch": batch, "speedup": value, "speedup_low": 0.98 * value, "speedup_high": 1.02 * value} | more
        for batch, value in zip(BATCHES, values, strict=True)
    ]


def drawn(**changes):
    points = pd.DataFrame([row for k, values in SPEEDUPS.items() for row in rows(values, num_draft_tokens=k)])
    ranges = [(1.0, "3"), (6.0, "1"), (40.0, "none")]
    schedule = pd.DataFrame(rows((2, 1.25, 0.99)))
    return decision_figure(points, schedule, ranges, title="What to set", subtitle="for what", **changes)


def test_the_lines_are_the_speedups():
    (axes,) = drawn().axes
    found = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) == len(BATCHES)]
    for expected in (SPEEDUPS[1], SPEEDUPS[3], (2, 1.25, 0.99)):
        assert any(np.allclose(line, expected) for line in found)
    assert len(found) == 3


def test_ranges_are_named_and_begin_where_they_begin():
    (axes,) = drawn().axes
    texts = [text.get_text() for text in axes.texts]
    assert {"3", "1", "none", "schedule", "K = 1", "K = 3"} <= set(texts)
    edges = {float(line.get_xdata()[0]) for line in axes.lines if line.get_linestyle() == ":"}
    assert edges == {6.0, 40.0}


def test_batches_that_wait_are_hatched():
    hatched = [patch for patch in drawn(waits_from=32.0).axes[0].patches if patch.get_hatch()]
    assert [patch.get_x() for patch in hatched] == [32.0]
    assert not [patch for patch in drawn().axes[0].patches if patch.get_hatch()]
