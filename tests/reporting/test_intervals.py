"""Means with intervals: two digits of the interval, the mean to the same place, nothing in exponents."""

import math

import pytest

from specsim.analysis.intervals import Interval
from specsim.reporting.intervals import over_one, percent, percents, plain, with_interval


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (7171.3, 110.4, "7,170 ± 110"),
        (7171.3, 26.6, "7,171 ± 27"),
        (7171.3, 0.264, "7,171.30 ± 0.26"),
        (0.5, 2.8e-14, "0.5 ± 0"),
        (4045.123, 0.0, "4,045 ± 0"),
        (63.32, 0.0996, "63.32 ± 0.10"),
        (12.0, 9.96, "12 ± 10"),
        (3e-9, 1e-9, "0.0000000030 ± 0.0000000010"),
        (1234567.0, 45678.0, "1,235,000 ± 46,000"),
        (-2.5, 0.31, "-2.50 ± 0.31"),
        (0.0, 0.0, "0 ± 0"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (5.4321, math.inf, "5.432"),
        (math.nan, math.nan, ""),
    ],
)
def test_a_cell(mean, half, text):
    assert with_interval(Interval(mean, mean - half, mean + half, 0.95, 4)) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (3.33333, 3, "3.33"),
        (10 / 3 * 1e4, 3, "33,333"),
        (4.0, 3, "4"),
        (0.00123456, 3, "0.00123"),
        (9999.6, 4, "10,000"),
    ],
)
def test_a_number(value, digits, text):
    assert plain(value, digits) == text


@pytest.mark.parametrize(
    ("share", "sign", "digits", "text"),
    [
        (0.0314, "", 1, "3.1"),
        (0.0314, "+", 1, "+3.1"),
        (-0.0314, "+", 1, "-3.1"),
        (-0.0001, "+", 1, "0.0"),
        (1.234, "+", 0, "+123"),
        (-0.001, "", 0, "0"),
    ],
)
def test_a_percentage_has_no_sign_at_0(share, sign, digits, text):
    assert percent(share, sign, digits) == text


def test_percentages_with_their_interval():
    assert percents(0.031, 0.029, 0.033) == "3.1 % [2.9, 3.3]"
    assert over_one(Interval(1.371, 0.9999, 1.382, 0.95, 4)) == "+37.1 % [0.0, +38.2]"
