"""The proof: the verifiers pass every test, each mutant fails those that are made for it, and the tests have power."""

import subprocess
import sys

import numpy as np
import pytest

from specsim.verification.proof import prove
from specsim.verification.proof.chain_checks import NUM_CHECKS
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
from specsim.verification.proof.mutants import MUTANTS
from specsim.verification.proof.trials import EXACT, JOINT, TOKENS, TRIALS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("proof")]


@pytest.fixture(scope="module")
def by_name(proof):
    checks, _ = proof
    return {(check.verifier, check.test): check for check in checks}


def test_every_check_comes_out_as_it_should(proof):
    checks, _ = proof
    assert [check for check in checks if not check.passed] == []


def test_progress_is_reported_after_each_check(proof):
    checks, seen = proof
    assert seen == [(check, n, NUM_CHECKS) for n, check in enumerate(checks, start=1)]
    assert len(checks) == NUM_CHECKS


def test_there_are_enough_mutants_and_each_has_a_name_of_its_own():
    assert len({mutant.name for mutant in MUTANTS}) == len({mutant.verify for mutant in MUTANTS}) == len(MUTANTS) >= 40


@pytest.mark.parametrize(("mutant", "test"), [(mutant, test) for mutant in MUTANTS for test in mutant.killed_by])
def test_each_mutant_is_killed_by_the_tests_named_with_it(by_name, mutant, test):
    assert test in TRIALS
    check = by_name[mutant.name, test]
    assert check.observed == check.expected == "fail"


def test_a_borrowed_token_residual_shows_in_the_exact_law_alone(by_name):
    assert by_name["block: token residual borrowed", EXACT].statistic > 0
    assert ("block: token residual borrowed", JOINT) not in by_name


def test_a_missing_bonus_costs_tokens_and_leaves_the_law_right(by_name):
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == "missing bonus")
    assert TRIALS[EXACT].statistic(mutant.verify, "token", None) == 0
    assert by_name["missing bonus", TOKENS].statistic > 50


def test_keys_decide(by_name):
    for right in ("verify_chain, keyed by position", "verify_block, keyed by round"):
        assert by_name[right, JOINT].statistic < joint_chi_square_limit()
    for wrong in ("verify_block, keyed by position", "draft uniforms judge", "accept uniforms draw"):
        assert by_name[wrong, JOINT].statistic > 1.5 * joint_chi_square_limit()


def test_the_proof_has_the_power_for_other_models():
    assert [check for check in prove(0, quick=True) if not check.passed] == []


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
