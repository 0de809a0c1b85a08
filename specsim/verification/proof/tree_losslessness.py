"""Two statistical tests that a tree verifier is lossless: the joint law of what it emits, and how much it emits.

As for chains in `losslessness`, with which it shares the models and the statistics: sequences are decoded from a Markov
target by repeated rounds, each row with a tree of its own shape. Knows nothing of how a verifier works inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from specsim.verification.arrays import Float64s, Int64s
from specsim.verification.proof.losslessness import NUM_TOKENS, SEQUENCE_LENGTH, START, Decoded, MarkovPair
from specsim.verification.trees.forest import Forest, Siblings, TreeVerifier

# Parents of each node. Some trees are no deeper than the sequences are long, some are deeper, some have no node.
SHAPES: tuple[tuple[int, ...], ...] = ((), (-1,), (-1, 0), (-1, -1, -1), (-1, -1, 0, 0, 1), (-1, 0, -1, 1, 1, 2))
_N = max(map(len, SHAPES))
_NUM_NODES = np.array([len(shape) for shape in SHAPES])
_PARENTS = np.array([[*shape, *[-1] * (_N - len(shape))] for shape in SHAPES])
_POISON = START + 1  # the row of either table that holds NaN


def decode_trees(
    verify: TreeVerifier, siblings: Siblings, pair: MarkovPair, num_sequences: int, rng: np.random.Generator
) -> Decoded:
    """Decode many sequences side by side, each round being one call with a tree of random shape per row."""
    tokens = np.full((num_sequences, SEQUENCE_LENGTH), -1, dtype=np.int64)
    length = np.zeros(num_sequences, dtype=np.int64)
    context = np.full(num_sequences, START)
    expected = np.stack([expected_tree_tokens(pair, shape, siblings) for shape in SHAPES])
    surplus = []
    for _ in range(SEQUENCE_LENGTH):  # enough rounds, as each emits a token or more
        rows = np.flatnonzero(length < SEQUENCE_LENGTH)
        shape = rng.integers(0, len(SHAPES), size=len(rows))
        forest = propose_trees(pair, context[rows], shape, siblings, rng)
        out, num_out, _ = verify(
            forest.parents, forest.token, forest.num_nodes, forest.q_row, forest.p_row, forest.q, forest.p,
            siblings=siblings, rng=rng, validate=False,
        )  # fmt: skip
        surplus.append(num_out - expected[shape, context[rows]])
        for j in range(out.shape[1]):
            fits = (j < num_out) & (length[rows] + j < SEQUENCE_LENGTH)
            tokens[rows[fits], length[rows[fits]] + j] = out[fits, j]
        length[rows] += num_out
        context[rows] = out[np.arange(len(out)), num_out - 1]
    return Decoded(tokens, np.concatenate(surplus))


def propose_trees(
    pair: MarkovPair, context: Int64s, shape: Int64s, siblings: Siblings, rng: np.random.Generator
) -> Forest:
    """Trees of given shapes, drawn from the drafter or, for one-hot, made of its most likely tokens.

    Padding is poisoned: tokens are -1, parents look like more children of the root, rows are full of NaN.

    Args:
        pair: the models.
        context: the last token of each row [B].
        shape: index of each row's shape in SHAPES [B].
        siblings: how siblings are drawn.
        rng: draws the tokens.
    """
    B = len(context)
    parents, num_nodes = _PARENTS[shape], _NUM_NODES[shape]
    contexts = np.full((B, _N + 1), _POISON)  # after the root, and after each node
    contexts[:, 0] = context
    token, q_row = np.full((B, _N), -1), np.full((B, _N), _POISON)
    for i in range(_N):
        b = np.flatnonzero(num_nodes > i)
        q_row[b, i] = contexts[b, parents[b, i] + 1]
        weights = pair.drafter[q_row[b, i]]
        if siblings != "with_replacement":
            for j in range(i):
                earlier = np.flatnonzero(parents[b, j] == parents[b, i])
                weights[earlier, token[b[earlier], j]] = 0.0
        token[b, i] = weights.argmax(axis=1) if siblings == "one_hot" else _drawn(weights, rng)
        contexts[b, i + 1] = token[b, i]
    nothing = np.full((1, NUM_TOKENS), np.nan)
    q, p = np.concatenate([pair.drafter, nothing]), np.concatenate([pair.target, nothing])
    if siblings == "one_hot":
        return Forest(parents, token, num_nodes, None, contexts, None, p)
    return Forest(parents, token, num_nodes, q_row, contexts, q, p)


def _drawn(weights: Float64s, rng: np.random.Generator) -> Int64s:
    """One index per row, drawn in proportion to the weights: the race of exponential clocks."""
    with np.errstate(divide="ignore"):
        ringing = rng.exponential(size=weights.shape) / weights
    token: Int64s = ringing.argmin(axis=1)
    return token


def expected_tree_tokens(pair: MarkovPair, shape: Sequence[int], siblings: Siblings) -> Float64s:
    """Mean tokens per verify of trees of this shape, by context [NUM_TOKENS + 1]."""
    return np.array([1 + _expected_below(-1, context, pair, shape, siblings) for context in range(START + 1)])


def _expected_below(node: int, context: int, pair: MarkovPair, shape: Sequence[int], siblings: Siblings) -> float:
    """Mean number of nodes accepted below one that was accepted, over all draws of its children."""
    children = [i for i, parent in enumerate(shape) if parent == node]
    below = [[1 + _expected_below(i, x, pair, shape, siblings) for x in range(NUM_TOKENS)] for i in children]
    q = pair.drafter[context]
    total = 0.0
    for tokens in product(range(NUM_TOKENS), repeat=len(children)):
        r, reached = pair.target[context], 1.0  # the probability of this draw and of having got so far in it
        for k, x in enumerate(tokens):
            law = _law_of_sibling(q, tokens[:k], siblings)
            chance = law[x]
            judged_by = np.eye(NUM_TOKENS)[x] if siblings == "one_hot" else law
            reached *= chance
            if reached == 0:
                break
            passes = min(1.0, r[x] / judged_by[x])
            total += reached * passes * below[k][x] * _chance_of_rest(q, tokens, k, siblings)
            reached *= 1 - passes
            r = np.maximum(r - judged_by, 0.0)
            if reached == 0 or not r.any():
                break
            r = r / r.sum()
    return total


def _chance_of_rest(q: Float64s, tokens: Sequence[int], k: int, siblings: Siblings) -> float:
    """The probability that the siblings after the k-th are these."""
    rest = (_law_of_sibling(q, tokens[:j], siblings)[tokens[j]] for j in range(k + 1, len(tokens)))
    return float(np.prod(list(rest)))


def _law_of_sibling(q: Float64s, earlier: Sequence[int], siblings: Siblings) -> Float64s:
    """The distribution of the sibling after these; for one-hot, all on the most likely token left."""
    if siblings == "with_replacement":
        return q
    left = q.copy()
    left[list(earlier)] = 0.0
    one_hot: Float64s = np.eye(NUM_TOKENS)[left.argmax()]
    return one_hot if siblings == "one_hot" else left / left.sum()
