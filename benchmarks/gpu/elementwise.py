"""The four fused elementwise kernels that a serving engine has per layer."""

from __future__ import annotations

import torch
from dimensions import DEVICE, DTYPE, tl, triton


@triton.jit
def _add_rms_norm(delta, residual, weight, out, width, BLOCK: tl.constexpr):
    """residual += delta; out = residual / rms(residual) · weight; one program per row."""
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    inside = cols < width
    total = tl.load(residual + row * width + cols, inside, 0.0).to(tl.float32)
    total += tl.load(delta + row * width + cols, inside, 0.0).to(tl.float32)
    tl.store(residual + row * width + cols, total, inside)
    scale = 1.0 / tl.sqrt(tl.sum(total * total, 0) / width + 1e-5)
    tl.store(out + row * width + cols, total * scale * tl.load(weight + cols, inside, 0.0).to(tl.float32), inside)


@triton.jit
def _silu_mul(gate_up, out, width, BLOCK: tl.constexpr):
    """out = silu(gate) · up for rows that hold gate and up side by side."""
    row, cols = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = cols < width
    gate = tl.load(gate_up + row * 2 * width + cols, inside, 0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + cols, inside, 0.0).to(tl.float32)
    tl.store(out + row * width + cols, gate * tl.sigmoid(gate) * up, inside)


@triton.jit
def _rope_append(
    qkv,
    cosine,
    sine,
    q_out,
    cache,
    n,
    context,
    HEADS: tl.constexpr,
    KV: tl.constexpr,
    DIM: tl.constexpr,
    PAD: tl.constexpr,
):
    """Rotate queries into q_out and keys into the cache, copy values; one program per row."""
    row, head, half = tl.program_id(0), tl.arange(0, PAD)[:, None], tl.arange(0, DIM // 2)[None, :]
    position = context - n + row % n
    source = qkv + row * (HEADS + 2 * KV) * DIM + head * DIM + half
    exists, is_query, is_value = head < HEADS + 2 * KV, head < HEADS, head >= HEADS + KV
    low, high = tl.load(source, exists, 0.0).to(tl.float32), tl.load(source + DIM // 2, exists, 0.0).to(tl.float32)
    c, s = tl.load(cosine + position * (DIM // 2) + half), tl.load(sine + position * (DIM // 2) + half)
    c, s = tl.where(is_value, 1.0, c), tl.where(is_value, 0.0, s)
    low, high = low * c - high * s, high * c + low * s
    query = q_out + (row * HEADS + head) * DIM + half
    tl.store(query, low, is_query)
    tl.store(query + DIM // 2, high, is_query)
    slot = cache + ((row // n) * context + position) * 2 * KV * DIM + (head - HEADS) * DIM + half
    tl.store(slot, low, exists & (head >= HEADS))
    tl.store(slot + DIM // 2, high, exists & (head >= HEADS))


def add_rms_norm(delta, residual, weight):
    rows, width = delta.shape
    out = torch.empty_like(delta)
    _add_rms_norm[(rows,)](delta, residual, weight, out, width, triton.next_power_of_2(width), num_warps=8)
    return out


def rope_append(qkv, tables, q_out, cache, n, d):
    pad = triton.next_power_of_2(d.heads + 2 * d.kv_heads)
    context, sizes = cache.shape[1], (d.heads, d.kv_heads, d.head_dim, pad)
    _rope_append[(qkv.shape[0],)](qkv, *tables, q_out, cache, n, context, *sizes, num_warps=8)


def silu_mul(gate_up):
    rows, width = gate_up.shape[0], gate_up.shape[1] // 2
    out = torch.empty(rows, width, device=DEVICE, dtype=DTYPE)
    _silu_mul[(rows, triton.cdiv(width, 1024))](gate_up, out, width, 1024)
    return out
