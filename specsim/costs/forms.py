"""What a step costs, lowered to tables and a few numbers, which ``costs.lowered`` evaluates.

Everything that depends on a number of rows alone is a table over that number; attention depends on the batch's sums.
``attention``, ``passes`` and ``step`` make these forms and say where their numbers come from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints


class AttentionForm(NamedTuple):
    """Attention of all layers of a pass.

    Attributes:
        slower: added share of the time to read a cache by a request that verifies several tokens.
        kv: time per token read; pair and prompt_pair: per pair of query and token attended to [s].
        layers, heads: of layers that keep everything, and their KV heads.
        state, token: time per state of linear attention that is read or written, and per token [s].
        per_kv_head, sharpness, ramp: as in ``roofline.Rates``.
        prompt_overhead: additional pairs for each prompt token.
        bandwidth, flops: [B/s, FLOP/s].
        windows: a row for each kind of layer whose queries see some tokens only [kinds, 6]: how many, bytes per token,
            FLOPs per pair, layers, KV heads, and 1 where each query reads its own choice, 0 where all read the last.
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
    """A forward pass: time of its parts by number of rows, and its attention.

    Attributes:
        by_tokens: weights, compute, launch, communication [rows, 4] [s].
        by_logit_rows, by_fused_tokens, by_corrected_rows: weights, compute, launch [rows, 3] [s].
        attention: its attention.
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
        per_verify: of a step in which some request has several tokens to verify [s].
        idle: of a step in which a drafter is loaded and drafts nothing [s].
        graph_sizes: captured numbers of tokens, ascending int64 [graphs]; empty for none.
        eager, piecewise: to launch all layers' kernels, or those between graphs [s].
    """

    per_step: float
    per_sequence: float
    per_verified_row: float
    per_draft_pass: float
    per_lookup_step: float
    per_lookup: float
    per_verify: float
    idle: float
    graph_sizes: Ints
    eager: float
    piecewise: float


class UseForm(NamedTuple):
    """What a forward pass asks of one device, in place of the time it takes.

    Attributes:
        by_tokens, by_logit_rows, by_fused_tokens, by_corrected_rows: bytes, operations, and the seconds that the
            operations take at the full peak of their precision [rows, 3].
        attention: bytes and operations, as if at one per second.
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
        target, drafter: their passes; without a drafter the target's are placeholders and never read.
        host: the host's times.
        target_use, drafter_use: what their passes ask of one device.
        stages: of the target's pipeline, each a device with its share of the target's pass.
    """

    rows: int
    target: PassForm
    drafter: PassForm
    host: HostTimes
    target_use: UseForm
    drafter_use: UseForm
    stages: float


def empty_step() -> StepForm:
    """A placeholder for steps that are priced by something else."""
    attention = AttentionForm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros((0, 5)))
    parts = PassForm(np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), attention)
    host = HostTimes(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(0, np.int64), 0.0, 0.0)
    none = np.zeros((0, 3))
    use = UseForm(none, none, none, none, attention, 1.0)
    return StepForm(0, parts, parts, host, use, use, 1.0)
