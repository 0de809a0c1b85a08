"""The proof: the verifiers pass every test, each mutant fails those that are made for it, and the tests have power."""

import subprocess
import sys

import numpy as np
import pytest

from specsim.verification.proof.keyed import neighbour_chi_square_limit
from specsim.verification.proof.losslessness import (
    NUM_TOKENS,
    START,
    MarkovPair,
    expected_tokens,
    joint_chi_square_limit,
    one_hot_drafter,
    random_markov_pair,
    reversed_drafter,
)


def test_the_limits_are_the_tabulated_quantiles():
    assert joint_chi_square_limit() == pytest.approx(103.44, abs=0.005)
    assert neighbour_chi_square_limit() == pytest.approx(37.70, abs=0.005)


def test_random_models_keep_rare_sequences_countable():
    pair = random_markov_pair(np.random.default_rng(0))
    for table in (pair.target, pair.drafter):
        assert table.shape == (NUM_TOKENS + 1, NUM_TOKENS)
        np.testing.assert_allclose(table.sum(axis=1), 1)
        assert table.min() >= 0.05


def test_expected_tokens_for_one_overlap_everywhere():
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.full(4, 0.25)
    pair = MarkovPair(np.tile(p, (5, 1)), np.tile(q, (5, 1)))
    np.testing.assert_allclose(expected_tokens(pair), np.tile([1, 1.7, 2.19, 2.533], (5, 1)))


def test_expected_tokens_of_the_toy():
    """K = 2, p = (1/3, 2/3), q = (2/3, 1/3), on two of four tokens: 10/9 and 11/9 drafts (see test_exact_law)."""
    pair = MarkovPair(np.tile([1 / 3, 2 / 3, 0, 0], (5, 1)), np.tile([2 / 3, 1 / 3, 0, 0], (5, 1)))
    np.testing.assert_allclose(expected_tokens(pair, "token")[:, 2], 1 + 10 / 9)
    np.testing.assert_allclose(expected_tokens(pair, "block")[:, 2], 1 + 11 / 9)


def test_expected_tokens_by_enumeration():
    pair = random_markov_pair(np.random.default_rng(1))
    overlap = np.minimum(pair.target, pair.drafter)
    for context in range(START + 1):
        one = overlap[context].sum()
        two = sum(overlap[context, x] * overlap[x, y] for x in range(4) for y in range(4))
        three = sum(
            overlap[context, x] * overlap[x, y] * overlap[y, z] for x in range(4) for y in range(4) for z in range(4)
        )
        np.testing.assert_allclose(expected_tokens(pair)[context], np.cumsum([1, one, two, three]))


@pytest.mark.parametrize("drafter", [lambda pair: pair, reversed_drafter])
def test_blocks_never_expect_fewer_tokens_and_equal_ones_for_one_draft(drafter):
    for seed in range(20):
        pair = drafter(random_markov_pair(np.random.default_rng(seed)))
        token, block = expected_tokens(pair, "token"), expected_tokens(pair, "block")
        np.testing.assert_allclose(token[:, :2], block[:, :2])
        assert (block[:, 2:] > token[:, 2:]).all()


def test_blocks_gain_nothing_where_no_draft_was_sampled():
    pair = one_hot_drafter(random_markov_pair(np.random.default_rng(3)))
    np.testing.assert_allclose(expected_tokens(pair, "block"), expected_tokens(pair, "token"))


def test_importing_the_verifiers_loads_nothing_heavy():
    heavy = ("scipy", "pandas", "matplotlib", "pydantic")
    script = f"import sys, specsim.verification; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
