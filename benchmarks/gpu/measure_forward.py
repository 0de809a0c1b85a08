"""Times forward steps of a dense transformer of Llama-3.1-8B's dimensions on one GPU, with random BF16 weights.

Decode and verify steps by batch, query tokens per sequence and context; the linears alone; attention alone; an
EAGLE-3 head's pass; two ceilings. Everything runs as a replayed CUDA graph, so that no host time is in the figures:
this is not a serving engine. Needs PyTorch and Triton, and knows nothing of specsim.

    python3 benchmarks/gpu/measure_forward.py --tiny                 # small dimensions, seconds; runs on a CPU too
    python3 benchmarks/gpu/measure_forward.py --output forward.csv   # about five minutes on an H200
"""

from __future__ import annotations

import argparse
import csv
import datetime
import itertools
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

import torch.nn.functional as F  # noqa: N812 (the field's own name)
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float16  # Triton's interpreter cannot multiply BF16
SETTING = ["device", "software", "date"]
COLUMNS = [*SETTING, "quantity", "batch", "query_tokens", "context", "median_ms", "min_ms", "repeats"]


@dataclass(frozen=True)
class Dimensions:
    layers: int = 32
    hidden: int = 4096
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    intermediate: int = 14336
    vocabulary: int = 128256
    draft_vocabulary: int = 32000

    @property
    def qkv(self) -> int:
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    @property
    def group(self) -> int:
        return self.heads // self.kv_heads


LLAMA_8B = Dimensions()
TINY = Dimensions(2, 256, 8, 2, 32, 512, 1024, 512)


# --- Elementwise kernels: the four fused ones that a serving engine has per layer -------------------------------------


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


# --- Attention --------------------------------------------------------------------------------------------------------


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


# --- The model --------------------------------------------------------------------------------------------------------


def random(*shape, scale=0.02):
    return torch.empty(*shape, device=DEVICE, dtype=DTYPE).normal_(0.0, scale)


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


# --- Timing -----------------------------------------------------------------------------------------------------------


def capture(step):
    """A callable that replays the step's CUDA graph (the step itself, on a CPU)."""
    if DEVICE == "cpu":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def replays_ms(replay, repeats, pause=0.0, watch=None):
    """Milliseconds of each replay, back to back or after a pause in which the device is idle."""
    if DEVICE == "cpu":
        marks = [time.perf_counter()]
        for _ in range(repeats):
            replay()
            marks.append(time.perf_counter())
        return [1e3 * (b - a) for a, b in itertools.pairwise(marks)]
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, stop in events:
        if pause:
            torch.cuda.synchronize()
            time.sleep(pause)
        start.record()
        replay()
        stop.record()
    if watch:
        watch()
    torch.cuda.synchronize()
    return [start.elapsed_time(stop) for start, stop in events]


def times_ms(step, repeats):
    """Back to back, for a fraction of a second: between the figures after idling and those under lasting load."""
    replay = capture(step)
    replays_ms(replay, 3)
    return replays_ms(replay, repeats)


def after_idle_ms(step, repeats):
    """One replay at a time, a fifth of a second apart: full clocks."""
    return replays_ms(capture(step), repeats, 0.2)


def lasting_ms(step, repeats, seconds=2.5):
    """The last replays of some seconds without a pause: the clocks that the power limit allows."""
    replay, end = capture(step), time.monotonic() + (seconds if DEVICE == "cuda" else 0.0)
    seen, ms = [], replays_ms(replay, repeats)
    while time.monotonic() < end:
        ms = replays_ms(replay, repeats, watch=lambda: seen.append(clocks()))
    print("under load:", *seen[-1:], flush=True)
    return ms


def clocks() -> str:
    """SM clock and power just now, where the NVML bindings are installed."""
    try:
        return f"{torch.cuda.clock_rate()} MHz {torch.cuda.power_draw() / 1000:.0f} W"
    except Exception:
        return ""


class Table:
    """Rows written and flushed as they come, so that a stopped run keeps what it has."""

    def __init__(self, path: Path | None, repeats: int, deadline: float) -> None:
        name = torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu"
        software = f"PyTorch {torch.__version__}, Triton {triton.__version__}"
        self.fixed = [name, software, datetime.date.today().isoformat()]
        self.repeats, self.deadline = repeats, deadline
        self.file = path.open("w", newline="") if path else None
        self.writer = csv.writer(self.file) if self.file else None
        self._write(list(COLUMNS))

    def _write(self, row: list) -> None:
        if self.writer and self.file:
            self.writer.writerow(row)
            self.file.flush()

    def measure(self, quantity, batch, n, context, step, divide=1, timer=times_ms):
        """Time one step; a failure is printed and does not end the run."""
        if time.monotonic() > self.deadline:
            return
        try:
            ms = [value / divide for value in timer(step, self.repeats)]
        except (RuntimeError, AssertionError) as error:
            print(f"{quantity} batch {batch} n {n} context {context}: {str(error)[:200]}", flush=True)
            return
        median, least = statistics.median(ms), min(ms)
        self._write([*self.fixed, quantity, batch, n, context, f"{median:.5f}", f"{least:.5f}", len(ms)])
        print(f"{quantity} {batch} {n} {context} {median:.4f} {least:.4f}", flush=True)


# --- What is measured -------------------------------------------------------------------------------------------------


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


def ceilings(table: Table, elements: int, size: int) -> None:
    source, target = random(1024, elements // 1024, scale=1.0), random(1024, elements // 1024, scale=1.0)
    # Not copy_: a graph replays that as a memory-copy node, which is slower than a kernel.
    table.measure(f"negate_{elements * 2}_bytes", 0, 0, 0, lambda: torch.neg(source, out=target))
    table.measure(f"read_{elements * 2}_bytes", 0, 0, 0, lambda: source.amax(-1))
    a, b = random(size, size, scale=1.0), random(size, size, scale=1.0)
    table.measure(f"matmul_{size}", 0, 0, 0, lambda: a @ b)


def linears(table: Table, model: Model, token_counts) -> None:
    d = model.d
    for tokens in token_counts:
        x, wide = random(tokens, d.hidden, scale=1.0), random(tokens, d.intermediate, scale=1.0)
        table.measure("linears", tokens, 1, 0, lambda x=x, wide=wide: model.linears(x, wide))
    for name in ("qkv", "o", "gate_up", "down"):
        for tokens in token_counts:
            x = random(tokens, getattr(model.layers[0], name).shape[1], scale=1.0)
            weights = [getattr(layer, name) for layer in model.layers]
            table.measure(
                f"linear_{name}", tokens, 1, 0, lambda x=x, w=weights: [F.linear(x, one) for one in w], d.layers
            )
    for tokens in token_counts:
        x = random(tokens, d.hidden, scale=1.0)
        table.measure("linear_lm_head", tokens, 1, 0, lambda x=x: F.linear(x, model.lm_head))


def power(table: Table, model: Model, token_counts, cells) -> None:
    """Linears after idling and under lasting load, where the power limit lowers the clocks; whole steps under load."""
    d = model.d
    for tokens in token_counts:
        x, wide = random(tokens, d.hidden, scale=1.0), random(tokens, d.intermediate, scale=1.0)

        def step(x=x, wide=wide):
            model.linears(x, wide)

        table.measure("linears_after_idle", tokens, 1, 0, step, timer=after_idle_ms)
        table.measure("linears_lasting", tokens, 1, 0, step, timer=lasting_ms)
    forwards(table, model, cells, "forward_lasting", timer=lasting_ms)


def forwards(table: Table, model: Model, cells, quantity="forward", attend=decode, timer=times_ms) -> None:
    for batch, n, context in cells:
        if batch * context <= model.pools[0].shape[0]:
            x = random(batch * n, model.d.hidden, scale=1.0)

            def step(x=x, batch=batch, n=n, context=context):
                model.forward(x, batch, n, context, attend)

            table.measure(quantity, batch, n, context, step, timer=timer)


def attentions(table: Table, model: Model, cells, quantity, attend) -> None:
    """Attention of all layers in turn; per layer in the table. Below 60 MB of KV in all, the L2 cache holds it."""
    for batch, n, context in cells:
        if batch * context <= model.pools[0].shape[0]:
            q = random(batch * n, model.d.heads * model.d.head_dim, scale=1.0)
            table.measure(
                quantity,
                batch,
                n,
                context,
                lambda q=q, b=batch, c=context: model.attention(q, b, c, attend),
                model.d.layers,
            )


def eagle_passes(table: Table, model: Model, batches, context, passes=4) -> None:
    for batch in batches:
        feature = random(batch, model.d.hidden, scale=1.0)
        tokens = torch.randint(model.d.draft_vocabulary, (batch,), device=DEVICE)
        table.measure(
            "eagle3_pass",
            batch,
            1,
            context,
            lambda f=feature, t=tokens, b=batch: model.eagle_chain(f, t, b, context, passes),
            passes,
        )


def tune(model: Model, batch=64, context=1024) -> None:
    """Choose the decode kernel's blocks for each number of padded query rows, by time at one middling size."""
    d = model.d
    for n in (1, 5, 9):
        q = random(batch * n, d.heads * d.head_dim, scale=1.0)
        rows = max(16, triton.next_power_of_2(n * d.group))
        found = {}
        shapes = ((32, 4, 4), (64, 4, 2), (64, 4, 3), (64, 4, 4), (128, 4, 2), (128, 8, 3))
        for choice in [(*shape, programs) for shape in shapes for programs in (512, 1056)]:
            TUNED[rows] = choice
            try:
                found[choice] = statistics.median(times_ms(lambda q=q: model.attention(q, batch, context, decode), 5))
            except RuntimeError as error:
                print("tuning:", rows, choice, str(error)[:80], flush=True)
        TUNED[rows] = min(found, key=found.get)
        print("tuned:", rows, TUNED[rows], f"{found[TUNED[rows]]:.4f} ms, worst {max(found.values()):.4f}", flush=True)


def cross(batches, query_tokens, context):
    return [(batch, n, context) for batch in batches for n in query_tokens]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="small dimensions: checks that everything runs")
    parser.add_argument("--output", type=Path, help="CSV to write")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--deadline", type=float, default=520.0, help="seconds after which no measurement starts")
    args = parser.parse_args()
    torch.manual_seed(0)
    table = Table(args.output, 3 if args.tiny else args.repeats, time.monotonic() + args.deadline)
    with torch.inference_mode():
        measure_all(table, tiny=args.tiny)


def measure_all(table: Table, tiny: bool) -> None:
    batches = [1, 3] if tiny else [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256]
    some = [2] if tiny else [1, 8, 32, 64, 128, 256]
    query_tokens = [1, 3] if tiny else [1, 2, 3, 4, 5, 6, 9]
    tokens = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 512, 768, 1024, 2048]
    short, middle, long = (16, 32, 64) if tiny else (128, 1024, 4096)
    ceilings(table, 2**16 if tiny else 2**30, 256 if tiny else 8192)
    model = Model(TINY, 2048, 128) if tiny else Model(LLAMA_8B, 128 * 4096, 8192)
    check(model)
    if DEVICE == "cuda" and not tiny:
        tune(model)
        check(model)
    # The card is cold at first: work a little before the figures that matter.
    warm = random(64, model.d.hidden, scale=1.0)
    times_ms(lambda: model.forward(warm, 32, 2, middle // 8), 2 if tiny else 100)
    linears(table, model, tokens[:3] if tiny else tokens)
    loaded = (
        [(2, 3, middle)] if tiny else [(1, 1, middle), (32, 6, middle), (64, 1, middle), *cross([64, 128], [4], middle)]
    )
    power(table, model, tokens[:1] if tiny else [1, 64, 128, 192, 256, 320, 512, 1024, 2048], loaded)
    forwards(table, model, cross(batches, query_tokens, middle))
    eagle_passes(table, model, batches, middle)
    forwards(table, model, cross(batches, query_tokens, short))
    forwards(table, model, cross(some, query_tokens[::2], long))
    verify = [n for n in query_tokens if n > 1]
    for context in (middle, long):
        attentions(table, model, cross(some, query_tokens, context), "attention_decode", decode)
        attentions(table, model, cross(some, query_tokens, context), "attention_flash2_packed", packed)
        attentions(table, model, cross(some, verify, context), "attention_flash2_causal", causal)
    forwards(table, model, cross(some, verify, middle), "forward_flash2_causal", causal)
    if DEVICE == "cuda":
        few = cross(some, [query_tokens[0], query_tokens[-1]], middle)
        attentions(table, model, few, "attention_cudnn_packed", lambda q, cache, d: packed(q, cache, d, cudnn))


if __name__ == "__main__":
    main()
