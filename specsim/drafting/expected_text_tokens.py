"""Tokens per verify of two language models, from the stationary distribution of contexts at which rounds begin.

In context s a token x is accepted as a draft with min(p, q)(x), and emitted where a draft failed with max(0, p − q)(x)
(Leviathan et al., arXiv 2211.17192); both lead to the context after x. A round is thus a product of such steps, and
rounds follow one another as a Markov chain.
"""

from __future__ import annotations

import numpy as np

from specsim.arrays import Floats
from specsim.drafting.text_models import TextModels

SETTLED, MOST_ROUNDS = 1e-10, 2000
"""The distribution of contexts counts as stationary when a round moves it by less, or after MOST_ROUNDS."""


def mean_text_tokens(models: TextModels, num_draft_tokens: int, most_rounds: int = MOST_ROUNDS) -> float:
    """Mean tokens per verify of the models of one domain, over all rounds of long outputs, or the first rounds."""
    q = models.q[models.q_row]
    target, both, rest = (_Moves(models, w) for w in (models.p, np.minimum(models.p, q), np.maximum(models.p - q, 0.0)))
    distribution: Floats = np.bincount(models.starts, minlength=len(models.p)).astype(np.float64) / len(models.starts)
    for _ in range(most_rounds):
        following: Floats = np.zeros(len(distribution))
        alive, tokens = distribution, 1.0
        for _ in range(num_draft_tokens):
            following += rest.of(alive)
            alive = both.of(alive)
            tokens += alive.sum()
        following += target.of(alive)
        if np.abs(following - distribution).sum() < SETTLED:
            break
        distribution = following / following.sum()
    return float(tokens)


class _Moves:
    """What a token with these weights [R, V] does to contexts [R]; most weights are 0 and are left out."""

    def __init__(self, models: TextModels, weights: Floats) -> None:
        self._before, token = weights.nonzero()
        self._after, self._weight = models.step[self._before, token], weights[self._before, token]

    def of(self, distribution: Floats) -> Floats:
        return np.asarray(
            np.bincount(self._after, distribution[self._before] * self._weight, len(distribution)), np.float64
        )
