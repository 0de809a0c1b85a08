"""The uniforms that decide drafts and their fate, as a function of whom they belong to.

Each is one output of Threefry-4x64 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC 2011): a block function from a key and a counter to four words. The key is the run's seed and replication,
the counter (output position, column, request, purpose). No generator has a state, so it makes no difference when, in
which batch or how often a number is looked up.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from specsim.kernels import kernel

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

LANE_DRAFT, LANE_ACCEPT, LANE_FINAL, LANE_FOUND = 0, 1, 2, 3
NUM_LANES = 4

BY_POSITION, BY_ROUND = 0, 1
"""What the position of a counter means: that of an output token, or that of a round's start."""

_ROTATIONS = np.array([[14, 16], [52, 57], [23, 40], [5, 37], [25, 33], [46, 12], [58, 22], [32, 32]], np.uint64)
_PARITY = np.uint64(0x1BD11BDAA9FC1A22)
_BITS, _DROPPED, _UNIT = np.uint64(64), np.uint64(11), 2.0**-53
NUM_ROUNDS = 20


def luck_key(seed: int, replication: int) -> Words:
    """The key [4] of a run's uniforms."""
    spawn_key = (zlib.crc32(b"tokens"), replication)
    return np.random.SeedSequence(seed, spawn_key=spawn_key).generate_state(4, np.uint64).astype(np.uint64)


@kernel
def threefry(key: Words, words: Words) -> None:
    """Replace counters [4, n] by what they map to under a key [4]."""
    keys = np.empty(5, np.uint64)
    for word in range(4):
        keys[word] = key[word]
    keys[4] = _PARITY ^ key[0] ^ key[1] ^ key[2] ^ key[3]
    for word in range(4):
        _add(words[word], keys[word])
    for i in range(5 * len(key)):
        swap = 2 * (i % 2)  # odd rounds mix words 0 with 3 and 2 with 1
        _mix(words[0], words[1 + swap], _ROTATIONS[i % 8, 0])
        _mix(words[2], words[3 - swap], _ROTATIONS[i % 8, 1])
        if i % 4 == 3:
            inject = i // 4 + 1
            for word in range(4):
                _add(words[word], keys[(inject + word) % 5])
            _add(words[3], np.uint64(inject))


@kernel
def _add(a: Words, number: np.uint64) -> None:
    a += number


@kernel
def _mix(a: Words, b: Words, rotation: np.uint64) -> None:
    a += b
    np.bitwise_xor((b << rotation) | (b >> (_BITS - rotation)), a, b)


@kernel
def _fill(words: Words, number: int) -> None:
    words[:] = number


@kernel
def _as_uniforms(words: Words, uniforms: Floats) -> None:
    words >>= _DROPPED
    np.multiply(words, _UNIT, uniforms)


@kernel
def draw_luck(lanes: Floats, key: Words, request: int, first: int, purpose: int) -> None:
    """Fill a table with a request's uniforms in [0, 1).

    Entry (lane, i, j) serves position ``first + i`` and column j. By position, columns are siblings: entry
    (LANE_DRAFT, i, j) says which token the j-th child of a node drafted for that output position is, and (LANE_ACCEPT,
    i, j) whether it is accepted; a chain has first children only. By round, positions are those at which a round
    starts, and column j is its j-th draft. Column 0 by position also says which token ends the round that starts there
    (LANE_FINAL) and whether a look-up there finds a draft (LANE_FOUND).

    Why position and sibling are key enough for the token rule and for trees, and the round need not be part of it: of
    all nodes drafted, only the children of the root and of accepted nodes are ever tested, and of these only those up
    to the first that passes: nothing else has a say in the output. A walk that starts at position s and accepts n nodes
    has tested children at positions s to s + n, at each position those of one node, each child once. The next round
    starts at s + n + 1. So no number that had a say is consulted again. Cousins, nodes for one position below different
    parents, share their numbers, but a walk comes to one parent at most, and what the others' children were is as if it
    had never been drawn.

    The block rule looks at drafts and uniforms beyond the position where it stops: by position the next round would
    consult for a second time what has already had a say, and the output law would be biased. So there drafting and
    accepting go by the round.

    Args:
        lanes: receives the numbers [NUM_LANES, positions, columns].
        key: as made by ``luck_key``.
        request: whose.
        first: position of the first row.
        purpose: BY_POSITION or BY_ROUND.
    """
    num_positions = lanes.shape[1]
    words = np.empty((NUM_LANES, num_positions), np.uint64)
    for column in range(lanes.shape[2]):
        for word, number in enumerate((first, column, request, purpose)):
            _fill(words[word], number)
        for i in range(num_positions):
            words[0, i] += np.uint64(i)
        threefry(key, words)
        for lane in range(NUM_LANES):
            _as_uniforms(words[lane], lanes[lane, :, column])
