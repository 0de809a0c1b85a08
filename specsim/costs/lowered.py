"""What a step costs, lowered to tables and a few numbers that compiled code evaluates in about a microsecond.

Everything that depends on a number of rows alone is a table over that number; attention depends on the batch's sums.
``attention``, ``passes`` and ``step`` make these forms and say where their numbers come from; nothing else evaluates
them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.forward import (
    CORRECTED_ROWS,
    FUSED_TOKENS,
    LOGIT_ROWS,
    PROMPT_QUERY_CONTEXT,
    SEQUENCES,
    TOKENS,
    Pass,
)
from specsim.kernels import kernel

Parts: TypeAlias = tuple[float, float, float, float, float]
"""Seconds of a pass: weights, KV, compute, launch, communication."""

WEIGHTS, KV, COMPUTE, LAUNCH, COMMUNICATION, DRAFT, HOST = range(7)
"""Places of a step's parts, in the order of ``records.PARTS``; those of a pass are the first five."""
AS_CAPTURED, GRAPH, PIECEWISE, EAGER = 0, 1, 2, 3
"""How a pass is launched: as the engine's graphs have it, or in one of the modes of ``forward.Mode``."""


class AttentionForm(NamedTuple):
    """Attention of all layers of a pass.

    Attributes:
        slower: how much longer a cache takes to read by a request that verifies several tokens, as a share.
        kv: seconds for each token read, pair and prompt_pair: for each pair of query and token attended to.
        layers, heads: that keep everything, and their KV heads.
        state, token: seconds for each state of linear attention that is read or written, and for each token.
        per_kv_head, sharpness, ramp: as in ``roofline.Rates``.
        prompt_overhead: pairs more for each prompt token.
        bandwidth, flops: [B/s, FLOP/s].
        windows: a row for each kind of layer with a window: tokens, bytes per token, FLOPs per pair, layers, KV heads.
    """

    slower: float
    kv: float
    pair: float
    prompt_pair: float
    layers: float
    heads: float
    state: float
    token: float
    per_kv_head: float
    sharpness: float
    ramp: float
    prompt_overhead: float
    bandwidth: float
    flops: float
    windows: Floats


class PassForm(NamedTuple):
    """A forward pass: seconds of its parts by number of rows, and its attention.

    Attributes:
        by_tokens: weights, compute, launch, communication [rows, 4].
        by_logit_rows, by_fused_tokens, by_corrected_rows: weights, compute, launch [rows, 3].
        attention: the rest.
    """

    by_tokens: Floats
    by_logit_rows: Floats
    by_fused_tokens: Floats
    by_corrected_rows: Floats
    attention: AttentionForm


class HostTimes(NamedTuple):
    """What the host adds to a step.

    Attributes:
        per_step, per_sequence, per_verified_row, per_draft_pass, per_lookup_step, per_lookup: times [s].
        idle: of a step in which a drafter is loaded and drafts nothing [s].
        graph_sizes: tokens that were captured, ascending; [0] for none.
        eager, piecewise: to launch all layers' kernels, or those between graphs [s].
    """

    per_step: float
    per_sequence: float
    per_verified_row: float
    per_draft_pass: float
    per_lookup_step: float
    per_lookup: float
    idle: float
    graph_sizes: Ints
    eager: float
    piecewise: float


class UseForm(NamedTuple):
    """What a forward pass asks of one device, in place of how long it takes.

    Attributes:
        by_tokens, by_logit_rows, by_fused_tokens, by_corrected_rows: bytes, operations, and the seconds that the
            operations take at the full peak of their precision [rows, 3].
        attention: bytes and operations, as if both came at one a second.
        flops: the full peak at which attention computes [FLOP/s].
    """

    by_tokens: Floats
    by_logit_rows: Floats
    by_fused_tokens: Floats
    by_corrected_rows: Floats
    attention: AttentionForm
    flops: float


class StepForm(NamedTuple):
    """A step: passes of target and drafter, and the host.

    Attributes:
        rows: the most that any table has room for.
        target, drafter: their passes; without a drafter the target's stand in and are not asked for.
        host: the rest.
        target_use, drafter_use: what their passes ask of one device, likewise.
        stages: of the target's pipeline, each a device with its share of the target's pass.
    """

    rows: int
    target: PassForm
    drafter: PassForm
    host: HostTimes
    target_use: UseForm
    drafter_use: UseForm
    stages: float


@kernel
def price_step(form: StepForm, passes: Ints, num_passes: int, num_lookups: int, mode: int, parts: Floats) -> None:
    """Seconds of a step by part.

    Args:
        form: of the deployment.
        passes: rows of ``forward.Pass``, the target's and then the drafter's.
        num_passes: how many rows there are.
        num_lookups: sequences whose drafts are looked up.
        mode: how the target's pass is launched.
        parts: receives the seconds [7].
    """
    parts[WEIGHTS], parts[KV], parts[COMPUTE], parts[LAUNCH], parts[COMMUNICATION] = _price_target(
        form, passes[0], mode
    )
    draft = 0.0
    for i in range(1, num_passes):
        weights, kv, compute, launch, communication = price_pass(form.drafter, passes[i], passes[i, TOKENS])
        draft += weights + kv + compute + launch + communication
    parts[DRAFT] = draft
    num_drafts = 0  # corrections of a block belong to its pass
    for i in range(1, num_passes):
        num_drafts += passes[i, CORRECTED_ROWS] == 0
    parts[HOST] = (
        form.host.per_step
        + form.host.per_sequence * passes[0, SEQUENCES]
        + form.host.per_verified_row * passes[0, LOGIT_ROWS]
        + form.host.per_draft_pass * num_drafts
        + (0.0 if num_drafts else form.host.idle)
    )
    if num_lookups:
        parts[HOST] += form.host.per_lookup_step + form.host.per_lookup * num_lookups


@kernel
def use_step(form: StepForm, passes: Ints, num_passes: int, used: Floats) -> None:
    """Bytes, operations and seconds at full peaks of a step, of one device, without the padding of graphs.

    Args:
        form: of the deployment.
        passes, num_passes: as for ``price_step``.
        used: receives the three [3].
    """
    moved, operations, seconds = use_pass(form.target_use, passes[0])
    used[0], used[1], used[2] = moved / form.stages, operations / form.stages, seconds / form.stages
    for i in range(1, num_passes):
        moved, operations, seconds = use_pass(form.drafter_use, passes[i])
        used[0] += moved
        used[1] += operations
        used[2] += seconds


@kernel
def use_pass(form: UseForm, row: Ints) -> tuple[float, float, float]:
    """Bytes, operations and seconds at full peaks of one pass."""
    if row[CORRECTED_ROWS] > 0:
        corrected = form.by_corrected_rows[row[CORRECTED_ROWS]]
        return corrected[0], corrected[1], corrected[2]
    layers, head = form.by_tokens[row[TOKENS]], form.by_logit_rows[row[LOGIT_ROWS]]
    fusion = form.by_fused_tokens[row[FUSED_TOKENS]]
    work = Pass(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9])
    traffic, arithmetic = price_attention(form.attention, work)
    return (
        layers[0] + head[0] + fusion[0] + traffic,
        layers[1] + head[1] + fusion[1] + arithmetic,
        layers[2] + head[2] + fusion[2] + arithmetic / form.flops,
    )


@kernel
def most_rows(passes: Ints) -> int:
    """The most rows of tokens, logits or states that one of the passes computes."""
    rows = 0
    for i in range(len(passes)):
        for column in (TOKENS, LOGIT_ROWS, FUSED_TOKENS, CORRECTED_ROWS):
            rows = max(rows, passes[i, column])
    return rows


@kernel
def padded(sizes: Ints, tokens: int) -> int:
    """The captured size that a step of so many tokens is replayed at; -1 for none."""
    place = np.searchsorted(sizes, tokens)
    return int(sizes[place]) if place < len(sizes) else -1


@kernel
def _price_target(form: StepForm, row: Ints, mode: int) -> Parts:
    """Of the target's pass; where the host takes longer to launch its kernels, the wait counts as launching."""
    tokens = row[TOKENS]
    if len(form.host.graph_sizes) == 0 or tokens == 0:
        return price_pass(form.target, row, tokens)
    size = padded(form.host.graph_sizes, tokens)
    if mode == AS_CAPTURED:
        mode = EAGER if size < 0 else PIECEWISE if row[PROMPT_QUERY_CONTEXT] > 0 else GRAPH
    launched = size if mode != EAGER and size >= 0 else tokens
    weights, kv, compute, launch, communication = price_pass(form.target, row, launched)
    waiting = form.host.eager if mode == EAGER else form.host.piecewise if mode == PIECEWISE else 0.0
    waiting -= weights + kv + compute + launch + communication
    return weights, kv, compute, launch + max(waiting, 0.0), communication


@kernel
def price_pass(form: PassForm, row: Ints, tokens: int) -> Parts:
    """Seconds of one pass by part, launched with so many tokens; a pass without tokens takes no time."""
    if row[CORRECTED_ROWS] > 0:
        corrected = form.by_corrected_rows[row[CORRECTED_ROWS]]
        return corrected[0], 0.0, corrected[1], corrected[2], 0.0
    layers, head = form.by_tokens[tokens], form.by_logit_rows[row[LOGIT_ROWS]]
    fusion = form.by_fused_tokens[row[FUSED_TOKENS]]
    work = Pass(tokens, row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9])
    traffic, arithmetic = price_attention(form.attention, work)
    return (
        layers[0] + head[0] + fusion[0],
        traffic,
        layers[1] + head[1] + fusion[1] + arithmetic,
        layers[2] + head[2] + fusion[2],
        layers[3],
    )


@kernel
def price_attention(form: AttentionForm, work: Pass) -> tuple[float, float]:
    """Seconds of a pass's attention, without launches: (traffic, arithmetic)."""
    decode_pairs = work.query_context - work.prompt_query_context
    slowed = 1.0 + form.slower * work.verify_context / max(work.context_tokens, 1)
    traffic = _read(form, form.kv * work.context_tokens * slowed, form.heads * work.sequences, form.layers)
    overhead = form.prompt_overhead * work.prompt_tokens
    arithmetic = form.pair * decode_pairs + form.prompt_pair * (work.prompt_query_context + overhead)
    if form.state > 0.0:
        # read once a sequence; written once too, and when verifying once for every token that may be the last kept
        traffic += form.state * (work.sequences + max(work.sequences, work.logit_rows))
        arithmetic += form.token * work.tokens
    for i in range(len(form.windows)):
        window, num_bytes, pair, layers, heads = form.windows[i]
        reads, pairs = within_window(work, int(window))
        seconds = num_bytes * reads * slowed / form.bandwidth
        traffic += _read(form, seconds, layers * heads * work.sequences, layers)
        arithmetic += pair * (pairs + overhead) / form.flops
    return traffic, arithmetic


@kernel
def within_window(work: Pass, window: int) -> tuple[int, int]:
    """(tokens read, pairs attended) in a layer that sees ``window`` tokens back, the query's own included.

    Exact where all contexts lie within or all beyond the window; otherwise an upper bound.
    """
    reads = min(work.context_tokens, work.sequences * (window - 1) + work.tokens)
    return reads, min(work.query_context, work.tokens * window)


@kernel
def _read(form: AttentionForm, seconds: float, blocks: float, layers: float) -> float:
    """Seconds of layers that read for so long at the full rate, while so many blocks start and end."""
    reading = seconds + min(seconds, layers * form.ramp)
    blocking = blocks * form.per_kv_head
    high, low = max(reading, blocking), min(reading, blocking)
    if form.sharpness == 1.0 or low == 0.0:
        return reading + blocking
    return float(high * (1.0 + (low / high) ** form.sharpness) ** (1.0 / form.sharpness))


def empty_step() -> StepForm:
    """The form of steps that are priced by something else."""
    attention = AttentionForm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros((0, 5)))
    parts = PassForm(np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), attention)
    host = HostTimes(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(0, np.int64), 0.0, 0.0)
    none = np.zeros((0, 3))
    use = UseForm(none, none, none, none, attention, 1.0)
    return StepForm(0, parts, parts, host, use, use, 1.0)
