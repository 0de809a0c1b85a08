"""Errors and break-even loads against arithmetic that can be done by hand."""

import math

import numpy as np
import pytest

from specsim.analysis.agreement import (
    BreakEven,
    error_summary,
    measured_break_even,
    octaves_apart,
    predicted_break_even,
    same_break_even,
)

LOADS = [1.0, 4.0, 16.0, 64.0]


def test_errors_by_hand():
    errors = error_summary([110, 90, 200], [100, 100, 100])
    assert errors.n == 3
    assert errors.mape == pytest.approx((0.1 + 0.1 + 1.0) / 3)
    assert errors.bias == pytest.approx((0.1 - 0.1 + 1.0) / 3)
    assert (errors.worst, errors.worst_error) == (2, 1.0)
    assert errors.median == pytest.approx(0.1)


def test_nothing_to_compare():
    assert error_summary([], []) is None


def test_a_break_even_lies_where_the_straight_line_of_logarithms_falls_through_zero():
    """Speedup 2 at 4 and 1/2 at 64 is 1 at the geometric mean, 16; with u its ends move by ln(1/(1-u)) / slope."""
    found = measured_break_even([4.0, 64.0], [2.0, 0.5], [0.1, 0.1])
    slope = 2 * math.log(2) / math.log(16)
    shift = math.exp(-math.log(0.9) / slope)
    assert found.load == pytest.approx(16)
    assert (found.low, found.high) == pytest.approx((16 / shift, 16 * shift))
    assert str(found) == f"16 [{16 / shift:.0f}, {16 * shift:.0f}]"


@pytest.mark.parametrize(
    ("speedups", "shown"),
    [
        ([2.0, 1.5, 1.4, 1.3], "> 64"),
        ([0.9, 0.8, 0.7, 0.6], "< 1"),
        ([2, 1.5, 1.2, 1.0], "> 64"),
        ([0.9, 0.8, 1.1, 1.2], "> 64"),  # it starts paying, and still does
    ],
)
def test_a_sweep_that_does_not_cross(speedups, shown):
    found = predicted_break_even(LOADS, [speedups])
    assert not found.crosses
    assert str(found) == shown


def test_an_interval_may_run_out_of_the_sweep():
    found = measured_break_even(LOADS, [1.5, 1.3, 1.02, 0.98], [0.05] * 4)
    assert found.crosses
    assert found.high == math.inf
    assert str(found).endswith(", ?]")


def test_still_paying_at_the_end_but_not_beyond_doubt():
    """At 64 the band contains 1, so the break-even may lie as low as where the band begins to."""
    found = measured_break_even(LOADS, [1.5, 1.3, 1.2, 1.01], [0.05] * 4)
    assert not found.crosses
    assert 16 < found.low < 64
    assert found.high == math.inf


def test_the_last_crossing_counts():
    found = predicted_break_even(LOADS, [[0.5, 2.0, 2.0, 0.5]])
    assert found.load == pytest.approx(32)


def test_replications_widen_the_predicted_interval():
    noise = np.array([[0.02, -0.02, 0.01, -0.01], [-0.02, 0.02, -0.01, 0.01], [0.01, -0.01, 0.0, 0.0]])
    speedups = np.exp(np.log([2.0, 1.5, 0.9, 0.6]) + noise)
    one, three = predicted_break_even(LOADS, speedups[:1]), predicted_break_even(LOADS, speedups)
    assert one.low == one.high == one.load
    assert three.low < three.load < three.high


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (BreakEven(10, 8, 12), BreakEven(11, 11, 11), True),
        (BreakEven(5, 4, 6), BreakEven(20, 18, 24), False),
        (BreakEven(50, 40, math.inf), BreakEven(math.nan, 64, math.inf), True),
        (BreakEven(20, 15, 15.9), BreakEven(math.nan, 64, math.inf), False),
        (BreakEven(math.nan, 0, 1), BreakEven(3, 2, 5), False),
    ],
)
def test_the_same_break_even_is_an_overlap(one, other, same):
    assert same_break_even(one, other) is same
    assert same_break_even(other, one) is same


def test_an_octave_is_twice_the_load():
    one, two = BreakEven(24, 20, 30), BreakEven(48, 40, 50)
    assert (octaves_apart(two, one), octaves_apart(one, two)) == (1.0, -1.0)
    assert math.isnan(octaves_apart(BreakEven(math.nan, 64, math.inf), one))


def test_the_models_error_moves_the_ends_along_the_curve():
    """The curve falls by ln 4 over ln 16 of the load; an error of 0.1 moves its ends by 0.1 over that slope."""
    found = predicted_break_even([4.0, 64.0], [[2.0, 0.5]], 0.1)
    shift = math.exp(0.1 * math.log(16) / math.log(4))
    assert (found.load, found.low, found.high) == pytest.approx((16, 16 / shift, 16 * shift))
