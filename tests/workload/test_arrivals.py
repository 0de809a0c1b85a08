"""Poisson arrivals against the laws of the Poisson process."""

import math

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.workload.arrivals import poisson_arrivals

N, RATE = 200_000, 2.5


def test_gaps_have_the_mean_and_variance_of_an_exponential():
    gaps = np.diff(poisson_arrivals(N, RATE, np.random.default_rng(1)), prepend=0)
    assert np.all(gaps > 0)
    assert abs(gaps.mean() - 1 / RATE) <= 4 / RATE / math.sqrt(N)
    # The variance of a sample variance is (fourth central moment − σ⁴)/n = 8σ⁴/n for an exponential.
    assert abs(gaps.var() - 1 / RATE**2) <= 4 * math.sqrt(8 / N) / RATE**2


def test_gaps_are_exponential_and_independent():
    gaps = np.diff(poisson_arrivals(N, RATE, np.random.default_rng(2)), prepend=0)
    # Kolmogorov-Smirnov at 0.1 %: the largest distance from the law stays below 1.95/√n.
    steps = np.arange(N + 1) / N
    law = 1 - np.exp(-RATE * np.sort(gaps))
    assert max(np.max(steps[1:] - law), np.max(law - steps[:-1])) <= 1.95 / math.sqrt(N)
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) <= 4 / math.sqrt(N)


def test_counts_have_equal_mean_and_variance():
    times = poisson_arrivals(N, RATE, np.random.default_rng(3))
    counts = np.histogram(times, bins=np.arange(0, int(N / RATE * 0.98), 4.0))[0]
    mean, windows = RATE * 4, counts.size
    assert abs(counts.mean() - mean) <= 4 * math.sqrt(mean / windows)
    # The variance of a sample variance of Poisson counts is (mean + 2·mean²)/n.
    assert abs(counts.var() - mean) <= 4 * math.sqrt((mean + 2 * mean**2) / windows)


def test_another_rate_is_the_same_luck_on_another_clock():
    slow, fast = (poisson_arrivals(50, rate, np.random.default_rng(4)) for rate in (1.0, 4.0))
    np.testing.assert_allclose(fast, slow / 4)


def test_a_longer_process_begins_with_the_shorter():
    short, long = (poisson_arrivals(n, RATE, np.random.default_rng(5)) for n in (10, 30))
    np.testing.assert_array_equal(long[:10], short)


def test_no_requests_no_arrivals():
    assert poisson_arrivals(0, RATE, np.random.default_rng(6)).size == 0


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_the_rate_must_be_positive_and_finite(rate):
    with pytest.raises(InputError, match=r"rate is .*positive number of requests per second"):
        poisson_arrivals(3, rate, np.random.default_rng(7))
