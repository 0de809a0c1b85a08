"""The statistical proof: verify_chain passes both tests, and each wrong verifier fails the one made for it."""

import subprocess
import sys

import numpy as np
import pytest

from specsim.verification import prove
from specsim.verification.losslessness import (
    NUM_TOKENS,
    START,
    MarkovPair,
    expected_tokens,
    joint_chi_square_limit,
    random_markov_pair,
)
from specsim.verification.mutants import LAW_BREAKERS
from specsim.verification.proof import NUM_CHECKS

JOINT, COUNT = "joint law, chi-square (63 df)", "tokens per round, standard errors"


@pytest.fixture(scope="module")
def proof():
    """The proof at full size, and the calls of its progress callback."""
    seen = []
    checks = prove(seed=2, progress=lambda *call: seen.append(call))
    return checks, seen


@pytest.fixture(scope="module")
def statistic(proof):
    checks, _ = proof
    return {(check.verifier, check.test): check.statistic for check in checks}


def test_every_check_comes_out_as_it_should(proof):
    checks, _ = proof
    assert [check for check in checks if not check.passed] == []


def test_progress_is_reported_after_each_check(proof):
    checks, seen = proof
    assert seen == [(check, n, NUM_CHECKS) for n, check in enumerate(checks, start=1)]
    assert len(checks) == NUM_CHECKS


def test_the_joint_law_of_verify_chain_is_the_targets(statistic):
    assert statistic["verify_chain", JOINT] < 103.5
    assert statistic["verify_chain", COUNT] < 4


@pytest.mark.parametrize(("name", "mutant"), LAW_BREAKERS)
def test_every_law_breaker_fails_the_joint_law_by_far(statistic, name, mutant):
    assert statistic[name, JOINT] > 1000


def test_the_missing_bonus_fails_only_the_token_count(statistic):
    assert statistic["missing bonus", JOINT] < 103.5
    assert statistic["missing bonus", COUNT] > 100


@pytest.mark.parametrize("seed", range(3))
def test_the_quick_proof_has_the_power_for_any_models(seed):
    assert all(check.passed for check in prove(seed, quick=True))


def test_the_limit_is_the_tabulated_quantile():
    assert joint_chi_square_limit() == pytest.approx(103.44, abs=0.005)


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


def test_importing_the_verifiers_loads_nothing_heavy():
    heavy = ("scipy", "pandas", "matplotlib", "pydantic")
    script = f"import sys, specsim.verification; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
