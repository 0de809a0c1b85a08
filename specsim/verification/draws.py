"""Drawing tokens from weights by inverse cumulative sums, and assembling a result.

Knows nothing of why a token is drawn from these weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.verification.arrays import Emitted, Float64s, Int64s, Ints
from specsim.verification.summation import BLOCK, partial_sums

# Rows are turned into cumulative sums this many entries at a time (half a megabyte), so that a large vocabulary is
# worked on in cache.
_ENTRIES_AT_A_TIME = 1 << 16


def parts(num_rows: int, V: int) -> list[slice]:
    """The slices in which num_rows rows of V entries are processed."""
    size = max(1, _ENTRIES_AT_A_TIME // max(V, 1))
    return [slice(first, first + size) for first in range(0, num_rows, size)]


def draw_rows(weights_of: Callable[[Int64s], Float64s], uniforms: Float64s, V: int) -> Int64s:
    """One token for each row b of the batch, drawn from the weights weights_of(b), int64 [B].

    Args:
        weights_of: weights [len(b), V] of the rows b.
        uniforms: in [0, 1) [B].
        V: the vocabulary.
    """
    rows, token = np.arange(len(uniforms)), np.empty(len(uniforms), dtype=np.int64)
    for part in parts(len(rows), V):
        token[part] = draw(weights_of(rows[part]), uniforms[part])
    return token


def draw(weights: Float64s, uniforms: Float64s) -> Int64s:
    """First index of each row [B, V] whose cumulative weight exceeds u times the total, int64 [B]; uniforms u [B].

    Never one of weight zero. Sums are those of `summation`. In a long row they find a block; within it tokens are added
    one after another to the blocks before it, and where rounding leaves even the last below the threshold, the last
    token with a weight is taken.
    """
    sums = partial_sums(weights)
    total = sums[:, -1]
    # u·total can round up to the total where the total is subnormal; stay below it, or nothing would exceed it.
    threshold = np.fmin(uniforms * total, np.nextafter(total, 0.0))
    found: Int64s = (sums > threshold[:, None]).argmax(axis=1)
    return found if sums.shape == weights.shape else _in_block(weights, sums, found, threshold)


def _in_block(weights: Float64s, sums: Float64s, block: Int64s, threshold: Float64s) -> Int64s:
    """The token of each row within its block, given the running sums of blocks and the threshold to exceed."""
    V, n = weights.shape[1], np.arange(len(block))
    token = block[:, None] * BLOCK + np.arange(BLOCK)
    running = np.zeros((len(block), BLOCK + 1))
    running[:, 0] = np.where(block > 0, sums[n, block - 1], 0.0)
    running[:, 1:] = np.where(token < V, weights[n[:, None], np.minimum(token, V - 1)], 0.0)
    last = BLOCK - 1 - (running[:, :0:-1] > 0).argmax(axis=1)
    exceeds = running.cumsum(axis=1)[:, 1:] > threshold[:, None]
    within: Int64s = np.where(exceeds.any(axis=1), exceeds.argmax(axis=1), last)
    return block * BLOCK + within


def assemble(draft: Ints, accepted: Int64s, token: Ints) -> Emitted:
    """The first accepted drafts of each row, then its token, then -1, int64 [B, K+1]; and their number, int64 [B]."""
    B, K = draft.shape
    out = np.full((B, K + 1), -1, dtype=np.int64)
    np.copyto(out[:, :K], draft, where=np.arange(K) < accepted[:, None], casting="same_kind")
    out[np.arange(B), accepted] = token
    return out, accepted + 1
