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

    assert largest_below(excess, start, -300, slope).holds == edge


@given(edge=PLACES, start=PLACES)
def test_it_needs_no_numbers_only_whether_it_holds(edge, start):
    assert largest_below(lambda place: -math.inf if place <= edge else math.inf, start, -300).holds == edge


def test_where_nothing_holds_there_is_no_place():
    assert largest_below(lambda place: 1.0, 10, -50).holds is None


@given(passes=st.sets(st.integers(0, 40), min_size=1), start=st.integers(0, 60))
def test_nothing_that_was_looked_at_below_fails(passes, start):
    looks = {}

    def excess(place):
        looks[place] = -1.0 if place in passes or place <= 0 else 1.0
        return looks[place]

    found = largest_below(excess, start, -5).holds
    assert looks[found] < 0
    assert looks[found + 1] > 0
    assert all(value < 0 for place, value in looks.items() if place <= found)


def test_a_good_guess_takes_three_looks():
    looks = []

    def excess(place):
        looks.append(place)
        return 0.1 * (place - 50.5)

    assert largest_below(excess, 48, 0, slope=0.1).holds == 50
    assert len(looks) == pytest.approx(3, abs=1)


@given(edge=PLACES, start=PLACES, slope=st.none() | st.floats(1e-3, 10), rise=st.floats(1e-3, 10))
def test_a_coarse_search_of_a_straight_line_ends_where_a_fine_one_does(edge, start, slope, rise):
    looks = []

    def excess(place):
        looks.append(place)
        return rise * (place - edge - 0.5)

    found = largest_below(excess, start, -300, slope, resolution=3)
    assert found.holds == edge
    assert edge < found.fails <= edge + 3


@given(edge=PLACES, start=PLACES)
def test_a_coarse_search_is_fine_where_there_are_no_numbers(edge, start):
    found = largest_below(lambda place: -1.0 if place <= edge else math.inf, start, -300, None, resolution=3)
    assert (found.holds, found.fails) == (edge, edge + 1)
