"""Room for what a step works out: kernels make no arrays of their own (see ``engine.compiled``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Bools, Floats, Ints
from specsim.uniforms import NUM_LANES


class Scratch(NamedTuple):
    """Room for what a step works out; kernels make no arrays of their own (see ``engine.compiled``).

    Attributes:
        context, catch_up, num_draft_tokens, num_out: of the decodes [S].
        seconds: of steps with drafts of 0, 1, .. K positions [K+1].
        draft, q_row, accept: as the verifier takes them [S, K].
        row: of ``ChainRows``, that a draft token was drawn from [S, K].
        p_row, out: the same [S, K+1].
        final, greedy: the same [S].
        own: uniforms of a request's own [NUM_LANES, 1, 1].
    """

    context: Ints
    catch_up: Ints
    num_draft_tokens: Ints
    num_out: Ints
    seconds: Floats
    draft: Ints
    row: Ints
    q_row: Ints
    accept: Floats
    p_row: Ints
    out: Ints
    final: Floats
    greedy: Bools
    own: Floats


def new_scratch(num_slots: int, longest: int) -> Scratch:
    """Room for ``num_slots`` requests with drafts of up to ``longest`` positions."""
    return Scratch(
        context=np.zeros(num_slots, np.int64),
        catch_up=np.zeros(num_slots, np.int64),
        num_draft_tokens=np.zeros(num_slots, np.int64),
        num_out=np.zeros(num_slots, np.int64),
        seconds=np.zeros(longest + 1),
        draft=np.zeros((num_slots, longest), np.int64),
        row=np.zeros((num_slots, longest), np.int64),
        q_row=np.zeros((num_slots, longest), np.int64),
        accept=np.zeros((num_slots, longest)),
        p_row=np.zeros((num_slots, longest + 1), np.int64),
        out=np.zeros((num_slots, longest + 1), np.int64),
        final=np.zeros(num_slots),
        greedy=np.zeros(num_slots, np.bool_),
        own=np.zeros((NUM_LANES, 1, 1)),
    )
