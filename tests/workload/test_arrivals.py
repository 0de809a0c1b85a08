"""Arrivals against the laws of their processes."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy.stats import chi2, gamma, kstest, poisson

from specsim.errors import InputError
from specsim.workload.arrivals import (
    constant_arrivals,
    gamma_arrivals,
    poisson_arrivals,
    profile_arrivals,
    think_times,
)

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


@pytest.mark.parametrize("cv", [0.25, 1.0, 2.0, 4.0])
def test_gamma_gaps_have_the_mean_cv_and_law_asked_for(cv):
    gaps = np.diff(gamma_arrivals(N, RATE, cv, np.random.default_rng(8)), prepend=0)
    shape = 1 / cv**2
    assert abs(gaps.mean() - 1 / RATE) <= 4 * cv / RATE / math.sqrt(N)
    # The kurtosis of a gamma law is 3 + 6/shape, so its sample variance has the variance (2 + 6/shape)·σ⁴/n.
    variance = (cv / RATE) ** 2
    assert abs(gaps.var() - variance) <= 4 * math.sqrt((2 + 6 / shape) / N) * variance
    # the law above a microsecond: below, gaps are lost in the rounding of times; false once in 10,000
    law, least = gamma(shape, scale=1 / RATE / shape), 1e-6
    above = gaps[gaps > least]
    assert kstest(above, lambda gap: 1 - law.sf(gap) / law.sf(least)).pvalue > 1e-4
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) <= 4 / math.sqrt(N)


def test_gamma_arrivals_at_another_rate_are_the_same_luck():
    slow, fast = (gamma_arrivals(50, rate, 2.0, np.random.default_rng(4)) for rate in (1.0, 4.0))
    np.testing.assert_array_equal(fast, slow / 4)


def test_constant_gaps_are_exact():
    np.testing.assert_array_equal(constant_arrivals(4, 2.0), [0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(constant_arrivals(N, RATE), np.arange(1, N + 1) / RATE)


DURATIONS, RATES = [3.0, 1.0, 2.0], [2.0, 0.0, 9.0]


def test_counts_of_a_profiles_periods_are_poisson_and_independent():
    times = profile_arrivals(N, DURATIONS, RATES, np.random.default_rng(9))
    cycles = int(times[-1] // 6)  # whole ones
    edges = np.add.outer(6.0 * np.arange(cycles), [0, 3, 4]).ravel()
    counts = np.histogram(times, np.append(edges, 6.0 * cycles))[0].reshape(cycles, 3)
    assert not counts[:, 1].any()
    for period in (0, 2):
        mean = DURATIONS[period] * RATES[period]
        seen = counts[:, period]
        cells = np.arange(int(poisson.ppf(1e-3, mean)), int(poisson.ppf(1 - 1e-3, mean)) + 1)
        observed = np.bincount(np.clip(seen, cells[0], cells[-1]) - cells[0], minlength=cells.size)
        law = poisson.pmf(cells, mean)
        law[0], law[-1] = poisson.cdf(cells[0], mean), poisson.sf(cells[-1] - 1, mean)
        statistic = ((observed - cycles * law) ** 2 / (cycles * law)).sum()
        assert chi2.sf(statistic, cells.size - 1) > 1e-4  # false once in 10,000
    assert abs(np.corrcoef(counts[:, 0], counts[:, 2])[0, 1]) <= 4 / math.sqrt(cycles)
    assert abs(np.corrcoef(counts[1:, 2], counts[:-1, 2])[0, 1]) <= 4 / math.sqrt(cycles)


def test_within_a_period_arrivals_are_spread_evenly():
    times = profile_arrivals(N, DURATIONS, RATES, np.random.default_rng(10)) % 6
    for begin, end in ((0, 3), (4, 6)):
        inside = times[(times >= begin) & (times < end)]
        assert kstest((inside - begin) / (end - begin), "uniform").pvalue > 1e-4


def test_a_profile_of_one_period_is_poisson():
    one = profile_arrivals(1000, [7.0], [RATE], np.random.default_rng(11))
    np.testing.assert_allclose(one, poisson_arrivals(1000, RATE, np.random.default_rng(11)))


def test_a_profile_at_twice_the_rates_is_the_same_luck_in_half_the_time():
    """When its periods are half as long as well; the shape stays."""
    slow = profile_arrivals(1000, DURATIONS, RATES, np.random.default_rng(12))
    fast = profile_arrivals(1000, np.divide(DURATIONS, 2), np.multiply(RATES, 2), np.random.default_rng(12))
    np.testing.assert_array_equal(fast, slow / 2)


def test_a_profile_never_goes_back_nor_into_a_period_without_requests():
    times = profile_arrivals(N, [0.1, 0.3, 0.7], [0.0, 1e3, 0.0], np.random.default_rng(13))
    assert np.all(np.diff(times) >= 0)
    phase = times % 1.1
    assert np.all((phase > 0.1 - 1e-7) & (phase < 0.4 + 1e-7))


@pytest.mark.parametrize("rates", [[0.0, 0.0], [-1.0, 2.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_profile_needs_a_rate(rates):
    with pytest.raises(InputError, match="rates"):
        profile_arrivals(3, [1.0, 1.0], rates, np.random.default_rng(0))


def test_think_times_have_their_mean_and_cv():
    for cv in (0.5, 1.0):
        times = think_times(N, 3.0, cv, np.random.default_rng(14))
        assert abs(times.mean() - 3) <= 4 * 3 * cv / math.sqrt(N)
        assert abs(times.var() - (3 * cv) ** 2) <= 4 * math.sqrt((2 + 6 * cv**2) / N) * (3 * cv) ** 2
    assert think_times(3, 2.0, 0.0, np.random.default_rng(15)).tolist() == [2, 2, 2]
    assert think_times(3, 0.0, 1.0, np.random.default_rng(15)).tolist() == [0, 0, 0]


def test_a_million_arrivals_take_little_memory():
    """No more than ten arrays of 8 MB at a time: the draws, their sum, and what the inversion makes of them."""
    draws = {
        "gamma": lambda rng: gamma_arrivals(10**6, RATE, 2.0, rng),
        "profile": lambda rng: profile_arrivals(10**6, DURATIONS, RATES, rng),
    }
    for draw in draws.values():
        tracemalloc.start()
        assert draw(np.random.default_rng(16)).size == 10**6
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= 10 * 8e6
