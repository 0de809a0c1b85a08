"""What prompts begin with, as numbered segments of whole KV blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Ints
from specsim.workload.prefixes import Prefixes


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
