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
    """The form of steps that are priced by something else."""
    attention = AttentionForm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros((0, 5)))
    parts = PassForm(np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), attention)
    host = HostTimes(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(0, np.int64), 0.0, 0.0)
    none = np.zeros((0, 3))
    use = UseForm(none, none, none, none, attention, 1.0)
    return StepForm(0, parts, parts, host, use, use, 1.0)
