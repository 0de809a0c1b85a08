"""Student intervals against scipy's, their coverage by simulation, and their limits."""

import math

import numpy as np
import pytest

from specsim.analysis.intervals import (
    mean_band,
    mean_interval,
    paired_speedup_interval,
    t_quantile,
    unpaired_speedup_interval,
)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("degrees", [1, 2, 7, 1000])
def test_t_quantile_is_scipys(confidence, degrees):
    from scipy import stats

    assert t_quantile(confidence, degrees) == pytest.approx(stats.t.ppf((1 + confidence) / 2, degrees), rel=1e-8)


def test_a_mean_by_hand():
    # Mean 3, standard deviation 1, standard error 1/√3, t(2 df, 95 %) = 4.302653.
    interval = mean_interval([2.0, 3.0, 4.0])
    assert interval.estimate == 3.0
    assert interval.high - 3.0 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert interval.low == pytest.approx(6.0 - interval.high)
    assert (interval.confidence, interval.n) == (0.95, 3)


def test_one_replication_says_nothing_about_spread():
    mean = mean_interval([2.5])
    assert (mean.estimate, mean.low, mean.high) == (2.5, -math.inf, math.inf)
    ratio = paired_speedup_interval([4.0], [2.0])
    assert ratio.estimate == pytest.approx(2.0)
    assert (ratio.low, ratio.high) == (0.0, math.inf)


def test_equal_replications_give_a_point():
    interval = mean_interval([0.1] * 7)
    assert interval.low == interval.estimate == interval.high == 0.1


def test_ratios_are_paired_so_shared_luck_cancels():
    shared = np.array([1.0, 10.0, 100.0])
    interval = paired_speedup_interval(2 * shared, shared)
    assert interval.low == interval.estimate == interval.high == pytest.approx(2.0)


def test_the_interval_of_the_inverse_is_the_inverse():
    rng = np.random.default_rng(1)
    a, b = rng.uniform(1, 2, size=(2, 8))
    forth, back = paired_speedup_interval(a, b), paired_speedup_interval(b, a)
    assert 1 / forth.estimate == pytest.approx(back.estimate)
    assert 1 / forth.low == pytest.approx(back.high)


def test_mean_band_is_the_interval_of_each_column():
    values = np.random.default_rng(2).normal(size=(5, 3))
    mean, half = mean_band(values, 0.9)
    for column in range(3):
        interval = mean_interval(values[:, column], 0.9)
        assert mean[column] == pytest.approx(interval.estimate)
        assert mean[column] + half[column] == pytest.approx(interval.high)


@pytest.mark.parametrize("n", [2, 4, 10])
def test_coverage_is_exact_for_normal_means(n):
    trials, confidence = 20_000, 0.95
    mean, half = mean_band(np.random.default_rng(n).normal(3.0, 2.0, size=(n, trials)), confidence)
    covered = np.mean(np.abs(mean - 3.0) <= half)
    assert abs(covered - confidence) <= 4 * math.sqrt(confidence * (1 - confidence) / trials)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="at least one replication"):
        mean_interval([])
    with pytest.raises(ValueError, match="equally many"):
        paired_speedup_interval([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_interval([1.0, 2.0], confidence=95)


def test_independent_samples_by_hand():
    # logs 0, 2 and 0, 4, 2: means 1 and 2, standard errors 1 and 2/sqrt(3)
    found = unpaired_speedup_interval(np.exp([0.0, 2.0]), np.exp([0.0, 4.0, 2.0]), 0.9)
    half = math.hypot(t_quantile(0.9, 1), t_quantile(0.9, 2) * 2 / math.sqrt(3))
    assert np.log([found.estimate, found.low, found.high]) == pytest.approx([-1, -1 - half, -1 + half])


def test_equal_samples_have_a_ratio_of_exactly_one():
    found = unpaired_speedup_interval([3.0, 4.0, 9.0], [3.0, 4.0, 9.0])
    assert found.estimate == 1
    assert found.low < 1 < found.high


@pytest.mark.parametrize(("n", "m", "spread"), [(6, 6, 1.0), (6, 6, 5.0), (3, 12, 1.0), (3, 12, 0.2)])
def test_independent_samples_are_covered_at_least_as_often_as_said(n, m, spread):
    rng, tries = np.random.default_rng(11), 2000
    covered = 0
    for _ in range(tries):
        found = unpaired_speedup_interval(np.exp(rng.normal(size=n)), np.exp(spread * rng.normal(size=m)))
        covered += found.low <= 1 <= found.high
    assert covered / tries > 0.95 - 4 * math.sqrt(0.95 * 0.05 / tries)
