"""How a replica serves: what one step and one device can hold, and whose turn it is."""

from __future__ import annotations

from typing import NamedTuple

from specsim.engine.state import Floats, Ints


class Limits(NamedTuple):
    """What the scheduler may do.

    Attributes:
        max_num_seqs: most requests in service.
        max_num_batched_tokens: most tokens in a step.
        num_blocks: KV blocks of the device.
        blocks_of: blocks that a request of 0, 1, .. tokens holds, the drafter's cache included.
        chunked_prefill: whether a prompt may be computed in parts; otherwise it waits until a step holds it whole.
        prefill_first: prompts are computed in steps of their own, before anything is decoded; otherwise requests in
            service go first, and prompts fill up the step.
        decode_only: prompts are in the KV cache when requests arrive.
        num_nodes: draft tokens of a draft for 0, 1, .. D positions: the levels of a tree, or one for each.
        total_depth: Σ of their levels, likewise.
        looks_up: whether drafts are looked up in the text so far.
        share_at_least: share of these look-ups that find at least 1, 2, .. D tokens.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    num_blocks: int
    blocks_of: Ints
    chunked_prefill: bool
    prefill_first: bool
    decode_only: bool
    num_nodes: Ints
    total_depth: Ints
    looks_up: bool
    share_at_least: Floats
