"""The roofline of one kernel: the time to move its bytes, the time to do its arithmetic, and how the two combine.

t = launch + ((F / (f·peak))^n + (B / (b·bandwidth))^n)^(1/n). n → ∞ is the hard maximum of Williams, Waterman and
Patterson, "Roofline" (CACM 2009); measured matrix products follow a finite n (see the device's ``sources``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats, Ints
from specsim.inputs.models.hardware import TENSOR_RATE, Device


def soft_maximum(a: ArrayLike, b: ArrayLike, sharpness: float) -> Floats:
    """(a^n + b^n)^(1/n) of non-negative arrays of any shape, in their unit; maximum at n = ∞, sum at n = 1."""
    high, low = np.maximum(a, b), np.minimum(a, b)
    if math.isinf(sharpness):
        return high
    ratio = np.divide(low, high, out=np.zeros_like(high), where=high > 0)
    result: Floats = high * (1.0 + ratio**sharpness) ** (1.0 / sharpness)
    return result


class ProductRates(NamedTuple):
    """What matrix products of one precision achieve.

    Attributes:
        flops, bandwidth: [FLOP/s, B/s].
        launch: per product [s].
        sharpness: n of the soft maximum; infinite for the hard one.
        row_tile: rows are padded up to the first value while they fit, above it to multiples of the second.
    """

    flops: float
    bandwidth: float
    launch: float
    sharpness: float
    row_tile: tuple[int, int]


@dataclass(frozen=True)
class Rates:
    """What a device achieves: its peaks times the efficiencies of its kernels.

    Attributes:
        flops_in: of matrix products, by the precision of the tensor cores; without those that the device lacks
            [FLOP/s].
        linear_bandwidth, linear_launch, sharpness, row_tile: of matrix products, as in ``ProductRates``.
        quantised: of products in other formats than BF16, where the device has figures; what quantises activations or
            dequantises weights is in them.
        grouped: rate of grouped products over that of BF16 products.
        attention_flops, attention_bandwidth: of attention [FLOP/s, B/s].
        attention_launch: per layer [s].
        attention_per_kv_head: per layer, sequence and KV head [s].
        attention_sharpness: n of the soft maximum of that and of reading keys and values.
        attention_ramp: the most by which reading takes longer than at its full rate, per layer [s].
        prompt_overhead: additional tokens that a prompt token costs as much as attending to.
        elementwise_launch: of norms, activations and cache writes, per layer [s].
        kernel_launch: of each elementwise kernel beyond those [s].
        weight_traffic_only: whether everything but weights and matrix arithmetic is free (theory).
    """

    flops_in: Mapping[str, float]
    linear_bandwidth: float
    linear_launch: float
    sharpness: float
    row_tile: tuple[int, int]
    quantised: Mapping[str, ProductRates]
    grouped: float
    attention_flops: float
    attention_bandwidth: float
    attention_launch: float
    attention_per_kv_head: float
    attention_sharpness: float
    attention_ramp: float
    prompt_overhead: int
    elementwise_launch: float
    kernel_launch: float
    weight_traffic_only: bool


def device_rates(device: Device, *, ideal: bool) -> Rates:
    """The rates of a device; ``ideal`` drops every efficiency, launch time and traffic other than weights.

    Where a device has no figures for a precision, those of BF16 hold.
    """
    peak, bandwidth = device.peak.bf16, device.memory.bandwidth
    peaks = {name: flops for name, flops in device.peak if flops is not None}
    if ideal:
        return Rates(
            flops_in=peaks,
            linear_bandwidth=bandwidth,
            linear_launch=0.0,
            sharpness=math.inf,
            row_tile=(1, 1),
            quantised={},
            grouped=1.0,
            attention_flops=peak,
            attention_bandwidth=bandwidth,
            attention_launch=0.0,
            attention_per_kv_head=0.0,
            attention_sharpness=1.0,
            attention_ramp=0.0,
            prompt_overhead=0,
            elementwise_launch=0.0,
            kernel_launch=0.0,
            weight_traffic_only=True,
        )
    linear, attention, elementwise = device.linear, device.attention, device.elementwise
    return Rates(
        flops_in={name: linear.compute_efficiency * flops for name, flops in peaks.items()},
        linear_bandwidth=linear.bandwidth_efficiency * bandwidth,
        linear_launch=linear.launch,
        sharpness=_exponent(linear.sharpness),
        row_tile=linear.row_tile,
        quantised={
            name: ProductRates(
                own.compute_efficiency * peaks[TENSOR_RATE[name]],
                own.bandwidth_efficiency * bandwidth,
                own.launch,
                _exponent(own.sharpness),
                own.row_tile,
            )
            for name, own in device.linear_by_precision.items()
        },
        grouped=1.0 if device.grouped_products is None else device.grouped_products,
        attention_flops=attention.compute_efficiency * peak,
        attention_bandwidth=attention.bandwidth_efficiency * bandwidth,
        attention_launch=attention.launch,
        attention_per_kv_head=attention.per_kv_head,
        attention_sharpness=attention.sharpness,
        attention_ramp=attention.ramp,
        prompt_overhead=attention.prompt_overhead,
        elementwise_launch=elementwise.launch * elementwise.kernels_per_layer,
        kernel_launch=elementwise.launch,
        weight_traffic_only=False,
    )


def _exponent(sharpness: float | Literal["hard"]) -> float:
    return math.inf if sharpness == "hard" else sharpness


def padded_rows(rows: ArrayLike, tile: tuple[int, int]) -> Ints:
    """Rows that kernels compute when asked for ``rows``, int64 in the same shape: whole tiles, and 0 for 0."""
    asked = np.asarray(rows, dtype=np.int64)
    first, then = tile
    in_one_tile = np.minimum(asked, 1) * first
    return np.where(asked <= first, in_one_tile, -(-asked // then) * then)
