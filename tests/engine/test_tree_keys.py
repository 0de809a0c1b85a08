"""Trees may be keyed by output position and sibling: what engines would decode that way has the target's joint law.

Decoded here with the engine's own keys from Markov models, since the engine's rows do not depend on tokens; and with
wrong keys, which must show.
"""

import numpy as np
import pytest

from specsim.drafting.shape import tree
from specsim.uniforms import LANE_ACCEPT, LANE_DRAFT
from specsim.verification import verify_tree
from specsim.verification.proof.losslessness import (
    SEQUENCE_LENGTH,
    START,
    append,
    joint_chi_square,
    joint_chi_square_limit,
    random_markov_pair,
)

SHAPE = tree([[3], [2, 1, 1]])
NUM_SEQUENCES = 100_000
SCHEMES = ["with_replacement", "without_replacement", "one_hot"]


def as_in_the_engine(start, level, sibling):
    return start + level - 1, sibling


def one_number_for_all_siblings(start, level, sibling):
    return start + level - 1, 0 * sibling


def one_number_for_a_path(start, level, sibling):
    return start, sibling


def by_the_level_alone(start, level, sibling):
    return 0 * start + level - 1, sibling


def drawn(weights, uniforms):
    cumulative = weights.cumsum(axis=1)
    return (cumulative[:, :-1] <= uniforms[:, None] * cumulative[:, -1:]).sum(axis=1)


def proposed(pair, context, siblings, uniforms):
    """Tokens [B, N] and the context that each column of p_row stands for [B, N+1]."""
    contexts = np.empty((len(context), SHAPE.max_nodes + 1), dtype=np.int64)
    contexts[:, 0] = context
    for i, parent in enumerate(SHAPE.parents):
        weights = pair.drafter[contexts[:, parent + 1]].copy()
        for j in np.flatnonzero(SHAPE.parents[:i] == parent) if siblings != "with_replacement" else ():
            weights[np.arange(len(context)), contexts[:, j + 1]] = 0.0
        contexts[:, i + 1] = weights.argmax(axis=1) if siblings == "one_hot" else drawn(weights, uniforms[:, i])
    return contexts[:, 1:], contexts


def decoded(keys, siblings, seed=1):
    rng = np.random.default_rng(seed)
    pair = random_markov_pair(rng)
    positions = SEQUENCE_LENGTH + SHAPE.num_levels
    draws, final = rng.random((NUM_SEQUENCES, positions, SHAPE.width, 2)), rng.random((NUM_SEQUENCES, positions))
    tokens = np.full((NUM_SEQUENCES, SEQUENCE_LENGTH), -1)
    length, context = np.zeros(NUM_SEQUENCES, dtype=np.int64), np.full(NUM_SEQUENCES, START)
    while len(rows := np.flatnonzero(length < SEQUENCE_LENGTH)):
        position, sibling = keys(length[rows][:, None], SHAPE.level, SHAPE.sibling)
        uniforms = draws[rows[:, None], position, sibling]
        token, contexts = proposed(pair, context[rows], siblings, uniforms[:, :, LANE_DRAFT])
        sampled = siblings != "one_hot"
        out, num_out, _ = verify_tree(
            np.broadcast_to(SHAPE.parents, token.shape),
            token,
            np.full(len(rows), SHAPE.max_nodes),
            contexts[:, SHAPE.parents + 1] if sampled else None,
            contexts,
            pair.drafter if sampled else None,
            pair.target,
            siblings=siblings,
            accept_uniforms=uniforms[:, :, LANE_ACCEPT],
            final_uniforms=final[rows, length[rows]],
            validate=False,
        )
        append(tokens, length, rows, out, num_out)
        context[rows] = out[np.arange(len(out)), num_out - 1]
    return joint_chi_square(tokens, pair.target)


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SCHEMES)
def test_the_engines_keys_are_exact(siblings):
    assert decoded(as_in_the_engine, siblings) <= joint_chi_square_limit()


@pytest.mark.slow
@pytest.mark.parametrize("keys", [one_number_for_all_siblings, one_number_for_a_path, by_the_level_alone])
@pytest.mark.parametrize("siblings", SCHEMES)
def test_wrong_keys_show(keys, siblings):
    assert decoded(keys, siblings) > joint_chi_square_limit()
