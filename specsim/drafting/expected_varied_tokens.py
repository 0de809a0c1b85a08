"""Tokens per verify in closed form where acceptance varies.

Requests of a class begin the next round where the last one stopped, so rounds do not begin at positions drawn by the
shares of hard and easy ones: the more is accepted, the fewer rounds begin. Whether a round begins at a hard position
has the stationary distribution of the Markov chain from one round's start to the next; ends of outputs are left out.
"""

from __future__ import annotations

import numpy as np

from specsim.arrays import Floats
from specsim.drafting.beta import LEVELS
from specsim.drafting.varying import Chances, chances, context_factors, overlap_table
from specsim.inputs.models.acceptance import StatedAcceptance


def accepted_law(overlap: Floats, chance: Chances) -> Floats:
    """P(0, 1, .. K drafts of a round are accepted) over all rounds of one class of requests, probabilities [K+1].

    Args:
        overlap: acceptance by position in the draft, at easy and at hard output positions [K, 2].
        chance: of these positions.
    """
    step = np.array([[1 - chance.enter, chance.enter], [1 - chance.stay, chance.stay]])
    alive, ends = np.eye(2), []  # from the kind at which a round begins to that at which its next draft stands
    for both in overlap:
        ends.append(alive * (1 - both))
        alive = (alive * both) @ step
    ends.append(alive)  # the last token, recovered or bonus, stands where the draft ended
    start = _stationary(sum(end @ step for end in ends)) if chance.share else np.array([1.0, 0.0])
    distribution: Floats = np.array([start @ end.sum(axis=1) for end in ends])
    return distribution


def _stationary(step: Floats) -> Floats:
    """The stationary distribution of a chain of two states, easy and hard [2]."""
    to_hard, to_easy = step[0, 1], step[1, 0]
    distribution: Floats = np.array([to_easy, to_hard]) / (to_easy + to_hard)
    return distribution


def tokens_by_level(stated: StatedAcceptance, num_draft_tokens: int, context: float) -> Floats:
    """Mean tokens per verify of each class of requests, at one context [LEVELS] [tokens]."""
    overlap = overlap_table(stated, num_draft_tokens)[num_draft_tokens] * np.interp(context, *context_factors(stated))
    tokens = 1 + np.arange(num_draft_tokens + 1)
    chance = chances(stated.hard_stretches)
    return np.array([tokens @ accepted_law(overlap[:, level], chance) for level in range(LEVELS)])


def mean_tokens_varied(stated: StatedAcceptance, num_draft_tokens: int, context: float) -> float:
    """Mean tokens per verify over all rounds: the harmonic mean, as requests with fewer have more rounds."""
    return float(1 / np.mean(1 / tokens_by_level(stated, num_draft_tokens, context)))
