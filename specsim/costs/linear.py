"""The matrix products that every token passes through, and their time by number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats
from specsim.costs.roofline import ProductRates, Rates, padded_rows, soft_maximum
from specsim.inputs.checkpoints.quantisation import BF16, Format

BYTES_PER_ELEMENT = 2  # BF16, what activations are in


class Linear(NamedTuple):
    """A weight matrix on one device: rows of ``inputs`` numbers become rows of ``outputs``.

    Attributes:
        inputs, outputs: its sizes.
        repeats: number of such products that run one after another.
        stacked: matrices that one launch applies side by side, each to its own part of the row (the heads of MLA).
        format: of its weights.
    """

    inputs: int
    outputs: int
    repeats: int = 1
    stacked: int = 1
    format: Format = BF16

    @property
    def weights(self) -> int:
        """Numbers in all its matrices."""
        return self.inputs * self.outputs * self.stacked * self.repeats

    @property
    def bytes(self) -> float:
        """Size of all its matrices [B]."""
        return self.weights * self.format.bytes_per_weight


class LinearTime(NamedTuple):
    """Times by number of rows, each in the shape of the rows [s]."""

    weights: Floats
    compute: Floats
    launch: Floats


def linear_time(linears: Sequence[Linear], rows: ArrayLike, rates: Rates) -> LinearTime:
    """Time of the products by number of rows (any shape) [s], in three parts that add up; see ``roofline``.

    ``weights`` is the time to stream weights (and activations, unless ideal); ``compute`` what arithmetic adds to it.
    """
    asked = np.asarray(rows, dtype=np.int64)
    ran = asked > 0
    weights, compute, launch = (np.zeros(asked.shape) for _ in range(3))
    for linear in linears:
        held = linear.inputs * linear.outputs * linear.stacked
        per_row = 0.0 if rates.weight_traffic_only else activation_bytes(linear.inputs, linear.outputs, linear.format)
        achieved = product_rates(linear.format, rates)
        computed = padded_rows(asked, achieved.row_tile)
        traffic = held * linear.format.bytes_per_weight + asked * (per_row * linear.stacked)
        moved = traffic / achieved.bandwidth * ran
        arithmetic = 2.0 * held * computed / achieved.flops
        weights += linear.repeats * moved
        compute += linear.repeats * (soft_maximum(arithmetic, moved, achieved.sharpness) - moved)
        launch += linear.repeats * achieved.launch * ran
    return LinearTime(weights, compute, launch)


def activation_bytes(inputs: int, outputs: int, format_: Format) -> float:
    """Traffic per row [B]: operand and result; to quantise, BF16 is read and the format written first."""
    if format_.quantises_activations:
        return inputs * (BYTES_PER_ELEMENT + 2 * format_.activation_bytes) + outputs * BYTES_PER_ELEMENT
    return BYTES_PER_ELEMENT * (inputs + outputs)


def product_rates(format_: Format, rates: Rates) -> ProductRates:
    """What products of a format achieve: own figures, or BF16's and the kernel that quantises the input."""
    if format_.kernels in rates.quantised:
        return rates.quantised[format_.kernels]
    launch = rates.linear_launch + (rates.kernel_launch if format_.quantises_activations else 0.0)
    flops = rates.flops_in[format_.compute]
    return ProductRates(flops, rates.linear_bandwidth, launch, rates.sharpness, rates.row_tile)
