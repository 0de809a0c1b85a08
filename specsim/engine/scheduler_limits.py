"""Limits of the scheduler: what one step and one device hold, and what prompts have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.workload.prefixes import Prefixes

FOR_CHUNK, FOR_CONTEXT, FOR_ALL = range(3)
"""Blocks that must be free to admit a request: for its next chunk, for all its tokens so far, or for all it can ever
have, which it then holds from the beginning."""


class Segments(NamedTuple):
    """Segments that prompts begin with.

    Attributes:
        starts: those of request i are at ``starts[i] : starts[i + 1]``, from the prompt's beginning [N+1].
        node: which; equal numbers are equal text after equal text.
        end: where it ends, from the prompt's beginning, a multiple of the block size [tokens].
        num_nodes: how many there are, without a request's own text, which is node ``num_nodes + request``.
    """

    starts: Ints
    node: Ints
    end: Ints
    num_nodes: int


class SchedulerLimits(NamedTuple):
    """What the scheduler may do.

    Attributes:
        max_num_seqs: most requests in service.
        max_num_batched_tokens: most tokens in a step.
        num_blocks: KV blocks of the device.
        block_size: tokens in a block.
        admission: see FOR_CHUNK and the following.
        host_blocks: KV blocks that the host has room for, of preempted requests; the others compute theirs again.
        seconds_per_block: that a block takes between host and device.
        caches_prefixes: whether blocks are kept and shared.
        drops_last: whether the last block found in the cache is computed again, for the hidden states that a drafter
            takes in.
        segments: what prompts begin with, see ``Segments``.
        blocks_of: blocks that a request of 0, 1, .. tokens holds, the drafter's cache included.
        chunked_prefill: whether a prompt may be computed in parts; otherwise it waits until a step holds it whole.
        prefill_first: prompts are computed in steps of their own, before anything is decoded; otherwise requests in
            service go first, and prompts fill up the step.
        decode_only: prompts are in the KV cache when requests arrive.
        num_nodes: draft tokens of a draft for 0, 1, .. D positions: the levels of a tree, or one for each.
        total_depth: Σ of their levels, of the same drafts.
        looks_up: whether drafts are looked up in the text so far.
        share_at_least: share of these look-ups that find at least 1, 2, .. D tokens.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    num_blocks: int
    block_size: int
    admission: int
    host_blocks: int
    seconds_per_block: float
    caches_prefixes: bool
    drops_last: bool
    segments: Segments
    blocks_of: Ints
    chunked_prefill: bool
    prefill_first: bool
    decode_only: bool
    num_nodes: Ints
    total_depth: Ints
    looks_up: bool
    share_at_least: Floats


def no_segments(num_requests: int) -> Segments:
    """Prompts that have nothing in common."""
    empty = np.zeros(0, np.int64)
    return Segments(np.zeros(num_requests + 1, np.int64), empty, empty, 0)


def segments_of(prefixes: Prefixes, block_size: int) -> Segments:
    """What prompts begin with, in whole blocks; a segment in which none ends takes part in naming those after it."""
    starts, ids, ends = prefixes.starts, prefixes.ids, prefixes.ends
    name, counts = np.full(len(ids), -1), np.diff(starts)
    for place in range(counts.max(initial=0)):
        here = starts[:-1][counts > place] + place
        before = name[here - 1] if place else np.full(len(here), -1)
        _, name[here] = np.unique(np.stack([before, ids[here], ends[here]]), axis=1, return_inverse=True)
        name[here] += name.max() + 1
    blocks = ends // block_size
    before = np.append(0, blocks[:-1])
    before[starts[:-1][counts > 0]] = 0
    whole = blocks > before
    named, node = np.unique(name[whole], return_inverse=True)
    return Segments(np.append(0, np.cumsum(whole))[starts], node, blocks[whole] * block_size, len(named))
