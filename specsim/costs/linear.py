"""The matrix products of a transformer, and their time by number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim.costs.roofline import Rates, padded_rows, soft_maximum
from specsim.schema.model import ModelConfig

BYTES_PER_ELEMENT = 2  # BF16

Floats = NDArray[np.float64]


class Linear(NamedTuple):
    """A weight matrix on one device: rows of ``inputs`` numbers become rows of ``outputs``, ``repeats`` times."""

    inputs: int
    outputs: int
    repeats: int = 1

    @property
    def weights(self) -> int:
        """Numbers in all ``repeats`` matrices."""
        return self.inputs * self.outputs * self.repeats


class LinearTime(NamedTuple):
    """Seconds by number of rows, each of the shape of the rows."""

    weights: Floats
    compute: Floats
    launch: Floats


def layer_linears(model: ModelConfig, tensor_parallel: int, *, attention_inputs: int | None = None) -> list[Linear]:
    """The matrix products of all layers, one device's share.

    Args:
        model: its dimensions.
        tensor_parallel: devices that share each matrix (Megatron's split: outputs first, inputs second).
        attention_inputs: width that the query, key and value projections read, where it is not the hidden size.
    """
    hidden, layers, share = model.hidden_size, model.num_hidden_layers, tensor_parallel
    up = (model.mlp_matrices - 1) * model.intermediate_size
    return [
        Linear(attention_inputs or hidden, (model.query_size + 2 * model.kv_size) // share, layers),
        Linear(model.query_size // share, hidden, layers),
        Linear(hidden, up // share, layers),
        Linear(model.intermediate_size // share, hidden, layers),
    ]


def linear_time(linears: Sequence[Linear], rows: ArrayLike, rates: Rates) -> LinearTime:
    """Seconds that the products take for each number of rows, split so that the three parts add up to the whole.

    ``weights`` is the time to stream weights (and activations, unless ideal); ``compute`` what arithmetic adds to it.
    """
    asked = np.asarray(rows, dtype=np.int64)
    computed = padded_rows(asked, rates.row_tile)
    ran = asked > 0
    weights, compute, launch = (np.zeros(asked.shape) for _ in range(3))
    for linear in linears:
        activations = 0 if rates.weight_traffic_only else asked * (linear.inputs + linear.outputs)
        moved = BYTES_PER_ELEMENT * (linear.inputs * linear.outputs + activations) / rates.linear_bandwidth * ran
        arithmetic = 2.0 * linear.inputs * linear.outputs * computed / rates.linear_flops
        weights += linear.repeats * moved
        compute += linear.repeats * (soft_maximum(arithmetic, moved, rates.sharpness) - moved)
        launch += linear.repeats * rates.linear_launch * ran
    return LinearTime(weights, compute, launch)
