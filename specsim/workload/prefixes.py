"""Prefixes of prompts, so that a server can tell which prompts begin alike. Knows nothing of how KV is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints

SEGMENT_TOKENS = 256
"""Shared text is kept and lost in pieces of this size: a multiple of the KV block sizes in use."""


@dataclass(frozen=True)
class Prefixes:
    """Segments that prompts consist of, or begin with; equal ids after equal text are equal text. All int64.

    Attributes:
        starts: request i has the segments ``starts[i] : starts[i + 1]``, from the prompt's beginning [requests + 1].
        ids: of all requests, one after the other [segments].
        ends: where each ends in its prompt [segments] [tokens].
    """

    starts: Ints
    ids: Ints
    ends: Ints

    def __getitem__(self, chosen: Ints | slice) -> Prefixes:
        """The prefixes of some of the requests."""
        first, counts = self.starts[:-1][chosen], np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
        return Prefixes(starts, self.ids[places], self.ends[places])


class SharedTexts(NamedTuple):
    """A number of texts of one length, such as system prompts."""

    tokens: int
    number: int


def shared_prefixes(prompt: Ints, kinds: Sequence[SharedTexts | None], kind: Ints, uniforms: Floats) -> Prefixes | None:
    """Each request's prompt begins with one of the texts of its kind, all equally likely.

    Args:
        prompt: lengths [requests] [tokens]; a prompt shorter than the text is its beginning.
        kinds: the texts of each kind; None for requests that share nothing.
        kind: of each request, an index into ``kinds`` [requests].
        uniforms: in [0, 1); each chooses a text [requests].

    Returns:
        None where nothing is shared.
    """
    if not any(kinds):
        return None
    tokens, number = (np.array([getattr(texts, name, 0) for texts in kinds])[kind] for name in SharedTexts._fields)
    before = np.cumsum([0, *(getattr(texts, "number", 0) for texts in kinds)])
    text = before[kind] + (uniforms * number).astype(np.int64)
    shared = np.minimum(tokens, prompt)
    counts = -(-shared // SEGMENT_TOKENS)
    starts = np.concatenate([[0], np.cumsum(counts)])
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
    ends = np.minimum((place + 1) * SEGMENT_TOKENS, np.repeat(shared, counts))
    return Prefixes(starts, np.repeat(text, counts), ends)
