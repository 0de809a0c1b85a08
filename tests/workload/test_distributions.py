"""Textbook distributions of lengths: their moments before clipping, and the mean after it."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from specsim.workload.distributions import Spread, clipped_mean, spread_lengths, uniform_lengths

N = 200_000
WIDE = 10**8  # bounds that clip nothing


def drawn(spread, seed=1, number=N):
    return spread_lengths(number, spread, spread, np.random.default_rng(seed))


def test_uniform_lengths_have_each_number_equally_often():
    lengths = uniform_lengths(N, (3, 7), (10, 10), np.random.default_rng(1))
    assert set(lengths.output.tolist()) == {10}
    assert chisquare(np.bincount(lengths.prompt)[3:]).pvalue > 1e-4  # false once in 10,000
    assert (lengths.prompt.min(), lengths.prompt.max()) == (3, 7)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_mean_and_sd_are_those_of_the_tokens(logarithmic):
    mean, sd = 5000.0, 500.0
    lengths = drawn(Spread(mean, sd, 1, WIDE, logarithmic))
    for tokens in (lengths.prompt, lengths.output):
        # rounding leaves the mean, and adds 1/12 to the variance, far below its error
        assert abs(tokens.mean() - mean) <= 4 * sd / math.sqrt(N)
        kurtosis = 3.0
        if logarithmic:
            w = 1 + (sd / mean) ** 2
            kurtosis = w**4 + 2 * w**3 + 3 * w**2 - 3
        assert abs(tokens.var() - sd**2) <= 4 * math.sqrt((kurtosis - 1) / N) * sd**2
    assert abs(np.corrcoef(lengths.prompt, lengths.output)[0, 1]) <= 4 / math.sqrt(N)


def test_the_logarithm_of_a_lognormal_is_normal():
    mean, sd = Spread(100.0, 50.0, 1, WIDE, True).of_logarithm
    assert math.exp(mean + sd**2 / 2) == pytest.approx(100)
    assert math.expm1(sd**2) * math.exp(2 * mean + sd**2) == pytest.approx(50**2)


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1, 150), (90, 110), (200, 300), (1, WIDE)])
def test_the_mean_after_clipping_is_known(logarithmic, low, high):
    spread = Spread(100.0, 80.0, low, high, logarithmic)
    tokens = drawn(spread).prompt
    assert low <= tokens.min()
    assert tokens.max() <= high
    # rounding moves what lies within half a token of a bound, by an eighth of the density there, which is below 0.01
    assert abs(tokens.mean() - clipped_mean(spread)) <= 4 * tokens.std() / math.sqrt(N) + 0.01 / 4


def test_without_spread_the_mean_is_within_the_bounds():
    assert clipped_mean(Spread(100.0, 0.0, 1, 50, False)) == 50
    assert set(drawn(Spread(100.4, 0.0, 1, 500, True), number=5).prompt.tolist()) == {100}


def test_a_longer_draw_begins_with_the_shorter():
    spread = Spread(100.0, 30.0, 1, 500, True)
    np.testing.assert_array_equal(drawn(spread, number=30).prompt[:10], drawn(spread, number=10).prompt)
    short, long = (uniform_lengths(n, (1, 99), (1, 99), np.random.default_rng(2)) for n in (10, 30))
    np.testing.assert_array_equal(long.output[:10], short.output)


def test_draws_far_beyond_what_floats_hold_are_clipped():
    lengths = drawn(Spread(1e6, 1e9, 1, 10**6, True), number=1000)
    assert lengths.prompt.max() == 10**6
