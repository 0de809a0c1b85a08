"""Lengths: fixed, replayed and resampled."""

import math

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.workload.lengths import (
    Lengths,
    fixed_lengths,
    mixed_lengths,
    replayed_lengths,
    resampled_lengths,
    table_lengths,
)
from specsim.workload.quantiles import build_table

OBSERVED = Lengths(np.array([10, 20, 30]), np.array([1, 2, 3]))


def test_fixed():
    lengths = fixed_lengths(4, 512, 128)
    np.testing.assert_array_equal(lengths.prompt, [512] * 4)
    np.testing.assert_array_equal(lengths.output, [128] * 4)


def test_fixed_lengths_name_everything_that_is_wrong():
    with pytest.raises(InputError) as caught:
        fixed_lengths(4, 0, -3)
    assert [problem.path for problem in caught.value.problems] == ["prompt_tokens", "output_tokens"]


def test_replay_keeps_the_order_and_starts_over_at_the_end():
    lengths = replayed_lengths(5, OBSERVED, first=2)
    np.testing.assert_array_equal(lengths.prompt, [30, 10, 20, 30, 10])
    np.testing.assert_array_equal(lengths.output, [3, 1, 2, 3, 1])


def test_resampling_keeps_pairs_together_and_draws_each_equally_often():
    n = 30_000
    lengths = resampled_lengths(n, OBSERVED, np.random.default_rng(1))
    np.testing.assert_array_equal(lengths.prompt, 10 * lengths.output)
    counts = np.bincount(lengths.output, minlength=4)[1:]
    assert np.all(np.abs(counts - n / 3) <= 4 * math.sqrt(n * (1 / 3) * (2 / 3)))


def test_a_longer_draw_from_a_table_begins_with_the_shorter():
    rng = np.random.default_rng(2)
    table = build_table(rng.integers(1, 1000, 500), rng.integers(1, 300, 500))
    short, long = (table_lengths(n, table, np.random.default_rng(3)) for n in (10, 25))
    np.testing.assert_array_equal(long.prompt[:10], short.prompt)
    np.testing.assert_array_equal(long.output[:10], short.output)


def test_a_mixture_takes_each_class_by_its_share_and_keeps_what_goes_with_it():
    n = 30_000
    short = Lengths(np.full(n, 5), np.full(n, 1), np.full(n, 2), np.full(n, 7))
    counted = Lengths(np.arange(n) + 100, np.arange(n) + 1)
    mixed = mixed_lengths([0.25, 0.75], [short, counted], np.random.default_rng(4).random(n))
    of_first = mixed.domain == 7
    assert abs(of_first.mean() - 0.25) <= 4 * math.sqrt(0.25 * 0.75 / n)
    assert set(mixed.prompt[of_first].tolist()) == {5}
    np.testing.assert_array_equal(mixed.prompt[~of_first], np.flatnonzero(~of_first) + 100)
    np.testing.assert_array_equal(mixed.priority, np.where(of_first, 2, 0))
    assert (mixed.domain[~of_first] == 0).all()


def test_shares_that_rounding_leaves_below_one_still_choose_a_class():
    one = Lengths(np.ones(1, np.int64), np.ones(1, np.int64))
    classes = [Lengths(one.prompt, one.output, None, np.array([i])) for i in range(10)]
    mixed = mixed_lengths([0.1] * 10, classes, np.array([np.nextafter(1, 0)]))
    assert mixed.domain.tolist() == [9]
