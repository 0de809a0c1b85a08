"""Time, bytes and operations of a step from its lowered form: kernels that take about a microsecond."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.costs.forms import AttentionForm, PassForm, StepForm, UseForm
from specsim.forward import Pass, Passes, pass_at
from specsim.kernels import kernel
from specsim.records import StepTime

AS_CAPTURED, GRAPH, PIECEWISE, EAGER = 0, 1, 2, 3
"""How a pass is launched: as the engine's graphs have it, or in one of the modes of ``forward.Mode``."""


class PassTime(NamedTuple):
    """Times of the parts of one forward pass, which add up to its time [s]."""

    weights: float
    kv: float
    compute: float
    launch: float
    communication: float


@kernel
def price_step(form: StepForm, passes: Passes, num_passes: int, num_lookups: int, mode: int) -> StepTime:
    """Time of a step by part [s].

    Args:
        form: of the deployment.
        passes: the target's and then the drafter's [at least num_passes].
        num_passes: number of passes to price.
        num_lookups: sequences whose drafts are looked up.
        mode: how the target's pass is launched.
    """
    target = pass_at(passes, 0)
    time = _price_target(form, target, mode)
    draft, num_drafts = 0.0, 0
    for i in range(1, num_passes):
        one = pass_at(passes, i)
        own = price_pass(form.drafter, one, one.tokens)
        draft += own.weights + own.kv + own.compute + own.launch + own.communication
        if one.corrected_rows == 0:  # corrections of a block belong to its pass
            num_drafts += 1
    host = (
        form.host.per_step
        + form.host.per_sequence * target.sequences
        + form.host.per_verified_row * target.logit_rows
        + form.host.per_draft_pass * num_drafts
        + (form.host.per_verify if target.verify_context else 0.0)
        + (0.0 if num_drafts else form.host.idle)
    )
    if num_lookups:
        host += form.host.per_lookup_step + form.host.per_lookup * num_lookups
    return StepTime(time.weights, time.kv, time.compute, time.launch, time.communication, draft, host)


@kernel
def step_seconds(time: StepTime) -> float:
    """Total time of a step [s]."""
    return time.weights + time.kv + time.compute + time.launch + time.communication + time.draft + time.host


@kernel
def use_step(form: StepForm, passes: Passes, num_passes: int, used: Floats) -> None:
    """Bytes, operations and time at full peaks of a step on one device, without the padding of graphs.

    Args:
        form: of the deployment.
        passes, num_passes: as for ``price_step``.
        used: receives the three, float64 [3] [B, FLOP, s].
    """
    moved, operations, seconds = use_pass(form.target_use, pass_at(passes, 0))
    used[0], used[1], used[2] = moved / form.stages, operations / form.stages, seconds / form.stages
    for i in range(1, num_passes):
        moved, operations, seconds = use_pass(form.drafter_use, pass_at(passes, i))
        used[0] += moved
        used[1] += operations
        used[2] += seconds


@kernel
def use_pass(form: UseForm, one: Pass) -> tuple[float, float, float]:
    """Bytes, operations and time at full peaks of one pass [B, FLOP, s]."""
    if one.corrected_rows > 0:
        corrected = form.by_corrected_rows[one.corrected_rows]
        return corrected[0], corrected[1], corrected[2]
    layers, head = form.by_tokens[one.tokens], form.by_logit_rows[one.logit_rows]
    fusion = form.by_fused_tokens[one.fused_tokens]
    traffic, arithmetic = price_attention(form.attention, one, one.tokens)
    return (
        layers[0] + head[0] + fusion[0] + traffic,
        layers[1] + head[1] + fusion[1] + arithmetic,
        layers[2] + head[2] + fusion[2] + arithmetic / form.flops,
    )


@kernel
def most_rows(passes: Passes, num_passes: int) -> int:
    """The most rows of tokens, logits or states that one of the passes computes."""
    rows = 0
    for i in range(num_passes):
        rows = max(rows, passes.tokens[i], passes.logit_rows[i], passes.fused_tokens[i], passes.corrected_rows[i])
    return int(rows)


@kernel
def padded(sizes: Ints, tokens: int) -> int:
    """The smallest captured graph that holds the tokens, out of ascending sizes [graphs] [tokens]; -1 for none."""
    place = np.searchsorted(sizes, tokens)
    return int(sizes[place]) if place < len(sizes) else -1


@kernel
def _price_target(form: StepForm, target: Pass, mode: int) -> PassTime:
    """Time of the target's pass; where the host takes longer to launch its kernels, the wait counts as launch."""
    tokens = target.tokens
    if len(form.host.graph_sizes) == 0 or tokens == 0:
        return price_pass(form.target, target, tokens)
    size = padded(form.host.graph_sizes, tokens)
    if mode == AS_CAPTURED:
        mode = EAGER if size < 0 else PIECEWISE if target.prompt_query_context > 0 else GRAPH
    launched = size if mode != EAGER and size >= 0 else tokens
    time = price_pass(form.target, target, launched)
    waiting = form.host.eager if mode == EAGER else form.host.piecewise if mode == PIECEWISE else 0.0
    waiting -= time.weights + time.kv + time.compute + time.launch + time.communication
    return PassTime(time.weights, time.kv, time.compute, time.launch + max(waiting, 0.0), time.communication)


@kernel
def price_pass(form: PassForm, one: Pass, tokens: int) -> PassTime:
    """Time of one pass by part [s], padded to ``tokens`` tokens; a pass without tokens takes no time."""
    if one.corrected_rows > 0:
        corrected = form.by_corrected_rows[one.corrected_rows]
        return PassTime(corrected[0], 0.0, corrected[1], corrected[2], 0.0)
    layers, head = form.by_tokens[tokens], form.by_logit_rows[one.logit_rows]
    fusion = form.by_fused_tokens[one.fused_tokens]
    traffic, arithmetic = price_attention(form.attention, one, tokens)
    return PassTime(
        layers[0] + head[0] + fusion[0],
        traffic,
        layers[1] + head[1] + fusion[1] + arithmetic,
        layers[2] + head[2] + fusion[2],
        layers[3],
    )


@kernel
def price_attention(form: AttentionForm, one: Pass, tokens: int) -> tuple[float, float]:
    """Time of a pass's attention [s], padded to ``tokens`` tokens, without launches: (traffic, arithmetic)."""
    decode_pairs = one.query_context - one.prompt_query_context
    slowed = 1.0 + form.slower * one.verify_context / max(one.context_tokens, 1)
    traffic = _read(form, form.kv * one.context_tokens * slowed, form.heads * one.sequences, form.layers)
    overhead = form.prompt_overhead * one.prompt_tokens
    arithmetic = form.pair * decode_pairs + form.prompt_pair * (one.prompt_query_context + overhead)
    if form.state > 0.0:
        # read once a sequence; written once too, and when verifying once for every token that may be the last kept
        traffic += form.state * (one.sequences + max(one.sequences, one.logit_rows))
        arithmetic += form.token * tokens
    for i in range(len(form.windows)):
        window, num_bytes, pair, layers, heads, chosen = form.windows[i]
        reads, pairs = within_window(one, tokens, int(window))
        if chosen > 0.0:
            reads = pairs
        seconds = num_bytes * reads * slowed / form.bandwidth
        traffic += _read(form, seconds, layers * heads * one.sequences, layers)
        arithmetic += pair * (pairs + overhead) / form.flops
    return traffic, arithmetic


@kernel
def within_window(one: Pass, tokens: int, window: int) -> tuple[int, int]:
    """(tokens read, pairs attended) in a layer that sees ``window`` tokens back, the query's own included.

    Exact where all contexts lie within or all beyond the window; otherwise an upper bound.
    """
    reads = min(one.context_tokens, one.sequences * (window - 1) + tokens)
    return reads, min(one.query_context, tokens * window)


@kernel
def _read(form: AttentionForm, seconds: float, blocks: float, layers: float) -> float:
    """Time of layers that read for ``seconds`` at the full rate, while ``blocks`` blocks start and end [s]."""
    reading = seconds + min(seconds, layers * form.ramp)
    blocking = blocks * form.per_kv_head
    high, low = max(reading, blocking), min(reading, blocking)
    if form.sharpness == 1.0 or low == 0.0:
        return reading + blocking
    return float(high * (1.0 + (low / high) ** form.sharpness) ** (1.0 / form.sharpness))
