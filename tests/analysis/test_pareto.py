"""The frontier against its definition, point by point."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.analysis.pareto import on_frontier

# few values, so that coordinates are often equal
NUMBERS = st.one_of(st.integers(0, 4).map(float), st.floats(0.1, 10).map(lambda x: round(x, 6)), st.just(math.nan))
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12)


def beats(one, other):
    """At least as good in both, better in one."""
    return one[0] >= other[0] and one[1] >= other[1] and (one[0] > other[0] or one[1] > other[1])


@given(POINTS)
def test_it_holds_whom_nobody_beats(points):
    expected = [not any(map(math.isnan, one)) and not any(beats(other, one) for other in points) for one in points]
    assert on_frontier([x for x, _ in points], [y for _, y in points]).tolist() == expected


@pytest.mark.slow
@given(POINTS, st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_matter(points, random):
    order = list(range(len(points)))
    random.shuffle(order)
    found = on_frontier(*np.array(points).reshape(-1, 2).T)
    shuffled = on_frontier(*np.array([points[i] for i in order]).reshape(-1, 2).T)
    assert shuffled.tolist() == [found[i] for i in order]


def test_along_a_frontier_the_one_falls_as_the_other_rises():
    rng = np.random.default_rng(3)
    x, y = rng.random((2, 200))
    best = on_frontier(x, y)
    order = np.argsort(x[best])
    assert 2 < best.sum() < 200
    assert (np.diff(y[best][order]) < 0).all()


def test_what_rounding_makes_better_is_not():
    x, y = [2.0, 1.0], np.array([3.0, 3.0 * (1 + 1e-12)])
    assert on_frontier(x, y).tolist() == [True, False]
    assert on_frontier(x, y * [1, 1 + 1e-6]).tolist() == [True, True]
    assert on_frontier([2.0, 2.0], y).tolist() == [True, True]
