"""How bytes and arithmetic combine: the limits of the soft maximum, the padding of rows, the ideal rates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.costs.roofline import device_rates, padded_rows, soft_maximum

EPSILON = np.finfo(np.float64).eps
seconds = st.floats(1e-9, 1.0)
sharpnesses = st.floats(0.5, 50)


@given(seconds, seconds)
def test_infinite_sharpness_is_the_maximum(a, b):
    assert soft_maximum(a, b, math.inf) == max(a, b)


@given(seconds, seconds)
def test_sharpness_one_is_the_sum(a, b):
    # three roundings (quotient, sum, product) where a + b takes one
    assert soft_maximum(a, b, 1.0) == pytest.approx(a + b, rel=2 * EPSILON)


@given(seconds, seconds, st.floats(1, 50))
def test_any_other_sharpness_lies_between(a, b, sharpness):
    assert max(a, b) <= soft_maximum(a, b, sharpness) <= (a + b) * (1 + 2 * EPSILON)


@given(seconds, st.floats(0.3, 1000))
def test_equal_times_grow_by_the_nth_root_of_two(a, sharpness):
    assert soft_maximum(a, a, sharpness) == pytest.approx(a * 2 ** (1 / sharpness), rel=4 * EPSILON)


@given(seconds, seconds, sharpnesses)
def test_it_is_symmetric_and_scales(a, b, sharpness):
    assert soft_maximum(a, b, sharpness) == soft_maximum(b, a, sharpness)
    assert soft_maximum(4 * a, 4 * b, sharpness) == 4 * soft_maximum(a, b, sharpness)


@given(seconds, seconds, sharpnesses)
def test_it_equals_the_textbook_expression(a, b, sharpness):
    a, b = 0.1 + a, 0.1 + b  # where the powers keep their digits
    # (x^n)^(1/n) multiplies the relative error of a power, about n·ε/2, by 1/n again; a few roundings of pow remain
    expected = (a**sharpness + b**sharpness) ** (1 / sharpness)
    assert soft_maximum(a, b, sharpness) == pytest.approx(expected, rel=(8 + 8 / sharpness) * EPSILON)


@given(seconds, seconds, seconds, st.floats(0.5, 50))
def test_more_of_either_never_takes_less(a, b, more, sharpness):
    assert soft_maximum(a + more, b, sharpness) >= soft_maximum(a, b, sharpness) * (1 - 4 * EPSILON)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0, math.inf])
def test_nothing_beside_something_is_that_something(sharpness):
    np.testing.assert_array_equal(soft_maximum([0.0, 2.0, 0.0], [0.0, 0.0, 3.0], sharpness), [0.0, 2.0, 3.0])


def test_vectors_equal_the_loop_over_scalars():
    a, b = np.linspace(0, 3, 7), np.linspace(2, 0, 7)
    looped = [float(soft_maximum(x, y, 2.5)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(soft_maximum(a, b, 2.5), looped)


@pytest.mark.parametrize(
    ("rows", "padded"),
    [(0, 0), (1, 16), (15, 16), (16, 16), (17, 64), (64, 64), (65, 128), (128, 128), (129, 192), (1000, 1024)],
)
def test_an_a100_computes_16_rows_and_then_multiples_of_64(a100, rows, padded):
    assert a100.linear.row_tile == (16, 64)
    assert padded_rows(rows, a100.linear.row_tile) == padded


@given(st.lists(st.integers(0, 5000), min_size=1), st.integers(1, 128), st.integers(1, 256))
def test_padding_is_the_least_number_of_whole_tiles(rows, first, then):
    for asked, computed in zip(rows, padded_rows(rows, (first, then)).tolist(), strict=True):
        if asked == 0:
            assert computed == 0
        elif asked <= first:
            assert computed == first
        else:
            assert computed % then == 0
            assert asked <= computed < asked + then


def test_rows_are_not_padded_without_a_tile():
    np.testing.assert_array_equal(padded_rows(np.arange(300), (1, 1)), np.arange(300))


def test_the_ideal_device_has_full_peaks_and_nothing_else(h100):
    rates = device_rates(h100, ideal=True)
    assert (rates.flops_in["bf16"], rates.linear_bandwidth) == (989e12, 3.35e12)
    assert (rates.linear_launch, rates.attention_launch, rates.elementwise_launch) == (0, 0, 0)
    assert math.isinf(rates.sharpness)
    assert rates.row_tile == (1, 1)
    assert rates.weight_traffic_only


def test_a_measured_device_achieves_its_peaks_times_its_efficiencies(h100):
    rates = device_rates(h100, ideal=False)
    assert rates.flops_in["bf16"] == pytest.approx(0.858 * 989e12)
    assert rates.linear_bandwidth == pytest.approx(0.893 * 3.35e12)
    assert rates.attention_bandwidth == pytest.approx(0.962 * 3.35e12)
    assert rates.elementwise_launch == pytest.approx(4 * 2.5e-6)
