"""A source of trees: first children are accepted exactly as stated, drafts follow q, and all rows are valid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.drafting.acceptance import PositionAcceptance, first_choice_rows
from specsim.drafting.shape import chain, tree
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.streams import stream
from specsim.verification import node_acceptance, verify_tree

SHAPE = tree([[3], [2, 1, 0], [1, 2, 1]])
CONDITIONAL = (0.7, 0.4, 1.0)
ROWS = 100_000
SCHEMES = ["with_replacement", "without_replacement", "one_hot"]


def source(siblings, *, conditional=CONDITIONAL, shape=SHAPE, greedy=False, vocabulary=8, seed=3):
    rng = stream(seed, "distributions")
    return TreeAcceptance(conditional, shape, siblings=siblings, greedy=greedy, vocabulary=vocabulary, rng=rng)


def proposed(trees, shape=SHAPE, rows=ROWS, seed=5):
    uniforms = stream(seed, "drafts").random((rows, shape.num_levels, shape.width))
    token = trees.propose(uniforms)
    return token, trees.score(token, uniforms)


def arguments(token, scored, shape=SHAPE):
    return np.tile(shape.parents, (len(token), 1)), token, np.full(len(token), shape.max_nodes), *scored[:4]


@pytest.mark.parametrize("siblings", SCHEMES)
@pytest.mark.parametrize("vocabulary", [6, 8, 33])
def test_first_children_overlap_or_match_exactly_as_stated(siblings, vocabulary):
    trees = source(siblings, vocabulary=vocabulary)
    token, scored = proposed(trees, rows=3)
    for level, stated in enumerate(CONDITIONAL):
        p = scored.p[level]
        assert p.sum() == pytest.approx(1, abs=1e-14)
        first = token[0, SHAPE.num_nodes[level]]
        accepted = p[first] if siblings == "one_hot" else np.minimum(p, scored.q[level]).sum()
        assert accepted == pytest.approx(stated, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("siblings", "greedy"), [*((scheme, False) for scheme in SCHEMES), ("one_hot", True)])
@pytest.mark.parametrize("conditional", [CONDITIONAL, (0.0, 0.5, 0.5), (1.0, 0.0, 0.3)])
def test_trees_are_valid(siblings, greedy, conditional):
    token, scored = proposed(source(siblings, conditional=conditional, greedy=greedy), rows=2000)
    rng = stream(7, "verifier")
    _, num_out, _ = verify_tree(*arguments(token, scored), siblings=scored.siblings, rng=rng)
    if conditional[0] == 1:
        assert (num_out > 1).all()


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement"])
def test_siblings_follow_their_law(siblings):
    """The first is drawn from q; given it, the second from q, or from q without it."""
    token, scored = proposed(source(siblings))
    first, second, q = token[:, 0], token[:, 1], scored.q[0]
    law = np.outer(q, q)
    if siblings == "without_replacement":
        law = law * (1 - np.eye(len(q))) / (1 - q)[:, None]
    found = np.zeros(law.shape)
    np.add.at(found, (first, second), 1 / ROWS)
    assert (np.abs(found - law) <= 4 * np.sqrt(law * (1 - law) / ROWS)).all()


def test_chosen_siblings_are_the_most_likely_ones():
    token, scored = proposed(source("one_hot"), rows=4)
    q = source("with_replacement").score_sampled(token).q
    assert (token == token[0]).all()
    assert token[0, :3].tolist() == np.argsort(-q[0])[:3].tolist()
    assert scored.q is None


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement"])
def test_a_tree_without_forks_is_the_chain(siblings):
    """The same rows and, for the same uniforms, the same drafts."""
    chains = PositionAcceptance(CONDITIONAL, 8, stream(3, "distributions"))
    uniforms = stream(5, "drafts").random((100, 3, 1))
    trees = source(siblings, shape=chain(3))
    token = trees.propose(uniforms)
    np.testing.assert_array_equal(token, chains.propose(uniforms[:, :, 0]))
    scored, (q, p) = trees.score(token, uniforms), chains.score(token)
    np.testing.assert_array_equal(scored.q[scored.q_row], q)
    np.testing.assert_array_equal(scored.p[scored.p_row], p)


@pytest.mark.slow
def test_at_temperature_zero_each_node_is_accepted_as_often_as_when_sampling():
    token, scored = proposed(source("one_hot", greedy=True))
    _, _, nodes = verify_tree(*arguments(token, scored), siblings="one_hot", rng=stream(7, "verifier"))
    sampling = source("one_hot").score_sampled(token[:1])
    stated = node_acceptance(*arguments(token[:1], sampling), siblings="one_hot")[0]
    for i, probability in enumerate(stated):
        found = (nodes == i).any(axis=1).mean()
        assert abs(found - probability) <= 4 * np.sqrt(probability * (1 - probability) / ROWS)


@given(st.integers(2, 12), st.floats(0, 1), st.integers(0, 99), st.data())
def test_the_first_choice_gets_what_is_stated_and_the_others_keep_their_proportions(vocabulary, acceptance, seed, data):
    p = stream(seed, "rows").dirichlet(np.ones(vocabulary), 1)
    choice = data.draw(st.integers(0, vocabulary - 1))
    rows = first_choice_rows(p, np.array([choice]), np.array([acceptance]))
    assert rows[0, choice] == acceptance
    assert rows.sum() == pytest.approx(1, abs=1e-14)
    others = np.arange(vocabulary) != choice
    # a product and a quotient of the same numbers
    np.testing.assert_allclose(rows[0, others] * p[0, others].sum(), (1 - acceptance) * p[0, others], rtol=1e-13)
