"""A dense transformer with random weights, and an EAGLE-3 head beside it."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (the field's own name)
from attention import decode
from dimensions import DEVICE, DTYPE, Dimensions, random
from elementwise import add_rms_norm, rope_append, silu_mul


class Layer:
    def __init__(self, d: Dimensions, fan_in: int | None = None) -> None:
        self.qkv = random(d.qkv, fan_in or d.hidden)
        self.o = random(d.hidden, d.heads * d.head_dim)
        self.gate_up = random(2 * d.intermediate, d.hidden)
        self.down = random(d.hidden, d.intermediate)
        self.norms = [torch.ones(d.hidden, device=DEVICE, dtype=DTYPE) for _ in range(3)]


class Model:
    """Weights, rotary tables and one pool of KV slots per layer, of which a step views as many as it needs."""

    def __init__(self, d: Dimensions, kv_slots: int, max_position: int) -> None:
        self.d = d
        self.layers = [Layer(d) for _ in range(d.layers)]
        self.final_norm = torch.ones(d.hidden, device=DEVICE, dtype=DTYPE)
        self.lm_head = random(d.vocabulary, d.hidden)
        self.pools = [random(kv_slots, 2, d.kv_heads, d.head_dim, scale=1.0) for _ in range(d.layers)]
        angle = torch.arange(max_position, device=DEVICE)[:, None] * 500000.0 ** -torch.linspace(
            0, 1, d.head_dim // 2, device=DEVICE
        )
        self.cosine, self.sine = angle.cos().contiguous(), angle.sin().contiguous()
        self.eagle = Layer(d, fan_in=2 * d.hidden)
        self.eagle_head = random(d.draft_vocabulary, d.hidden)
        self.embedding = random(d.vocabulary, d.hidden)

    def cache(self, layer: int, batch: int, context: int):
        return self.pools[layer][: batch * context].view(batch, context, 2, self.d.kv_heads, self.d.head_dim)

    def attention_block(self, layer, h, cache, n, attend):
        d = self.d
        q = torch.empty(h.shape[0], d.heads * d.head_dim, device=DEVICE, dtype=DTYPE)
        rope_append(F.linear(h, layer.qkv), (self.cosine, self.sine), q, cache, n, d)
        return F.linear(attend(q, cache, d), layer.o)

    def forward(self, x, batch, n, context, attend=decode):
        """Logits of every query row; each step rewrites the last n positions of every sequence."""
        residual, delta = torch.zeros_like(x), x
        for i, layer in enumerate(self.layers):
            h = add_rms_norm(delta, residual, layer.norms[0])
            delta = self.attention_block(layer, h, self.cache(i, batch, context), n, attend)
            h = add_rms_norm(delta, residual, layer.norms[1])
            delta = F.linear(silu_mul(F.linear(h, layer.gate_up)), layer.down)
        return F.linear(add_rms_norm(delta, residual, self.final_norm), self.lm_head)

    def linears(self, x, wide):
        for layer in self.layers:
            F.linear(x, layer.qkv), F.linear(x, layer.o), F.linear(x, layer.gate_up), F.linear(wide, layer.down)
        return F.linear(x, self.lm_head)

    def attention(self, q, batch, context, attend):
        for i in range(self.d.layers):
            attend(q, self.cache(i, batch, context), self.d)

    def eagle_chain(self, feature, tokens, batch, context, passes):
        """Passes of an EAGLE-3 head after the fusion of the target's layers; each draws its token greedily."""
        layer, d = self.eagle, self.d
        for _ in range(passes):
            embedded = F.embedding(tokens, self.embedding)
            both = torch.cat(
                [
                    add_rms_norm(embedded, torch.zeros_like(embedded), layer.norms[0]),
                    add_rms_norm(feature, torch.zeros_like(feature), layer.norms[1]),
                ],
                -1,
            )
            residual = feature.clone()
            delta = self.attention_block(layer, both, self.cache(0, batch, context), 1, decode)
            h = add_rms_norm(delta, residual, layer.norms[2])
            delta = F.linear(silu_mul(F.linear(h, layer.gate_up)), layer.down)
            normed = add_rms_norm(delta, residual, self.final_norm)
            feature, tokens = residual, F.linear(normed, self.eagle_head).argmax(-1)
        assert d.draft_vocabulary <= d.vocabulary
        return tokens
