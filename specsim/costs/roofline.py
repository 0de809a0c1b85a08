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
from specsim.inputs.models.hardware import Device


def soft_maximum(a: ArrayLike, b: ArrayLike, sharpness: float) -> Floats:
    """(a^n + b^n)^(1/n) for non-negative arrays; the maximum for infinite n, the sum for n = 1."""
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
        flops_in: of matrix products, by the precision that the tensor cores work in; what the device lacks is left out
            [FLOP/s].
        linear_bandwidth, linear_launch, sharpness, row_tile: of matrix products, as in ``ProductRates``.
        quantised: of products that quantise their activations, where the device has figures; the kernel that quantises
            is in their launch.
        grouped: of the arithmetic rate of BF16 products, what grouped ones reach.
        attention_flops, attention_bandwidth: of attention [FLOP/s, B/s].
        attention_launch: per layer [s].
        attention_per_kv_head: per layer, sequence and KV head [s].
        attention_sharpness: n of the soft maximum of that and of reading keys and values.
        attention_ramp: that reading takes longer than at its full rate, per layer, at most [s].
        prompt_overhead: tokens more that a prompt token takes as long as attending to.
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

    @property
    def linear_flops(self) -> float:
        """Of matrix products in BF16."""
        return self.flops_in["bf16"]


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
                own.compute_efficiency * peaks[name],
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
    """Rows that the kernels compute when asked for ``rows``: whole tiles, and none for none."""
    asked = np.asarray(rows, dtype=np.int64)
    first, then = tile
    in_one_tile = np.minimum(asked, 1) * first
    return np.where(asked <= first, in_one_tile, -(-asked // then) * then)
