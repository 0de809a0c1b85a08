"""Holds the kernels against float32 references on fresh random inputs."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (the field's own name)
from attention import causal, decode, packed, reference_attention
from dimensions import DTYPE, random
from elementwise import add_rms_norm, rope_append, silu_mul
from model import Model


def relative_error(out, expected):
    return float((out.float() - expected.float()).norm() / expected.float().norm())


def check(model: Model, batch=3, n=4, context=96) -> None:
    """Kernels against float32 references on fresh random inputs; stops the run when one is wrong."""
    d = model.d
    q, cache = random(batch * n, d.heads * d.head_dim, scale=1.0), model.cache(0, batch, context)
    k, v = cache[:, :, 0].transpose(1, 2), cache[:, :, 1].transpose(1, 2)
    heads = q.view(batch, n, d.heads, d.head_dim).transpose(1, 2)
    expected = reference_attention(heads, k, v, True).transpose(1, 2).reshape(q.shape)
    errors = {"causal attention": relative_error(causal(q, cache, d), expected)}
    unmasked = reference_attention(heads, k, v, False).transpose(1, 2).reshape(q.shape)
    assert relative_error(unmasked, expected) > 2e-2, "a test that would pass without the mask"
    rows = q.view(batch, n * d.group, d.kv_heads, d.head_dim).transpose(1, 2)
    expected = reference_attention(rows, k, v, False).transpose(1, 2).reshape(q.shape)
    errors["packed attention"] = relative_error(packed(q, cache, d), expected)
    for b, tokens, length in ((batch, n, context), (1, 1, 16), (2, 9, 960)):
        errors[f"decode attention {b} {tokens} {length}"] = _decode_error(model, b, tokens, length)

    x, residual = random(7, d.hidden, scale=1.0), random(7, d.hidden, scale=1.0)
    total = (x.float() + residual.float()).to(DTYPE).float()
    out = add_rms_norm(x, residual, model.final_norm)
    errors["norm"] = relative_error(out, total / (total.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt())
    gate_up = random(7, 2 * d.intermediate, scale=1.0)
    gate, up = gate_up.float().chunk(2, -1)
    errors["activation"] = relative_error(silu_mul(gate_up), F.silu(gate) * up)
    errors["rotation"] = _rotation_error(model, batch, n, context)
    print("relative errors:", {name: f"{value:.1e}" for name, value in errors.items()}, flush=True)
    assert all(value < 1e-2 for value in errors.values()), errors


def _decode_error(model: Model, batch, n, context):
    d = model.d
    q, cache = random(batch * n, d.heads * d.head_dim, scale=1.0), model.cache(0, batch, context)
    # Reference heads are (KV head, member of group).
    heads = q.view(batch, n, d.group, d.kv_heads, d.head_dim).transpose(2, 3).reshape(batch, n, d.heads, d.head_dim)
    k, v = cache[:, :, 0].transpose(1, 2), cache[:, :, 1].transpose(1, 2)
    expected = reference_attention(heads.transpose(1, 2), k, v, True).transpose(1, 2)
    expected = expected.reshape(batch, n, d.kv_heads, d.group, d.head_dim).transpose(2, 3)
    return relative_error(decode(q, cache, d), expected.reshape(q.shape))


def _rotation_error(model: Model, batch, n, context):
    d = model.d
    qkv, q = random(batch * n, d.qkv, scale=1.0), random(batch * n, d.heads * d.head_dim)
    cache = model.cache(0, batch, context)
    rope_append(qkv, (model.cosine, model.sine), q, cache, n, d)
    split = qkv.float().view(batch, n, d.heads + 2 * d.kv_heads, 2, d.head_dim // 2)
    where = slice(context - n, context)
    c, s = model.cosine[where][None, :, None], model.sine[where][None, :, None]
    low, high = split[..., 0, :], split[..., 1, :]
    rotated = torch.stack([low * c - high * s, high * c + low * s], -2)
    rotated[:, :, d.heads + d.kv_heads :] = split[:, :, d.heads + d.kv_heads :]
    written = torch.cat(
        [q.view(batch, n, d.heads, d.head_dim), cache[:, where].reshape(batch, n, 2 * d.kv_heads, d.head_dim)], 2
    )
    return relative_error(written, rotated.flatten(-2))
