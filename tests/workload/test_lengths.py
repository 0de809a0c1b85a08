"""Lengths: fixed, replayed and resampled."""

import math

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.workload.lengths import Lengths, fixed_lengths, replayed_lengths, resampled_lengths, table_lengths
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
