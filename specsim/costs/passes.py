"""The time of one forward pass, lowered to a form that the engine evaluates in about a microsecond.

Everything that depends on a number of rows alone is a table over that number; attention is affine in the batch's sums.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.costs.attention import AttentionCost
from specsim.costs.collectives import all_reduce_seconds, all_to_all_seconds, send_seconds
from specsim.costs.experts import expert_time
from specsim.costs.forms import AttentionForm, PassForm
from specsim.costs.linear import BYTES_PER_ELEMENT, linear_time
from specsim.costs.lowered import PassTime, price_pass
from specsim.costs.operator_tables import ProductTime
from specsim.costs.roofline import Rates, device_rates
from specsim.costs.row_table import RowTable
from specsim.costs.shapes import ForwardShape
from specsim.costs.use import PassUse
from specsim.forward import Pass
from specsim.inputs.models.hardware import Device

CORRECTION_KERNELS = 3


class PassCost:
    """Prices forward passes of one shape on one device.

    Args:
        shape: what is multiplied.
        device: that runs the passes.
        ideal: drop efficiencies, launches and all traffic but weights; for callers that give no ``rates``.
        rates: of the device, where they are known already.
        products: what times matrix products; the roofline by default.
        verify_factor: factor on the time to read a cache when several tokens are verified.
        time_factor: factor on the time of a whole pass.

    Attributes:
        num_layers: of the shape.
        stages: of its pipeline.
        use: counts what the passes ask of one device.
    """

    def __init__(
        self,
        shape: ForwardShape,
        device: Device,
        *,
        ideal: bool = False,
        rates: Rates | None = None,
        products: ProductTime | None = None,
        verify_factor: float = 1.0,
        time_factor: float = 1.0,
    ) -> None:
        rates = rates or device_rates(device, ideal=ideal)
        timed = products or partial(linear_time, rates=rates)
        self.num_layers, self.stages = shape.model.num_hidden_layers, shape.stages
        self.use = PassUse(shape, device, rates)
        self._tables = (
            RowTable(partial(_token_seconds, shape, device, rates, timed)),
            RowTable(partial(timed, [shape.head])),
            RowTable(partial(timed, shape.fusion)),
            RowTable(partial(_correction_seconds, shape, rates, timed)),
        )
        self._time_factor = time_factor
        self._attention = AttentionCost(shape.operators.attentions, shape.operators.states, rates, verify_factor)

    def price(self, one: Pass) -> PassTime:
        """Time of one pass by part [s]; a pass without tokens takes no time."""
        rows = max(one.tokens, one.logit_rows, one.fused_tokens, one.corrected_rows)
        return PassTime(*map(float, price_pass(self.form(rows), one, one.tokens)))

    def form(self, most_rows: int) -> PassForm:
        """The lowered form, with tables for at least ``most_rows`` rows."""
        by_tokens, by_logit_rows, by_fused_tokens, by_corrected_rows = (
            table.up_to(most_rows) for table in self._tables
        )
        form = PassForm(by_tokens, by_logit_rows, by_fused_tokens, by_corrected_rows, self._attention.form)
        return _slowed(form, self._time_factor)


def _slowed(form: PassForm, factor: float) -> PassForm:
    """The form of a pass whose parts all take ``factor`` times longer, whatever it computes."""
    if factor == 1.0:
        return form
    return PassForm(
        factor * form.by_tokens,
        factor * form.by_logit_rows,
        factor * form.by_fused_tokens,
        factor * form.by_corrected_rows,
        _slowed_attention(form.attention, factor),
    )


def _slowed_attention(form: AttentionForm, factor: float) -> AttentionForm:
    """A soft maximum of times scales by the factor if all of them do."""
    return form._replace(
        kv=factor * form.kv,
        pair=factor * form.pair,
        prompt_pair=factor * form.prompt_pair,
        state=factor * form.state,
        token=factor * form.token,
        per_kv_head=factor * form.per_kv_head,
        ramp=factor * form.ramp,
        bandwidth=form.bandwidth / factor,
        flops=form.flops / factor,
    )


def _token_seconds(
    shape: ForwardShape, device: Device, rates: Rates, products: ProductTime, tokens: Ints
) -> tuple[Floats, Floats, Floats, Floats]:
    operators = shape.operators
    linear, experts = products(shape.linears, tokens), expert_time(operators.experts, tokens, rates)
    weights, compute, launch = (a + b for a, b in zip(linear, experts, strict=True))
    per_layer = rates.attention_launch + rates.elementwise_launch
    launch = launch + (operators.attention_layers * per_layer + operators.kernels * rates.kernel_launch) * (tokens > 0)
    if rates.weight_traffic_only:
        return weights, compute, launch, np.zeros(tokens.shape)
    weights = weights + BYTES_PER_ELEMENT * operators.moved_numbers * tokens / rates.linear_bandwidth
    communication = _exchange(shape, device, tokens)
    return weights, compute, launch, communication


def _correction_seconds(
    shape: ForwardShape, rates: Rates, products: ProductTime, rows: Ints
) -> tuple[Floats, Floats, Floats]:
    """Time to shift the logits of one position of a block: (weights, compute, launch), each [rows] [s].

    Three kernels beside the product: the embedding is looked up, the shift is added to the logits, and a token is drawn
    from their sum; the last two read three rows of logits and write one.
    """
    weights, compute, launch = products(shape.correction, rows)
    if not rates.weight_traffic_only:
        drawn = sum(product.outputs for product in shape.correction)
        weights = weights + 4 * BYTES_PER_ELEMENT * drawn * rows / rates.linear_bandwidth
    return weights, compute, launch + CORRECTION_KERNELS * rates.kernel_launch * (rows > 0)


def _exchange(shape: ForwardShape, device: Device, tokens: Ints) -> Floats:
    """Time of communication between devices by number of tokens [s].

    A layer reduces twice, after attention and after its MLP. Where experts are reached all to all, the tokens are
    scattered in between, which takes one reduction's traffic in two halves, and travel to their experts and back.
    """
    layers, scattered = shape.model.num_hidden_layers if shape.operators.attention_layers else 0, 0
    states = tokens * shape.model.hidden_size * BYTES_PER_ELEMENT
    seconds = np.zeros(tokens.shape)
    if shape.exchange == "all_to_all" and shape.parallelism.expert > 1:
        scattered = shape.operators.expert_layers
        for product in shape.operators.experts[::2]:
            there = states * product.per_token * product.format.activation_bytes / BYTES_PER_ELEMENT
            back = states * product.per_token
            for message in (there, back):
                each = message / shape.parallelism.expert
                seconds += product.repeats * all_to_all_seconds(each, shape.parallelism.expert, device)
    seconds += (2 * layers - scattered) * all_reduce_seconds(states, shape.tensor_parallel, device)
    if shape.stages > 1:
        seconds += (shape.stages - 1) * send_seconds(states, device)
    return seconds
