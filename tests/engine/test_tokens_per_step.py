"""Each rule yields as many tokens per step in the engine as the library says it does on the same distributions."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest

from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.shape import tree
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.engine.run import serve_closed_loop
from specsim.streams import stream
from specsim.verification import mean_tokens, node_acceptance

CONDITIONAL = (0.8, 0.6, 0.7, 0.5)
K, VOCABULARY = len(CONDITIONAL), 8
CHILDREN = ((3,), (2, 1, 0), (1, 1, 2), (1, 0, 1, 1))
TREES = ["tree with_replacement", "tree without_replacement", "tree one_hot", "tree one_hot greedy"]


def library_figure(rule):
    """Tokens per verify and its standard error; temperature 0 has the marginals of the token rule."""
    if rule.startswith("tree"):
        return tokens_of_trees(rule.split()[1]), 0.0
    rule, *argmax = rule.split()
    source = PositionAcceptance(CONDITIONAL, VOCABULARY, stream(1, "distributions"), sampled=not argmax)
    draft = source.propose(stream(2, "library figure").random((400_000, K)))
    return mean_tokens(draft, *source.score(draft), np.full(len(draft), K), "block" if rule == "block" else "token")


def tokens_of_trees(siblings):
    """By enumeration: levels are independent, so a node is reached as its ancestors are, each as its sibling rank is.

    How often the children of one node are accepted is a sum over all tokens that they can be given.
    """
    shape = tree(CHILDREN)
    rng = stream(1, "distributions")
    source = TreeAcceptance(CONDITIONAL, shape, siblings=siblings, greedy=False, vocabulary=VOCABULARY, rng=rng)
    p = source.score_sampled(np.zeros((1, shape.max_nodes), dtype=np.int64)).p
    q = PositionAcceptance(CONDITIONAL, VOCABULARY, stream(1, "distributions")).score(np.zeros((1, K), dtype=int))[0][0]
    ranks = np.array([_ranks(siblings, p[level], q[level], shape.width) for level in range(K)])
    reached = np.ones(shape.max_nodes + 1)
    for node, parent in enumerate(shape.parents):
        reached[node + 1] = reached[parent + 1] * ranks[shape.level[node] - 1, shape.sibling[node]]
    return reached.sum()


def _ranks(siblings, p, q, width):
    """P(child j is accepted) of a node whose children are judged by p and drawn from q."""
    if siblings == "one_hot":
        return p[np.argsort(-q, kind="stable")[:width]]
    if siblings == "with_replacement":  # what is left after a rejection does not depend on what was rejected
        ranks, left, remaining = [], p, 1.0
        for _ in range(width):
            ranks.append(remaining * np.minimum(left, q).sum())
            remaining -= ranks[-1]
            left = np.maximum(left - q, 0) / np.maximum(left - q, 0).sum()
        return np.array(ranks)
    tokens = np.array(list(permutations(range(VOCABULARY), width)))
    chance, left = np.ones(len(tokens)), np.ones(len(tokens))
    for j in range(width):
        chance *= q[tokens[:, j]] / left
        left -= q[tokens[:, j]]
    many, nodes = len(tokens), np.full((1, width), -1)
    rows = np.zeros((many, width), dtype=np.int64), np.zeros((many, width + 1), dtype=np.int64)
    given = np.broadcast_to(nodes, tokens.shape), tokens, np.full(many, width), *rows, q[None], p[None]
    return chance @ node_acceptance(*given, siblings=siblings)


@pytest.fixture(scope="module")
def simulated(config, lengths):
    """Tokens of every verify that the end of the output did not cut short: mean and standard error, by request."""

    @cache
    def run(rule):
        pairs = lengths(*[(5, 400)] * 200)
        how = config(conditional=CONDITIONAL, rule=rule, children=CHILDREN, decode_only=True)
        records = serve_closed_loop(how, pairs, 8)
        tokens = records.rounds.num_accepted + 1.0
        means = np.bincount(records.rounds.request, tokens) / np.bincount(records.rounds.request)
        return means.mean(), means.std(ddof=1) / np.sqrt(len(means))

    return run


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["token", "block", "greedy", "token argmax", "block argmax", *TREES])
def test_tokens_per_step_are_the_librarys(simulated, rule):
    expected, error = library_figure(rule)
    if rule in ("token", "greedy"):
        assert abs(expected - (1 + np.cumprod(CONDITIONAL).sum())) < 4 * error
    if "argmax" in rule:  # blocks gain nothing where nothing was drawn
        assert expected == pytest.approx(1 + np.cumprod(CONDITIONAL).sum(), rel=1e-14)
    found, sampling_error = simulated(rule)
    assert abs(found - expected) < 4 * np.hypot(error, sampling_error)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["block", *TREES])
def test_blocks_and_trees_yield_more_than_token_by_token(simulated, rule):
    (token, token_error), (more, error) = (simulated(name) for name in ("token", rule))
    assert more - token > 4 * np.hypot(token_error, error)
