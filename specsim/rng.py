"""Randomness as an argument: named, counter-based streams, so that the same seed gives the same bytes.

A stream is addressed by what it decides, never by when it is asked: ``stream(seed, "lengths", replication)``. Two runs
that differ in policy alone therefore see the same requests and the same luck, and their difference has little noise.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

LANE_DRAFT, LANE_ACCEPT, LANE_FINAL = 0, 1, 2
NUM_LANES = 3


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """The generator that decides ``purpose`` for the given index, independent of every other purpose and index.

    Args:
        seed: the scenario's seed, a non-negative integer.
        purpose: what the numbers decide; its CRC-32 is part of the key, so the spelling matters.
        index: which one of its kind, such as a replication or a request number.
    """
    key = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(purpose.encode()), *index))
    return np.random.Generator(np.random.Philox(key))


def request_uniforms(seed: int, replication: int, request: int, num_positions: int) -> NDArray[np.float64]:
    """The uniforms of one request, shape [num_positions, NUM_LANES], in [0, 1).

    Row i serves output position i: which token is drafted there (LANE_DRAFT), whether it is accepted (LANE_ACCEPT), and
    which token ends the round that starts there (LANE_FINAL). Rounds never start twice at a position, so every value
    is consulted for one decision only. A longer table begins with the shorter one: results depend neither on how many
    positions were asked for nor on which requests share a batch.
    """
    return stream(seed, "tokens", replication, request).random((num_positions, NUM_LANES))


def lookup_uniforms(seed: int, replication: int, request: int, num_positions: int) -> NDArray[np.float64]:
    """What a lookup of drafts finds, by the output position at which a round starts; shape [num_positions], in [0, 1).

    A stream of its own: whether a draft is found has no say in which tokens are drafted or accepted.
    """
    return stream(seed, "lookups", replication, request).random(num_positions)


def sibling_uniforms(seed: int, replication: int, request: int, num_positions: int, width: int) -> NDArray[np.float64]:
    """Uniforms of one request for trees, shape [num_positions, width, 2], in [0, 1).

    Entry (i, j) serves the j-th child of whichever node a round drafts for output position i: which token it is
    (LANE_DRAFT) and whether it is accepted (LANE_ACCEPT). Which token ends a round stays with `request_uniforms`.

    Position and sibling are key enough, and the round need not be part of it. Of all nodes drafted, only the children
    of the root and of accepted nodes are ever tested, and of these only those up to the first that passes: nothing else
    has a say in the output. A walk that starts at position s and accepts n nodes has tested children at positions s to
    s + n, at each position those of one node, each child once. The next round starts at s + n + 1. So no number that
    had a say is consulted again. Cousins, nodes for one position below different parents, share their numbers, but a
    walk comes to one parent at most, and what the others' children were is as if it had never been drawn.

    First children have the numbers that chains have: a tree without forks sees the luck of the token rule, and a wider
    tree that of the narrower one and more. Each later sibling is a stream of its own, so a wider table begins with the
    narrower one.
    """
    table = np.empty((num_positions, width, 2))
    for j in range(width):
        if j == 0:
            table[:, 0] = request_uniforms(seed, replication, request, num_positions)[:, [LANE_DRAFT, LANE_ACCEPT]]
        else:
            table[:, j] = stream(seed, "siblings", replication, request, j).random((num_positions, 2))
    return table


def round_uniforms(
    seed: int, replication: int, request: int, num_starts: int, num_draft_tokens: int
) -> NDArray[np.float64]:
    """Uniforms of one request by where a round starts, shape [num_starts, num_draft_tokens, 2], in [0, 1).

    Entry (s, i) serves the i-th draft of the round that starts at output position s: which token is drafted
    (LANE_DRAFT) and whether the first i + 1 drafts pass (LANE_ACCEPT). The block rule needs this, because it looks at
    drafts and at uniforms beyond the position where it stops: under the key of an output position alone, the next round
    would consult for a second time what has already had a say, and the output law would be biased. Which token ends the
    round stays with `request_uniforms` (LANE_FINAL), where a round has its start to itself.

    Each draft position is a stream of its own, so a table with more starts or longer drafts begins with the smaller
    one. It costs 16 bytes per start and draft token.
    """
    table = np.empty((num_starts, num_draft_tokens, 2))
    for i in range(num_draft_tokens):
        table[:, i] = stream(seed, "rounds", replication, request, i).random((num_starts, 2))
    return table
