"""How acceptance varies: by request, by position in the output, by context.

Everything is a function of the run's uniforms, the request and the output position, so it is the same under every
policy: a request's class (``beta``), whether a position is hard, and which of two rungs it is on. The rungs are rows
whose overlap is 0, 1/16, .. 1. A position is on one of the two nearest to its overlap, with the probability that makes
that the mean of both; under the token rule that is the same as having this overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.arrays import Bools, Floats, Ints, Words
from specsim.drafting.beta import LEVELS
from specsim.kernels import kernel
from specsim.uniforms import BY_TRAIT, LANE_HARD, NUM_LANES, draw_uniforms

RUNGS = 16
SHARE, STAY, ENTER = 0, 1, 2
"""Indices in ``Variation.stretches``: the share of hard positions; P(the next is hard) after a hard one, and after
an easy one."""


class Variation(NamedTuple):
    """How acceptance varies in each domain.

    Attributes:
        varies: whether it does; of domains that do not, the other entries are not read [C].
        first: the first set of rows of a domain; those that vary have RUNGS + 1 of them [C].
        overlap: acceptance by drafts in the round, position in the draft, class of requests and whether the output
            position is hard [C, K+1, K, LEVELS, 2].
        stretches: see SHARE and the following [C, 3].
        tokens, factor: what acceptance is multiplied by at these contexts, ascending [C, T].
        num_recorded: recordings, of a domain whose acceptance is replayed; otherwise 0 [C].
        starts: of all recordings, where each one's list starts in ``emitted``, and where the last one ends [R+1].
        emitted: tokens of a round that starts at an output position, by recording.
        key: of the run's uniforms.
        looked_up: room for a uniform before those that are kept [NUM_LANES, 1, 1].
    """

    varies: Bools
    first: Ints
    overlap: Floats
    stretches: Floats
    tokens: Floats
    factor: Floats
    num_recorded: Ints
    starts: Ints
    emitted: Ints
    key: Words
    looked_up: Floats


def joined_variations(parts: Sequence[Variation], num_sets: Sequence[int]) -> Variation:
    """The variation of several domains; ``num_sets`` is the number of sets of rows of each."""
    most = max(part.tokens.shape[1] for part in parts)
    any_varies = any(part.varies.any() for part in parts)
    return parts[0]._replace(
        varies=np.concatenate([part.varies for part in parts]),
        first=np.concatenate([[0], np.cumsum(num_sets)[:-1]]),
        overlap=np.concatenate([part.overlap if any_varies else part.overlap[:0] for part in parts]),
        stretches=np.concatenate([part.stretches for part in parts]),
        tokens=np.concatenate([_held(part.tokens, most) for part in parts]),
        factor=np.concatenate([_held(part.factor, most) for part in parts]),
        num_recorded=np.concatenate([part.num_recorded for part in parts]),
        starts=np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]))]),
        emitted=np.concatenate([part.emitted for part in parts]),
    )


def _held(table: Floats, entries: int) -> Floats:
    """A table [1, T] with the last entry repeated."""
    return np.pad(table, ((0, 0), (0, entries - table.shape[1])), mode="edge")


def no_variation(longest: int) -> Variation:
    """The variation of one domain that has none."""
    return Variation(
        varies=np.zeros(1, np.bool_),
        first=np.zeros(1, np.int64),
        overlap=np.zeros((1, longest + 1, longest, LEVELS, 2)),
        stretches=np.zeros((1, 3)),
        tokens=np.zeros((1, 1)),
        factor=np.ones((1, 1)),
        num_recorded=np.zeros(1, np.int64),
        starts=np.zeros(1, np.int64),
        emitted=np.zeros(0, np.int64),
        key=np.zeros(4, np.uint64),
        looked_up=np.zeros((NUM_LANES, 1, 1)),
    )


@kernel
def overlap_at(
    variation: Variation,
    traits: Floats,
    own: float,
    first_position: int,
    domain: int,
    request: int,
    position: int,
    prompt_tokens: int,
    recording: int,
    num_draft_tokens: int,
    i: int,
) -> float:
    """The acceptance probability of the draft for an output position.

    Args:
        variation: of all domains.
        traits: the request's uniforms by output position [NUM_LANES, positions].
        own: its own uniform.
        first_position: of traits.
        domain, request: indices.
        position: in the output.
        prompt_tokens: of the request.
        recording: the recording to replay; -1 for none.
        num_draft_tokens: drafts in the round.
        i: index of the draft in the round, from 0.
    """
    if recording >= 0:
        return 1.0 if i < recorded(variation, recording, position - i) - 1 else 0.0
    level, hard = int(own * LEVELS), 0
    if variation.stretches[domain, SHARE] > 0.0:
        hard = 1 if is_hard(variation, traits, first_position, domain, request, position) else 0
    overlap = variation.overlap[domain, num_draft_tokens, i, level, hard]
    return float(overlap * factor_at(variation.tokens[domain], variation.factor[domain], prompt_tokens + position))


@kernel
def recorded(variation: Variation, recording: int, position: int) -> int:
    """Tokens of a round that starts at an output position, from a list that repeats when it ends."""
    start, end = variation.starts[recording], variation.starts[recording + 1]
    return int(variation.emitted[start + position % (end - start)])


@kernel
def rung_of(overlap: float, uniform: float) -> int:
    """The rung of a position, drawn so that its mean overlap is ``overlap``."""
    below = min(int(overlap * RUNGS), RUNGS - 1)
    return below + 1 if uniform < overlap * RUNGS - below else below


@kernel
def is_hard(
    variation: Variation, traits: Floats, first_position: int, domain: int, request: int, position: int
) -> bool:
    """Whether an output position is hard: the state of a Markov chain that began in its stationary distribution.

    Each position has a uniform u, in traits [NUM_LANES, positions] from ``first_position`` on, and is hard if u is
    below P(hard | the state before). A u below both of these probabilities, or above both, settles the state whatever
    came before, so it suffices to look back to the last one that did. The others keep the state, or flip it if hard
    positions make easy ones likelier.
    """
    stretches, place = variation.stretches[domain], position
    share, stay, enter = stretches[SHARE], stretches[STAY], stretches[ENTER]
    while True:
        if place >= first_position:
            uniform = traits[LANE_HARD, place - first_position]
        else:
            draw_uniforms(variation.looked_up, variation.key, request, place, BY_TRAIT)
            uniform = variation.looked_up[LANE_HARD, 0, 0]
        if place == 0:
            hard = uniform < share
            break
        if uniform < min(stay, enter):
            hard = True
            break
        if uniform >= max(stay, enter):
            hard = False
            break
        place -= 1
    return bool(hard != (stay < enter and (position - place) % 2 == 1))


@kernel
def factor_at(tokens: Floats, factor: Floats, context: float) -> float:
    """Factor of a table [T] at a context [tokens]: linear between its entries, constant beyond its ends."""
    if context <= tokens[0]:
        return float(factor[0])
    for i in range(1, len(tokens)):
        if context < tokens[i]:
            part = (context - tokens[i - 1]) / (tokens[i] - tokens[i - 1])
            return float(factor[i - 1] + part * (factor[i] - factor[i - 1]))
    return float(factor[len(tokens) - 1])
