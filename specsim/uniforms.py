"""The uniforms that decide drafts and their acceptance, as a function of what they belong to.

Each is one output of Threefry-4x64 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC 2011): a block function from a key and a counter to four words. The key is the run's seed and replication,
the counter (output position, column, request, purpose). No generator has a state, so it makes no difference when, in
which batch or how often a number is looked up.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from specsim.arrays import Floats, Ints, Words
from specsim.kernels import kernel

LANE_DRAFT, LANE_ACCEPT, LANE_FINAL, LANE_FOUND = 0, 1, 2, 3
LANE_HARD, LANE_RUNG = 0, 1
"""Of traits: whether an output position is hard, and on which rung it is."""
NUM_LANES = 4

BY_POSITION, BY_ROUND, BY_TRAIT, BY_REQUEST = 0, 1, 2, 3
"""What a counter's position means: that of an output token, that of a round's start, that of an output token again for
what is drawn of the text and not of drafts, or nothing, where it is 0 for what a request keeps."""

_PARITY = np.uint64(0x1BD11BDAA9FC1A22)
_DROPPED, _UNIT = np.uint64(11), 2.0**-53


def uniforms_key(seed: int, replication: int) -> Words:
    """The key of a run's uniforms, uint64 [4]."""
    spawn_key = (zlib.crc32(b"tokens"), replication)
    return np.random.SeedSequence(seed, spawn_key=spawn_key).generate_state(4, np.uint64).astype(np.uint64)


@kernel
def threefry(key: Words, x0: Any, x1: Any, x2: Any, x3: Any) -> tuple[Any, Any, Any, Any]:
    """Four words for each counter under a key [4], as uint64 numbers or arrays (Salmon et al. 2011)."""
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    k4 = _PARITY ^ k0 ^ k1 ^ k2 ^ k3
    x0, x1, x2, x3 = x0 + k0, x1 + k1, x2 + k2, x3 + k3
    x0, x1, x2, x3 = _four_rounds(x0, x1, x2, x3, 14, 16, 52, 57, 23, 40, 5, 37)
    x0, x1, x2, x3 = x0 + k1, x1 + k2, x2 + k3, x3 + k4 + np.uint64(1)
    x0, x1, x2, x3 = _four_rounds(x0, x1, x2, x3, 25, 33, 46, 12, 58, 22, 32, 32)
    x0, x1, x2, x3 = x0 + k2, x1 + k3, x2 + k4, x3 + k0 + np.uint64(2)
    x0, x1, x2, x3 = _four_rounds(x0, x1, x2, x3, 14, 16, 52, 57, 23, 40, 5, 37)
    x0, x1, x2, x3 = x0 + k3, x1 + k4, x2 + k0, x3 + k1 + np.uint64(3)
    x0, x1, x2, x3 = _four_rounds(x0, x1, x2, x3, 25, 33, 46, 12, 58, 22, 32, 32)
    x0, x1, x2, x3 = x0 + k4, x1 + k0, x2 + k1, x3 + k2 + np.uint64(4)
    x0, x1, x2, x3 = _four_rounds(x0, x1, x2, x3, 14, 16, 52, 57, 23, 40, 5, 37)
    return x0 + k0, x1 + k1, x2 + k2, x3 + k3 + np.uint64(5)


@kernel
def _four_rounds(
    x0: Any, x1: Any, x2: Any, x3: Any, a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int
) -> tuple[Any, Any, Any, Any]:
    """Four rounds, each of two words that mix with their neighbours, rotated by these numbers of bits."""
    x0 = x0 + x1
    x1 = _turned(x1, a) ^ x0
    x2 = x2 + x3
    x3 = _turned(x3, b) ^ x2
    x0 = x0 + x3
    x3 = _turned(x3, c) ^ x0
    x2 = x2 + x1
    x1 = _turned(x1, d) ^ x2
    x0 = x0 + x1
    x1 = _turned(x1, e) ^ x0
    x2 = x2 + x3
    x3 = _turned(x3, f) ^ x2
    x0 = x0 + x3
    x3 = _turned(x3, g) ^ x0
    x2 = x2 + x1
    x1 = _turned(x1, h) ^ x2
    return x0, x1, x2, x3


@kernel
def _turned(word: Any, bits: int) -> Any:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


def draw_uniforms(lanes: Floats, key: Words, request: int, first: int, purpose: int) -> None:
    """Fill a table with a request's uniforms in [0, 1).

    Entry (lane, j, i) serves column j and position ``first + i``. By position, columns are siblings: entry
    (LANE_DRAFT, j, i) says which token the j-th child of a node drafted for that output position is, and (LANE_ACCEPT,
    j, i) whether it is accepted; a chain has first children only. By round, positions are those at which a round
    starts, and column j is its j-th draft. Column 0 by position also says which token ends the round that starts there
    (LANE_FINAL) and whether a look-up there finds a draft (LANE_FOUND).

    Why position and sibling are key enough for the token rule and for trees, and the round need not be part of it: of
    all nodes drafted, only the children of the root and of accepted nodes are ever tested, and of these only those up
    to the first that passes: nothing else affects the output. A walk that starts at position s and accepts n nodes
    has tested children at positions s to s + n, at each position those of one node, each child once. The next round
    starts at s + n + 1. So no number that affected the output is used again. Cousins, nodes for one position below
    different parents, share their numbers, but a walk comes to one parent at most, and the others' children might as
    well never have been drawn.

    The block rule looks at drafts and uniforms beyond the position where it stops: by position the next round would
    use for a second time what has already affected the output, and bias the output distribution. So there drafting and
    accepting go by the round.

    Args:
        lanes: receives the numbers [NUM_LANES, columns, positions].
        key: as made by ``uniforms_key``.
        request: whose.
        first: position of the first row.
        purpose: BY_POSITION or BY_ROUND.
    """
    positions = np.arange(first, first + lanes.shape[2]).astype(np.uint64)
    same = np.ones_like(positions)
    for column in range(lanes.shape[1]):
        counters = (positions, same * np.uint64(column), same * np.uint64(request), same * np.uint64(purpose))
        for lane, words in enumerate(threefry(key, *counters)):
            lanes[lane, column] = (words >> _DROPPED) * _UNIT


def uniforms_at(key: Words, requests: Ints, positions: Ints, purpose: int) -> Floats:
    """The uniforms of column 0 of requests [B], each at its position [B]; by lane, in [0, 1) [NUM_LANES, B]."""
    same = np.zeros(len(requests), np.uint64)
    counters = (positions.astype(np.uint64), same, requests.astype(np.uint64), same + np.uint64(purpose))
    return np.array([(words >> _DROPPED) * _UNIT for words in threefry(key, *counters)])


@kernel
def draw_uniforms_one_by_one(lanes: Floats, key: Words, request: int, first: int, purpose: int) -> None:
    """``draw_uniforms`` [NUM_LANES, columns, positions] counter by counter: compiled code then stores no words."""
    for column in range(lanes.shape[1]):
        drafting, accepting = lanes[LANE_DRAFT, column], lanes[LANE_ACCEPT, column]
        final, finding = lanes[LANE_FINAL, column], lanes[LANE_FOUND, column]
        for i in range(lanes.shape[2]):
            x0, x1, x2, x3 = threefry(
                key, np.uint64(first + i), np.uint64(column), np.uint64(request), np.uint64(purpose)
            )
            drafting[i], accepting[i] = (x0 >> _DROPPED) * _UNIT, (x1 >> _DROPPED) * _UNIT
            final[i], finding[i] = (x2 >> _DROPPED) * _UNIT, (x3 >> _DROPPED) * _UNIT
