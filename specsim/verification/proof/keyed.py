"""Which uniform decides what, when a sequence is decoded round by round from its own table: right and wrong keys.

A verifier is lossless only if its caller never passes it a uniform that has already influenced the output. The token
rule uses the uniforms of an output position once, so position and lane are key enough. The block rule looks beyond its
stopping point, at drafts and at uniforms, and there a key must include the round.

Arguments of each key: the uniforms, rows of them and the position at which each round starts, int64 [B]. Returns draft
and accept uniforms [B, K] and final uniforms [B]. Knows nothing of how a verifier works inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from specsim.verification.arrays import ChainVerifier, Float64s, Int64s
from specsim.verification.block import verify_block
from specsim.verification.chain import verify_chain
from specsim.verification.proof.losslessness import (
    LAW_SIGNIFICANCE,
    MAX_DRAFT,
    NUM_TOKENS,
    SEQUENCE_LENGTH,
    START,
    MarkovPair,
    append,
    propose,
)

_DRAFT, _ACCEPT, _FINAL = 0, 1, 2
_NUM_POSITIONS = SEQUENCE_LENGTH + MAX_DRAFT


class UniformTables(NamedTuple):
    """The uniforms of N sequences, in [0, 1).

    Attributes:
        by_position: by output position and lane (draft, accept, final) [N, positions, 3].
        by_round: by the round's start, position in the draft and lane (draft, accept) [N, starts, K, 2].
    """

    by_position: Float64s
    by_round: Float64s


Uniforms: TypeAlias = tuple[Float64s, Float64s, Float64s]
Keys: TypeAlias = Callable[[UniformTables, Int64s, Int64s], Uniforms]


def by_position(tables: UniformTables, rows: Int64s, start: Int64s) -> Uniforms:
    """Draft and accept uniforms by output position, final uniforms by the round's start."""
    window = tables.by_position[rows[:, None], start[:, None] + np.arange(MAX_DRAFT)]
    return window[:, :, _DRAFT], window[:, :, _ACCEPT], window[:, 0, _FINAL]


def by_round(tables: UniformTables, rows: Int64s, start: Int64s) -> Uniforms:
    """Draft and accept uniforms by the round's start and the position in the draft."""
    window = tables.by_round[rows, start]
    return window[:, :, _DRAFT], window[:, :, _ACCEPT], tables.by_position[rows, start, _FINAL]


def draft_uniforms_judge(tables: UniformTables, rows: Int64s, start: Int64s) -> Uniforms:
    """Wrong: lanes merged, the uniform that decided which token is drafted also decides whether it survives."""
    draft, _, final = by_position(tables, rows, start)
    return draft, draft, final


def accept_uniforms_draw(tables: UniformTables, rows: Int64s, start: Int64s) -> Uniforms:
    """Wrong: lanes merged, the uniform that judged the first draft also draws the last token."""
    draft, accept, _ = by_position(tables, rows, start)
    return draft, accept, accept[:, 0]


def reseeded_each_step(tables: UniformTables, rows: Int64s, start: Int64s) -> Uniforms:
    """Wrong: every round restarts the sequence's uniforms."""
    return by_position(tables, rows, np.zeros_like(start))


def shared_by_neighbours(tables: UniformTables, rows: Int64s, start: Int64s) -> Uniforms:
    """Wrong: two neighbouring sequences share uniforms. Each distribution is right; their joint one is not."""
    return by_position(tables, rows // 2 * 2, start)


def decode_keyed(
    verify: ChainVerifier, keys: Keys, pair: MarkovPair, num_sequences: int, rng: np.random.Generator
) -> Int64s:
    """Sequences decoded from tables of uniforms, addressed by keys, int64 [num_sequences, SEQUENCE_LENGTH]."""
    tables = UniformTables(
        rng.random((num_sequences, _NUM_POSITIONS, 3)), rng.random((num_sequences, SEQUENCE_LENGTH, MAX_DRAFT, 2))
    )
    tokens = np.full((num_sequences, SEQUENCE_LENGTH), -1, dtype=np.int64)
    length, context = np.zeros(num_sequences, dtype=np.int64), np.full(num_sequences, START)
    for _ in range(SEQUENCE_LENGTH):
        rows = np.flatnonzero(length < SEQUENCE_LENGTH)
        drafting, accept, final = keys(tables, rows, length[rows])
        num_draft = np.full(len(rows), MAX_DRAFT)
        draft, q, p = propose(pair, context[rows], num_draft, drafting)
        out, num_out = verify(draft, q, p, num_draft, accept_uniforms=accept, final_uniforms=final, validate=False)
        append(tokens, length, rows, out, num_out)
        context[rows] = out[np.arange(len(out)), num_out - 1]
    return tokens


def neighbour_chi_square(tokens: Int64s, target: Float64s) -> float:
    """Chi-square of first tokens of neighbours in [N, SEQUENCE_LENGTH] against independence: 15 degrees of freedom."""
    first, second = tokens[0::2, 0], tokens[1::2, 0]
    n = min(len(first), len(second))
    V = target.shape[1]
    observed = np.bincount(first[:n] * V + second[:n], minlength=V * V)
    expected = n * np.outer(target[START], target[START]).ravel()
    return float(((observed - expected) ** 2 / expected).sum())


def neighbour_chi_square_limit() -> float:
    """The value that independent neighbours exceed once in 100,000 runs: 50.49 at 15 df."""
    from scipy.special import chdtri  # here, as a caller who only verifies should not wait for scipy

    return float(chdtri(NUM_TOKENS**2 - 1, LAW_SIGNIFICANCE))


KEYINGS: tuple[tuple[str, ChainVerifier, Keys, Literal["pass", "fail"], bool], ...] = (
    ("verify_chain, keyed by position", verify_chain, by_position, "pass", False),
    ("verify_chain, keyed by position", verify_chain, by_position, "pass", True),
    ("verify_block, keyed by round", verify_block, by_round, "pass", False),
    ("verify_block, keyed by round", verify_block, by_round, "pass", True),
    ("verify_block, keyed by position", verify_block, by_position, "fail", False),
    ("draft uniforms judge", verify_chain, draft_uniforms_judge, "fail", False),
    ("accept uniforms draw", verify_chain, accept_uniforms_draw, "fail", False),
    ("reseeded each step", verify_chain, reseeded_each_step, "fail", False),
    ("uniforms shared by neighbours", verify_chain, shared_by_neighbours, "fail", True),
)
