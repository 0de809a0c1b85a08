"""How often each node of a drafted tree is accepted: by enumeration, and against verifying at 4 standard errors."""

import numpy as np
import pytest

from specsim.verification import keeping_probability, mean_tree_tokens, node_acceptance, verify_tree
from specsim.verification.proof.losslessness import START, random_markov_pair
from specsim.verification.proof.tree_losslessness import SHAPES, expected_tree_tokens, propose_trees

SCHEMES = ["with_replacement", "without_replacement", "one_hot"]
ALL = range(len(SHAPES))
B = 200_000


def random_trees(siblings, seed, shapes=ALL, context=None):
    """Ragged trees of random shapes with poisoned padding, as the proof of `verify_tree` draws them."""
    rng = np.random.default_rng(seed)
    pair = random_markov_pair(rng)
    contexts = rng.integers(0, START + 1, B) if context is None else np.full(B, context)
    forest = propose_trees(pair, contexts, rng.choice(list(shapes), B), siblings, rng)
    trees = forest.parents, forest.token, forest.num_nodes, forest.q_row, forest.p_row, forest.q, forest.p
    return trees, pair, rng


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SCHEMES)
def test_each_node_is_accepted_as_often_as_stated(siblings):
    trees, _, rng = random_trees(siblings, 1)
    stated = node_acceptance(*trees, siblings=siblings)
    _, num_out, nodes = verify_tree(*trees, siblings=siblings, rng=rng)
    accepted = np.zeros(stated.shape)
    b, depth = np.nonzero(nodes >= 0)
    accepted[b, nodes[b, depth]] = 1.0
    for i in range(stated.shape[1]):
        surplus = accepted[:, i] - stated[:, i]
        assert abs(surplus.mean()) < 4 * surplus.std() / np.sqrt(B)
    assert (stated[np.arange(stated.shape[1]) >= trees[2][:, None]] == 0).all()
    mean, error = mean_tree_tokens(*trees, siblings=siblings)
    assert error < num_out.std() / np.sqrt(B)
    assert abs(mean - num_out.mean()) < 4 * num_out.std() / np.sqrt(B)


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SCHEMES)
@pytest.mark.parametrize("shape", range(1, len(SHAPES)))
def test_the_mean_over_draws_is_that_of_the_enumeration(siblings, shape):
    trees, pair, _ = random_trees(siblings, 2, [shape], context=START)
    mean, error = mean_tree_tokens(*trees, siblings=siblings)
    due = expected_tree_tokens(pair, SHAPES[shape], siblings)[START]
    assert abs(mean - due) <= 4 * error + 1e-12  # one-hot trees are all the same


@pytest.mark.slow
@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement"])
def test_of_a_chain_it_is_what_chains_keep(siblings):
    trees, _, _ = random_trees(siblings, 3, [SHAPES.index((-1, 0))])
    _, token, num_nodes, q_row, p_row, q, p = trees
    kept = keeping_probability(token[:, :2], q[q_row[:, :2]], p[p_row[:, :3]], num_nodes)
    np.testing.assert_allclose(node_acceptance(*trees, siblings=siblings)[:, :2], kept, rtol=1e-14)


def test_siblings_by_hand():
    """p = (5, 3, 1.5, 0.5)/10 and q even: token 3 passes with 0.2, and token 2 not: (5, 1, 0, 0)/6 is left."""
    p, q = np.array([[0.5, 0.3, 0.15, 0.05]]), np.full((1, 4), 0.25)
    trees = np.array([[-1, -1]]), np.array([[3, 2]]), np.array([2]), np.array([[0, 0]]), np.array([[0, 0, 0]])
    np.testing.assert_allclose(node_acceptance(*trees, q, p, siblings="with_replacement"), [[0.2, 0.0]], atol=1e-16)
    # without replacement the second is one of three: (5, 1, 0, 0)/6 against 1/3 each
    trees = np.array([[-1, -1]]), np.array([[3, 1]]), np.array([2]), np.array([[0, 0]]), np.array([[0, 0, 0]])
    np.testing.assert_allclose(node_acceptance(*trees, q, p, siblings="without_replacement"), [[0.2, 0.4]])
    # chosen ones pass with the probability that p gives them
    trees = np.array([[-1, -1]]), np.array([[3, 1]]), np.array([2]), None, np.array([[0, 0, 0]])
    np.testing.assert_allclose(node_acceptance(*trees, None, p, siblings="one_hot"), [[0.05, 0.3]])
