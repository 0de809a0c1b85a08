"""What a pass asks of one device: bytes, operations, and which of the two each of its matrix products waits for.

``use`` counts the same for every step of a run; here one pass is broken down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from specsim.costs.attention import AttentionCost
from specsim.costs.experts import expert_time
from specsim.costs.linear import BYTES_PER_ELEMENT, LinearTime, linear_time
from specsim.costs.roofline import Rates, device_rates
from specsim.costs.shapes import ForwardShape
from specsim.costs.use import counting
from specsim.forward import Pass
from specsim.inputs.models.hardware import Device

Product = Callable[[Rates], LinearTime]


class Usage(NamedTuple):
    """One device's share of one pass.

    Attributes:
        bytes: read and written: weights, activations, KV caches and states [B].
        operations: multiplications and additions, without padding [FLOP].
        peak_seconds: time of the operations at the full peak of each precision [s].
        streaming: time in matrix products that are bound by memory [s].
        computing: time in matrix products that are bound by arithmetic, and in the arithmetic of attention [s].
    """

    bytes: float
    operations: float
    peak_seconds: float
    streaming: float
    computing: float

    def scaled(self, factor: float) -> Usage:
        """All numbers times a factor."""
        return Usage(*(factor * value for value in self))


def total(usages: list[Usage]) -> Usage:
    """Sum over passes that run one after another."""
    return Usage(*(sum(column) for column in zip(*usages, strict=True)))


def pass_usage(shape: ForwardShape, device: Device, one: Pass, *, ideal: bool) -> Usage:
    """The use that a pass makes of one device.

    Args:
        shape: what is multiplied.
        device: that runs the pass.
        one: the pass.
        ideal: as for ``passes.PassCost``: only weights are traffic.
    """
    rates = device_rates(device, ideal=ideal)
    byte, operation, peak = counting(device, rates)
    own = {name: figures._replace(bandwidth=math.inf) for name, figures in rates.quantised.items()}
    arithmetic = replace(rates, linear_bandwidth=math.inf, quantised=own)

    products = list(_products(shape, one))
    attend = partial(_attention, shape, one)
    between = 0.0 if ideal else BYTES_PER_ELEMENT * shape.operators.moved_numbers * one.tokens
    streaming, computing = between / rates.linear_bandwidth, attend(rates)[1]
    for product in products:
        seconds = product(rates)
        spent = float(seconds.weights + seconds.compute)
        if product(arithmetic).compute > seconds.weights:
            computing += spent
        else:
            streaming += spent
    return Usage(
        sum(float(product(byte).weights) for product in products) + attend(byte)[0] + between,
        sum(float(product(operation).compute) for product in products) + attend(operation)[1],
        sum(float(product(peak).compute) for product in products) + attend(peak)[1],
        streaming,
        computing,
    )


def _products(shape: ForwardShape, one: Pass) -> Iterator[Product]:
    """Every matrix product of a pass, as its time under given rates."""
    rows = [(linear, one.tokens) for linear in shape.linears]
    rows += [(shape.head, one.logit_rows), *((linear, one.fused_tokens) for linear in shape.fusion)]
    rows += [(linear, one.corrected_rows) for linear in shape.correction]
    for linear, number in rows:
        yield partial(linear_time, [linear], number)
    for product in shape.operators.experts:
        yield partial(expert_time, [product], one.tokens)


def _attention(shape: ForwardShape, one: Pass, rates: Rates) -> tuple[float, float]:
    """(traffic, arithmetic)."""
    return AttentionCost(shape.operators.attentions, shape.operators.states, rates).price(one)
