"""What attention reads and multiplies in a pass: KV caches, windows of them, and the states that stand in for them.

The sums of a pass are over its batch, so in a batch whose contexts straddle a window the window's traffic is an upper
bound, exact once all lie within or all beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.costs.roofline import Rates
from specsim.forward import Pass


class KVAttention(NamedTuple):
    """Attention over a KV cache, all layers of a kind together, one device's share.

    Attributes:
        layers: how many.
        bytes_per_token: of keys and values.
        pair_flops: for each pair of a query and a token that it attends to.
        prompt_pair_flops: the same for the queries of prompt chunks, where MLA does not work on the latent.
        kv_heads: on the device, in each layer.
        window: how many tokens back it sees; None for all.
    """

    layers: int
    bytes_per_token: float
    pair_flops: float
    prompt_pair_flops: float
    kv_heads: float
    window: int | None = None

    def cached_bytes(self, tokens: int) -> float:
        """Bytes of a sequence's cache."""
        return self.bytes_per_token * (tokens if self.window is None else min(tokens, self.window))


class StateAttention(NamedTuple):
    """Linear attention, all layers together, one device's share.

    Attributes:
        layers: how many.
        state_bytes: of a sequence's state, recurrent and convolution.
        token_flops: to update and query the state by a token.
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
    """

    def __init__(
        self,
        attentions: Sequence[KVAttention],
        states: Sequence[StateAttention],
        rates: Rates,
        verify_factor: float = 1.0,
    ) -> None:
        free = rates.weight_traffic_only
        self._slower = verify_factor - 1
        self._windowed = [] if free else [a for a in attentions if a.window is not None]
        plain = [] if free else [a for a in attentions if a.window is None]
        states = [] if free else states
        self._bandwidth, self._flops = rates.attention_bandwidth, rates.attention_flops
        self._kv = sum(a.bytes_per_token for a in plain) / rates.attention_bandwidth
        self._pair = sum(a.pair_flops for a in plain) / rates.attention_flops
        self._prompt_pair = sum(a.prompt_pair_flops for a in plain) / rates.attention_flops
        self._rates, self._layers = rates, sum(a.layers for a in plain)
        self._heads = sum(a.layers * a.kv_heads for a in plain)
        self._state = sum(s.state_bytes for s in states) / rates.attention_bandwidth
        self._token = sum(s.token_flops for s in states) / rates.attention_flops

    def price(self, work: Pass) -> tuple[float, float]:
        """Seconds of one pass."""
        decode_pairs = work.query_context - work.prompt_query_context
        slowed = 1 + self._slower * work.verify_context / max(work.context_tokens, 1)
        traffic = self._read(self._kv * work.context_tokens * slowed, self._heads * work.sequences, self._layers)
        overhead = self._rates.prompt_overhead * work.prompt_tokens
        arithmetic = self._pair * decode_pairs + self._prompt_pair * (work.prompt_query_context + overhead)
        if self._state:
            # read once a sequence; written once too, and when verifying once for every token that may be the last kept
            traffic += self._state * (work.sequences + max(work.sequences, work.logit_rows))
            arithmetic += self._token * work.tokens
        for attention in self._windowed:
            reads, pairs = within_window(work, attention.window or 0)
            seconds = attention.bytes_per_token * reads * slowed / self._bandwidth
            traffic += self._read(seconds, attention.layers * attention.kv_heads * work.sequences, attention.layers)
            arithmetic += attention.pair_flops * (pairs + overhead) / self._flops
        return traffic, arithmetic

    def _read(self, seconds: float, blocks: float, layers: int) -> float:
        """Seconds of layers that read for so long at the full rate, while so many blocks start and end."""
        reading = seconds + min(seconds, layers * self._rates.attention_ramp)
        blocking, sharpness = blocks * self._rates.attention_per_kv_head, self._rates.attention_sharpness
        high, low = max(reading, blocking), min(reading, blocking)
        if sharpness == 1 or low == 0:
            return reading + blocking
        return float(high * (1 + (low / high) ** sharpness) ** (1 / sharpness))  # plain floats: called in every step


def within_window(work: Pass, window: int) -> tuple[int, int]:
    """(tokens read, pairs attended) in a layer that sees ``window`` tokens back, the query's own included."""
    reads = min(work.context_tokens, work.sequences * (window - 1) + work.tokens)
    return reads, min(work.query_context, work.tokens * window)
