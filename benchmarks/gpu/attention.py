"""Attention of decode and verify steps: a kernel of our own, and library kernels fed the same."""

from __future__ import annotations

import torch
from dimensions import DEVICE, DTYPE, tl, triton


@triton.jit
def _decode(
    q, cache, out, parts, lse, n, context, split, scale, G: tl.constexpr, KV: tl.constexpr, DIM: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """One KV head of one sequence, one stretch of its context, all its query rows (position, member of group)."""
    pair, part = tl.program_id(0), tl.program_id(1)
    batch, head = pair // KV, pair % KV
    rows, dims = tl.arange(0, ROWS), tl.arange(0, DIM)
    exists = rows < n * G
    where = ((batch * n * G + rows)[:, None] * KV + head) * DIM + dims[None, :]
    query = tl.load(q + where, exists[:, None], 0.0)
    last = context - n + rows // G
    high = tl.full([ROWS], -1e30, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    end = tl.minimum(part * split + split, context)
    for start in range(part * split, end, BLOCK):
        positions = start + tl.arange(0, BLOCK)
        inside = positions < end
        slots = cache + ((batch * context + positions) * 2 * KV + head) * DIM
        keys = tl.load(slots[None, :] + dims[:, None], inside[None, :], 0.0)
        scores = tl.dot(query, keys) * scale
        visible = inside[None, :] & (positions[None, :] <= last[:, None])
        new = tl.maximum(high, tl.max(tl.where(visible, scores, -1e30), 1))
        weights = tl.where(visible, tl.exp2(scores - new[:, None]), 0.0)
        decay = tl.exp2(high - new)
        values = tl.load(slots[:, None] + KV * DIM + dims[None, :], inside[:, None], 0.0)
        acc = acc * decay[:, None] + tl.dot(weights.to(values.dtype), values)
        total = total * decay + tl.sum(weights, 1)
        high = new
    acc = acc / tl.maximum(total, 1e-30)[:, None]
    if SPLITS == 1:
        tl.store(out + where, acc, exists[:, None])
    else:
        tl.store(parts + part * tl.num_programs(0) * n * G * DIM + where, acc, exists[:, None])
        place = (batch * n * G + rows) * KV + head
        tl.store(lse + part * tl.num_programs(0) * n * G + place, high + tl.log2(tl.maximum(total, 1e-30)), exists)


@triton.jit
def _combine(parts, lse, out, count, DIM: tl.constexpr, SPLITS: tl.constexpr):
    """The stretches of one query row, weighted by their mass."""
    row, part, dims = tl.program_id(0), tl.arange(0, SPLITS), tl.arange(0, DIM)
    mass = tl.load(lse + part * count + row)
    weight = tl.exp2(mass - tl.max(mass, 0))
    values = tl.load(parts + (part[:, None] * count + row) * DIM + dims[None, :])
    tl.store(out + row * DIM + dims, tl.sum(values * weight[:, None], 0) / tl.sum(weight, 0))


TUNED: dict[int, tuple[int, int, int, int]] = {}  # padded query rows → keys per block, warps, stages, programs wanted


def decode(q, cache, d):
    """A decode kernel for several query tokens: KV read once, split over the context, exact causal mask.

    Query heads are ordered (member of group, KV head), a permutation of the projection's columns.
    """
    batch, context = cache.shape[:2]
    n = q.shape[0] // batch
    rows = max(16, triton.next_power_of_2(n * d.group))
    block, warps, stages, programs = TUNED.get(rows, (64, 4, 3, 512))
    pairs = batch * d.kv_heads
    most = triton.next_power_of_2(max(1, context // (2 * block)))
    splits = min(triton.next_power_of_2(triton.cdiv(programs, pairs)), most, 64)
    split = triton.cdiv(triton.cdiv(context, splits), block) * block
    out, count = torch.empty_like(q), pairs * n * d.group
    parts = torch.empty(splits, count, d.head_dim, device=DEVICE) if splits > 1 else out
    lse = torch.empty(splits, count, device=DEVICE) if splits > 1 else out
    scale = 1.4426950408889634 / d.head_dim**0.5
    sizes = (d.group, d.kv_heads, d.head_dim, rows, block, splits)
    _decode[(pairs, splits)](
        q, cache, out, parts, lse, n, context, split, scale, *sizes, num_warps=warps, num_stages=stages
    )
    if splits > 1:
        _combine[(count,)](parts, lse, out, count, d.head_dim, splits, num_warps=1)
    return out


def flash(q, k, v, causal):
    """FlashAttention-2 as PyTorch ships it; its causal mask is aligned to the bottom right, KV heads may be fewer."""
    if DEVICE == "cpu":
        return reference_attention(q, k, v, causal).to(DTYPE)
    return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False)[0]


def cudnn(q, k, v, causal):
    assert not causal
    return torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, False, 0.0, False, False)[0]


def reference_attention(q, k, v, causal):
    """Float32, heads grouped in order, mask aligned to the bottom right."""
    repeat = q.shape[1] // k.shape[1]
    q, k, v = q.float(), k.float().repeat_interleave(repeat, 1), v.float().repeat_interleave(repeat, 1)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        n, context = q.shape[2], k.shape[2]
        allowed = torch.ones(n, context, device=q.device, dtype=torch.bool).tril(context - n)
        scores = scores.masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


def packed(q, cache, d, kernel=flash):
    """A library kernel fed like `decode`; the γ+1 last positions are not masked against each other (the same cost)."""
    batch, n = cache.shape[0], q.shape[0] // cache.shape[0]
    rows = q.view(batch, n * d.group, d.kv_heads, d.head_dim).transpose(1, 2)
    out = kernel(rows, cache[:, :, 0].transpose(1, 2), cache[:, :, 1].transpose(1, 2), False)
    return out.transpose(1, 2).reshape(q.shape)


def causal(q, cache, d):
    """Every query head apart, exact causal mask: the prefill kernel on a verify step."""
    batch, n = cache.shape[0], q.shape[0] // cache.shape[0]
    heads = q.view(batch, n, d.heads, d.head_dim).transpose(1, 2)
    out = flash(heads, cache[:, :, 0].transpose(1, 2), cache[:, :, 1].transpose(1, 2), True)
    return out.transpose(1, 2).reshape(q.shape)
