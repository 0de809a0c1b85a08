"""The time of one forward pass, lowered to a form that the engine evaluates in about a microsecond.

Everything that depends on a number of rows alone is a table over that number; attention is affine in the batch's sums.
Not modelled yet: the memory traffic of norms and activations (their launches are), quantised weights, experts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.costs.collectives import all_reduce_seconds
from specsim.costs.linear import BYTES_PER_ELEMENT, Linear, layer_linears, linear_time
from specsim.costs.roofline import Rates, device_rates
from specsim.forward import Pass
from specsim.schema.hardware import Device
from specsim.schema.model import ModelConfig
from specsim.schema.speculation import DraftModel, EagleHead

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST_BLOCK = 2048  # rows of a table computed at once; covers most steps


class PassTime(NamedTuple):
    """Seconds of one forward pass by part; they add up to its time."""

    weights: float
    kv: float
    compute: float
    launch: float
    communication: float


@dataclass(frozen=True)
class ForwardShape:
    """What a forward pass multiplies.

    Attributes:
        model: dimensions.
        tensor_parallel: devices that share it.
        linears: matrix products that every token passes through, one device's share.
        head: the product that yields logits, one device's share.
        fusion: the product that fuses the target's hidden states for a drafter; None where there is none.
        resident_parameters: numbers kept in memory for it, over all devices.
    """

    model: ModelConfig
    tensor_parallel: int
    linears: tuple[Linear, ...]
    head: Linear
    fusion: Linear | None
    resident_parameters: int


def target_shape(model: ModelConfig, tensor_parallel: int) -> ForwardShape:
    """A whole model, as the target or as a separate draft model."""
    linears = tuple(layer_linears(model, tensor_parallel))
    return ForwardShape(model, tensor_parallel, linears, _head(model, tensor_parallel), None, model.num_parameters)


def drafter_shape(drafter: DraftModel | EagleHead, model: ModelConfig, tensor_parallel: int) -> ForwardShape:
    """What a drafter multiplies on each of its passes.

    An EAGLE head reads the target's embedding and fuses hidden states with one more matrix. EAGLE (Li et al., arXiv
    2401.15077) fuses the last state with the embedding on every pass (2h → h) and scores with the target's LM head.
    EAGLE-3 (arXiv 2503.01840) fuses three of the target's states (3h → h), so only for tokens that the target has
    computed; its attention reads state and embedding side by side, and its LM head is its own.
    """
    if isinstance(drafter, DraftModel):
        return target_shape(model, tensor_parallel)
    hidden, head = model.hidden_size, _head(model, tensor_parallel)
    if drafter.generation == "eagle":
        linears = (Linear(2 * hidden, hidden // tensor_parallel), *layer_linears(model, tensor_parallel))
        resident = tensor_parallel * sum(linear.weights for linear in linears)
        return ForwardShape(model, tensor_parallel, linears, head, None, resident)
    linears = tuple(layer_linears(model, tensor_parallel, attention_inputs=2 * hidden))
    fusion = Linear(3 * hidden, hidden // tensor_parallel)
    resident = tensor_parallel * sum(linear.weights for linear in (*linears, fusion, head))
    return ForwardShape(model, tensor_parallel, linears, head, fusion, resident)


def _head(model: ModelConfig, tensor_parallel: int) -> Linear:
    return Linear(model.hidden_size, -(-model.logits_size // tensor_parallel))


def kv_bytes_per_token(shape: ForwardShape) -> float:
    """Bytes of keys and values per token on one device."""
    return 2 * shape.model.num_hidden_layers * shape.model.kv_size * BYTES_PER_ELEMENT / shape.tensor_parallel


class PassCost:
    """Prices forward passes of one shape on one device.

    Args:
        shape: what is multiplied.
        device: where.
        ideal: drop efficiencies, launches and every traffic but weights.
    """

    def __init__(self, shape: ForwardShape, device: Device, *, ideal: bool) -> None:
        rates = device_rates(device, ideal=ideal)
        self._by_tokens = RowTable(partial(_token_seconds, shape, device, rates))
        self._by_logit_rows = RowTable(partial(linear_time, [shape.head], rates=rates))
        self._by_fused_tokens = RowTable(partial(linear_time, [shape.fusion] if shape.fusion else [], rates=rates))
        self._kv_seconds, self._query_seconds, self._sequence_seconds = _attention_seconds(shape, rates)

    def price(self, work: Pass) -> PassTime:
        """Seconds of one pass by part; a pass without tokens takes no time."""
        weights, compute, launch, communication = self._by_tokens[work.tokens]
        head_weights, head_compute, head_launch = self._by_logit_rows[work.logit_rows]
        fusion_weights, fusion_compute, fusion_launch = self._by_fused_tokens[work.fused_tokens]
        return PassTime(
            weights + head_weights + fusion_weights,
            self._kv_seconds * work.context_tokens + self._sequence_seconds * work.sequences,
            compute + head_compute + fusion_compute + self._query_seconds * work.query_context,
            launch + head_launch + fusion_launch,
            communication,
        )


class RowTable:
    """Columns of seconds by number of rows, computed once for each block of numbers that is asked for.

    Args:
        compute: numbers of rows [n] → columns of seconds, each [n].
    """

    def __init__(self, compute: Callable[[Ints], Sequence[Floats]]) -> None:
        self._compute = compute
        self._rows: list[tuple[float, ...]] = []

    def __getitem__(self, rows: int) -> tuple[float, ...]:
        while rows >= len(self._rows):
            block = np.arange(len(self._rows), max(2 * len(self._rows), FIRST_BLOCK))
            self._rows += zip(*(column.tolist() for column in self._compute(block)), strict=True)
        return self._rows[rows]


def _token_seconds(
    shape: ForwardShape, device: Device, rates: Rates, tokens: Ints
) -> tuple[Floats, Floats, Floats, Floats]:
    linear = linear_time(shape.linears, tokens, rates)
    layers = shape.model.num_hidden_layers
    launch = linear.launch + layers * (rates.attention_launch + rates.elementwise_launch) * (tokens > 0)
    if rates.weight_traffic_only:
        return linear.weights, linear.compute, launch, np.zeros(tokens.shape)
    reduced = tokens * shape.model.hidden_size * BYTES_PER_ELEMENT
    communication: Floats = 2 * layers * all_reduce_seconds(reduced, shape.tensor_parallel, device)
    return linear.weights, linear.compute, launch, communication


def _attention_seconds(shape: ForwardShape, rates: Rates) -> tuple[float, float, float]:
    """Seconds per KV token read, per (query, KV token) pair and per sequence, over all layers."""
    if rates.weight_traffic_only:
        return 0.0, 0.0, 0.0
    model, layers, share = shape.model, shape.model.num_hidden_layers, shape.tensor_parallel
    pair_flops = 4 * layers * model.query_size / share
    per_sequence = layers * rates.attention_per_kv_head * model.num_key_value_heads / share
    return kv_bytes_per_token(shape) / rates.attention_bandwidth, pair_flops / rates.attention_flops, per_sequence
