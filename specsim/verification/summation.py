"""The one order in which weights are added up, so that every verifier, compiled or not, gets the same bits.

Up to SEQUENTIAL numbers they are added one after another. More are taken in blocks of BLOCK, the last one filled up
with zeros. A block is added up in LANES lanes: lane l takes numbers l, l + LANES, l + 2·LANES, .. one after another,
then the second half of the lanes is added to the first, and so on by halves down to one. The blocks' sums are added
one after another. Vector units can follow this order without leave to reorder anything, and the rounding error grows
with the number of blocks and lanes, not of tokens.

Weights are in float64. Of numbers in float32, as tables are when they are checked, each block is added up in float32
and the rest in float64.

Knows nothing of what is summed.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Float64s, Floats

SEQUENTIAL = 1024
BLOCK = 512
LANES = 32


def partial_sums(weights: Floats) -> Float64s:
    """Running sums of each row, the last being its total: of single numbers where they are few, else of blocks.

    Args:
        weights: any numbers, float32 or float64 [N, V].

    Returns:
        float64 [N, V] if V ≤ SEQUENTIAL, else [N, ⌈V/BLOCK⌉].
    """
    if weights.shape[1] <= SEQUENTIAL:
        return weights.cumsum(axis=1, dtype=np.float64)
    return _block_sums(weights).cumsum(axis=1)


def mass(weights: Floats) -> Float64s:
    """The sum of each row of weights [N, V], float64 [N]."""
    total: Float64s = partial_sums(weights)[:, -1]
    return total


def _block_sums(weights: Floats) -> Float64s:
    N, V = weights.shape
    full = V // BLOCK
    sums = np.empty((N, -(-V // BLOCK)))
    sums[:, :full] = _in_lanes(weights[:, : full * BLOCK].reshape(N, full, BLOCK // LANES, LANES))
    if V % BLOCK:
        rest = np.zeros((N, 1, BLOCK), dtype=weights.dtype)
        rest[:, 0, : V % BLOCK] = weights[:, full * BLOCK :]
        sums[:, full:] = _in_lanes(rest.reshape(N, 1, BLOCK // LANES, LANES))
    return sums


def _in_lanes(blocks: Floats) -> Floats:
    """The sum of each block, shape [N, n], for blocks [N, n, BLOCK/LANES, LANES]."""
    # Not sum(axis=2), whose order is NumPy's own business.
    lanes = blocks[:, :, 0] + blocks[:, :, 1]
    for j in range(2, blocks.shape[2]):
        lanes += blocks[:, :, j]
    lanes = np.ascontiguousarray(np.moveaxis(lanes, -1, 0))  # the blocks are many: let the loops run along them
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    total: Floats = lanes[0]
    return total
