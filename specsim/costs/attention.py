"""What attention reads and multiplies in a pass: KV caches, windows of them, and the states of linear attention.

The sums of a pass are over its batch, so in a batch whose contexts straddle a window the window's traffic is an upper
bound, exact if all lie within or all beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.costs.forms import AttentionForm
from specsim.costs.lowered import price_attention
from specsim.costs.roofline import Rates
from specsim.forward import Pass


class KVAttention(NamedTuple):
    """Attention over a KV cache, all layers of a kind together, one device's share.

    Attributes:
        layers: number of layers.
        bytes_per_token: of keys and values [B].
        pair_flops: for each pair of a query and a token that it attends to [FLOP].
        prompt_pair_flops: the same for the queries of prompt chunks, where MLA does not work on the latent [FLOP].
        kv_heads: on the device, in each layer.
        window: tokens that a query sees back; None for all.
        selected: tokens that each query reads of a whole cache, whichever an indexer chose; None for all.
    """

    layers: int
    bytes_per_token: float
    pair_flops: float
    prompt_pair_flops: float
    kv_heads: float
    window: int | None = None
    selected: int | None = None

    def cached_bytes(self, tokens: int) -> float:
        """Size of a sequence's cache [B]."""
        return self.bytes_per_token * (tokens if self.window is None else min(tokens, self.window))


class StateAttention(NamedTuple):
    """Linear attention, all layers together, one device's share.

    Attributes:
        layers: number of layers.
        state_bytes: of a sequence's state, recurrent and convolution [B].
        token_flops: to update and query the state by a token [FLOP].
    """

    layers: int
    state_bytes: float
    token_flops: float


class AttentionCost:
    """Seconds of a pass's attention, without launches: (traffic, arithmetic).

    Args:
        attentions, states: the layers.
        rates: of the device.
        verify_factor: how much longer a cache takes to read by a request with several tokens to verify.

    Attributes:
        form: lowered.
    """

    def __init__(
        self,
        attentions: Sequence[KVAttention],
        states: Sequence[StateAttention],
        rates: Rates,
        verify_factor: float = 1.0,
    ) -> None:
        free = rates.weight_traffic_only
        plain = [] if free else [a for a in attentions if a.window is None and a.selected is None]
        states = [] if free else states
        bandwidth, flops = rates.attention_bandwidth, rates.attention_flops
        windows = [
            (a.selected or a.window, a.bytes_per_token, a.pair_flops, a.layers, a.kv_heads, a.selected is not None)
            for a in ([] if free else attentions)
            if a.selected or a.window
        ]
        self.form = AttentionForm(
            slower=verify_factor - 1,
            kv=sum(a.bytes_per_token for a in plain) / bandwidth,
            pair=sum(a.pair_flops for a in plain) / flops,
            prompt_pair=sum(a.prompt_pair_flops for a in plain) / flops,
            layers=float(sum(a.layers for a in plain)),
            heads=float(sum(a.layers * a.kv_heads for a in plain)),
            state=sum(s.state_bytes for s in states) / bandwidth,
            token=sum(s.token_flops for s in states) / flops,
            per_kv_head=rates.attention_per_kv_head,
            sharpness=float(rates.attention_sharpness),
            ramp=rates.attention_ramp,
            prompt_overhead=float(rates.prompt_overhead),
            bandwidth=bandwidth,
            flops=flops,
            windows=np.array(windows, dtype=np.float64).reshape(-1, 6),
        )

    def price(self, one: Pass) -> tuple[float, float]:
        """(traffic, arithmetic) of one pass [s]."""
        return price_attention(self.form, one, one.tokens)
