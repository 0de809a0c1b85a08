"""verify_tree is lossless under all three schemes, exactly and by a sample; each wrong one fails the test for it."""

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from specsim.verification import verify_chain, verify_tree
from specsim.verification.proof.losslessness import START, MarkovPair, random_markov_pair
from specsim.verification.proof.mutants.tree_steps import as_tree_verifier
from specsim.verification.proof.tree_exact import CASES, SMALL_CASES, exact_tree_errors
from specsim.verification.proof.tree_loops import tree_by_loops
from specsim.verification.proof.tree_losslessness import SHAPES, expected_tree_tokens, propose_trees
from specsim.verification.proof.tree_rule import cells, draws
from specsim.verification.trees.forest import Siblings
from specsim.verification.trees.siblings import SCHEMES
from specsim.verification.trees.tree import walk_and_draw

ALL = get_args(Siblings)


CELLS, LAW, JOINT, COUNT = (
    "exact cells, wrong outcomes",
    "exact law, wrong probabilities",
    "joint law, chi-square (63 df)",
    "tokens per round, standard errors",
)


@pytest.mark.slow
@pytest.mark.parametrize("siblings", ALL)
def test_the_exact_test_also_finds_the_scalar_loop_right(siblings):
    def by_loops(*arrays, validate, **keywords):
        return tree_by_loops(*arrays, **keywords)

    errors = exact_tree_errors(by_loops, siblings, SMALL_CASES)
    assert (errors.probes, errors.probabilities) == (0, 0)


@as_tree_verifier
def accepts_at_equality(forest, links, accept, final, scheme):
    return walk_and_draw(forest, links, np.nextafter(accept, -1), final, scheme)


@as_tree_verifier
def draws_at_equality(forest, links, accept, final, scheme):
    return walk_and_draw(forest, links, accept, np.nextafter(final, -1), scheme)


@as_tree_verifier
def single_precision(forest, links, accept, final, scheme):
    return walk_and_draw(forest, links, accept.astype(np.float32).astype(float), final, scheme)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [accepts_at_equality, draws_at_equality, single_precision])
@pytest.mark.parametrize("siblings", ALL)
def test_the_exact_test_sees_what_a_sample_may_miss(mutant, siblings):
    assert exact_tree_errors(mutant, siblings, SMALL_CASES).probes > 0


@pytest.mark.slow
@pytest.mark.parametrize("siblings", ALL)
@pytest.mark.parametrize(("models", "parents"), CASES)
def test_the_cells_of_the_rule_fill_the_cube_and_the_draws_are_all_there_are(models, parents, siblings):
    chances = Fraction(0)
    for token, chance in draws(models, parents, siblings):
        chances += chance
        assert sum(cell.volume for cell in cells(models, parents, token, siblings)) == 1
    assert siblings == "one_hot" or chances == 1


def test_the_exact_cases_reach_each_part_of_the_rule():
    """Second and third children pass and fail, and leave two tokens or more to draw from."""
    for siblings in ALL:
        paths, left = set(), set()
        for models, parents in CASES:
            for token, _ in draws(models, parents, siblings):
                for cell in cells(models, parents, token, siblings):
                    paths.add((parents, cell.path))
                    left.add((parents, token, tuple(cell.accept), cell.path, cell.last))
        assert {((-1, -1, -1), (i,)) for i in range(3)} <= paths
        assert {((-1, -1, 0, 0, 1), path) for path in [(), (0,), (0, 2), (0, 3), (1,), (1, 4)]} <= paths
        assert len(left) > 100


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement"])
def test_expected_tokens_of_a_chain_by_the_closed_form(siblings):
    pair = random_markov_pair(np.random.default_rng(3))
    overlap = np.minimum(pair.target, pair.drafter)
    two = 1 + overlap.sum(axis=1) + overlap @ overlap[:START].sum(axis=1)
    np.testing.assert_allclose(expected_tree_tokens(pair, (-1, 0), siblings), two)


def test_expected_tokens_of_two_children_by_hand():
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.full(4, 0.25)
    pair = MarkovPair(np.tile(p, (5, 1)), np.tile(q, (5, 1)))
    # With replacement: 0.7, and then r = (5, 1, 0, 0)/6 against q: min(r, q) = 1/4 + 1/6.
    np.testing.assert_allclose(expected_tree_tokens(pair, (-1, -1), "with_replacement"), 1 + 0.7 + 0.3 * 5 / 12)
    # One-hot: the two most likely tokens of q, ties broken by index, are 0 and 1.
    np.testing.assert_allclose(expected_tree_tokens(pair, (-1, -1), "one_hot"), 1 + 0.5 + 0.3)
    # Without: token 2 or 3 is rejected (0.1 and 0.2 of all draws); then 0 and 1 are drawn 1/3 each, and accepted
    # with min(1, r/(1/3)): 1 and 1/2.
    np.testing.assert_allclose(
        expected_tree_tokens(pair, (-1, -1), "without_replacement"), 1 + 0.7 + 0.3 * (1 / 3 + 1 / 6)
    )


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement"])
def test_more_siblings_accept_more(siblings):
    pair = random_markov_pair(np.random.default_rng(4))
    tokens = [expected_tree_tokens(pair, (-1,) * n, siblings) for n in range(4)]
    assert (np.diff(tokens, axis=0) > 0).all()


def test_a_tree_without_forks_has_the_same_scheme_either_way():
    rng = np.random.default_rng(5)
    pair = random_markov_pair(rng)
    forest = propose_trees(pair, np.full(2000, START), np.full(2000, SHAPES.index((-1, 0))), "with_replacement", rng)
    uniforms = {"accept_uniforms": rng.random(forest.token.shape), "final_uniforms": rng.random(2000)}
    trees = forest.parents, forest.token, forest.num_nodes, forest.q_row, forest.p_row, forest.q, forest.p
    one, other = (verify_tree(*trees, siblings=s, **uniforms) for s in ("with_replacement", "without_replacement"))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    out, _ = verify_chain(
        forest.token[:, :2],
        pair.drafter[forest.q_row[:, :2]],
        pair.target[forest.p_row[:, :3]],
        forest.num_nodes,
        accept_uniforms=uniforms["accept_uniforms"][:, :2],
        final_uniforms=uniforms["final_uniforms"],
    )
    np.testing.assert_array_equal(one[0], out)


def test_schemes_are_the_three_that_the_signature_names():
    assert set(SCHEMES) == set(ALL)
