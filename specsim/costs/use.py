"""What passes ask of a device, bytes and operations, lowered to the form that the engine accumulates.

The functions that price do the counting, at one byte and one operation per second; so what is counted is what is
priced.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from specsim.arrays import Floats, Ints
from specsim.costs.attention import AttentionCost
from specsim.costs.experts import ExpertProduct, expert_time
from specsim.costs.forms import UseForm
from specsim.costs.linear import BYTES_PER_ELEMENT, Linear, linear_time
from specsim.costs.roofline import Rates
from specsim.costs.row_table import RowTable
from specsim.costs.shapes import ForwardShape
from specsim.inputs.models.hardware import Device


class Counting(NamedTuple):
    """Rates under which seconds count something else.

    Attributes:
        bytes: one byte per second, and arithmetic free.
        operations: one operation per second, without padding, and memory free.
        peak: operations at the full peak of each precision, and memory free.
    """

    bytes: Rates
    operations: Rates
    peak: Rates


def counting(device: Device, rates: Rates) -> Counting:
    """Rates that count, without the device's own figures for some precisions."""
    free, one_each = dict.fromkeys(rates.flops_in, math.inf), dict.fromkeys(rates.flops_in, 1.0)
    full = {name: flops for name, flops in device.peak if flops is not None}
    plain = replace(
        rates,
        quantised={},
        grouped=1.0,
        attention_bandwidth=1.0,
        attention_flops=1.0,
        attention_per_kv_head=0.0,
        attention_ramp=0.0,
        prompt_overhead=0,
        row_tile=(1, 1),
    )
    operations = replace(plain, linear_bandwidth=math.inf, flops_in=one_each)
    return Counting(
        bytes=replace(plain, linear_bandwidth=1.0, flops_in=free),
        operations=operations,
        peak=replace(operations, flops_in=full, attention_flops=device.peak.bf16),
    )


class PassUse:
    """Counts what forward passes of one shape ask of one device.

    Args:
        shape: what is multiplied.
        device: that runs the passes.
        rates: of the device.
    """

    def __init__(self, shape: ForwardShape, device: Device, rates: Rates) -> None:
        counted = counting(device, rates)
        moved = 0.0 if rates.weight_traffic_only else BYTES_PER_ELEMENT * shape.operators.moved_numbers
        self._tables = [
            RowTable(partial(_count, counted, linears, experts, numbers))
            for linears, experts, numbers in (
                (shape.linears, shape.operators.experts, moved),
                ([shape.head], (), 0.0),
                (shape.fusion, (), 0.0),
                (shape.correction, (), 0.0),
            )
        ]
        # a form that counts both: it divides bytes by its bandwidth and operations by its peak
        self._attention = AttentionCost(shape.operators.attentions, shape.operators.states, counted.bytes).form
        self._flops = device.peak.bf16

    def form(self, most_rows: int) -> UseForm:
        """The lowered form, with tables for at least ``most_rows`` rows."""
        by_tokens, by_logit_rows, by_fused_tokens, by_corrected_rows = (
            table.up_to(most_rows) for table in self._tables
        )
        return UseForm(by_tokens, by_logit_rows, by_fused_tokens, by_corrected_rows, self._attention, self._flops)


def _count(
    rates: Counting, linears: Sequence[Linear], experts: Sequence[ExpertProduct], moved: float, rows: Ints
) -> tuple[Floats, Floats, Floats]:
    """Bytes, operations and time at full peaks by number of rows, each [rows]; each row moves ``moved`` more bytes."""
    plain = [linear_time(linears, rows, under) for under in rates]
    grouped = [expert_time(experts, rows, under) for under in rates]
    return (
        plain[0].weights + grouped[0].weights + moved * rows,
        plain[1].compute + grouped[1].compute,
        plain[2].compute + grouped[2].compute,
    )
