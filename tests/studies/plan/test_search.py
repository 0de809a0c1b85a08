"""The search for the largest place that holds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.studies.plan.search import largest_below

PLACES = st.integers(-200, 200)


@given(edge=PLACES, start=PLACES, slope=st.none() | st.floats(1e-3, 10), power=st.sampled_from([0.5, 1.0, 3.0]))
def test_it_finds_the_edge_from_anywhere_whatever_it_takes_the_slope_to_be(edge, start, slope, power):
    def excess(place):
        distance = place - edge - 0.5
        return math.copysign(abs(distance) ** power, distance)

    assert largest_below(excess, start, -300, slope)[0] == edge


@given(edge=PLACES, start=PLACES)
def test_it_needs_no_numbers_only_whether_it_holds(edge, start):
    assert largest_below(lambda place: -math.inf if place <= edge else math.inf, start, -300)[0] == edge


def test_where_nothing_holds_there_is_no_place():
    assert largest_below(lambda place: 1.0, 10, -50)[0] is None


@given(passes=st.sets(st.integers(0, 40), min_size=1), start=st.integers(0, 60))
def test_nothing_that_was_looked_at_below_fails(passes, start):
    looks = {}

    def excess(place):
        looks[place] = -1.0 if place in passes or place <= 0 else 1.0
        return looks[place]

    found, _ = largest_below(excess, start, -5)
    assert looks[found] < 0
    assert looks[found + 1] > 0
    assert all(value < 0 for place, value in looks.items() if place <= found)


def test_a_good_guess_takes_three_looks():
    looks = []

    def excess(place):
        looks.append(place)
        return 0.1 * (place - 50.5)

    assert largest_below(excess, 48, 0, slope=0.1)[0] == 50
    assert len(looks) == pytest.approx(3, abs=1)
