"""The quick proof, run once: the verifiers pass every test, each mutant fails those that are made for it."""

from typing import get_args

import pytest

from specsim.verification.proof import prove
from specsim.verification.proof.chain_checks import NUM_CHECKS
from specsim.verification.proof.losslessness import (
    joint_chi_square_limit,
)
from specsim.verification.proof.mutants import MUTANTS
from specsim.verification.proof.mutants.tree import TREE_LAW_BREAKERS, TREE_SLOW, TREE_SUBTLE
from specsim.verification.proof.tree_checks import NUM_TREE_CHECKS
from specsim.verification.proof.trials import EXACT, JOINT, TOKENS, TRIALS
from specsim.verification.trees.forest import Siblings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def proof():
    """Its checks, and the calls of its progress callback."""
    seen = []
    checks = prove(seed=2, quick=True, progress=lambda *call: seen.append(call))
    return checks, seen


@pytest.fixture(scope="session")
def tree_proof(proof):
    """Those of its checks that are of trees."""
    return proof[0][-NUM_TREE_CHECKS:]


CELLS, LAW = "exact cells, wrong outcomes", "exact law, wrong probabilities"
COUNT = "tokens per round, standard errors"


ALL = get_args(Siblings)


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


@pytest.fixture(scope="module")
def statistic(tree_proof):
    return {(check.verifier, check.test): check.statistic for check in tree_proof}


def test_every_check_of_trees_comes_out_as_it_should(tree_proof):
    assert [check for check in tree_proof if not check.passed] == []
    assert len(tree_proof) == NUM_TREE_CHECKS


@pytest.mark.parametrize("siblings", ALL)
def test_the_law_of_verify_tree_is_exactly_the_targets(statistic, siblings):
    assert statistic[f"verify_tree, {siblings}", CELLS] == 0
    assert statistic[f"verify_tree, {siblings}", LAW] == 0


@pytest.mark.parametrize("pair", [1, 2])
@pytest.mark.parametrize("siblings", ALL)
def test_its_joint_law_is_the_targets_and_its_tokens_per_round_the_closed_form(statistic, siblings, pair):
    assert statistic[f"verify_tree, {siblings}", f"pair {pair}: {JOINT}"] < 103.5
    assert statistic[f"verify_tree, {siblings}", f"pair {pair}: {COUNT}"] < 4


@pytest.mark.parametrize("name", [name for name, _, _ in TREE_LAW_BREAKERS])
def test_every_law_breaker_fails_the_exact_test_and_the_joint_law(statistic, name):
    assert statistic[name, CELLS] > 0
    assert statistic[name, JOINT] > 150


@pytest.mark.parametrize("name", [name for name, _, _ in TREE_SUBTLE])
def test_what_is_wrong_by_little_fails_the_exact_test(statistic, name):
    assert statistic[name, CELLS] > 0


@pytest.mark.parametrize("name", [name for name, _, _ in TREE_SLOW])
def test_what_is_only_slow_leaves_the_law_right_and_fails_the_token_count(statistic, name):
    assert statistic[name, CELLS] > 0
    assert statistic[name, JOINT] < 103.5
    assert statistic[name, COUNT] > 10
