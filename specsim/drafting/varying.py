"""A source of chains whose acceptance varies by request, by stretch of the output, by context and by draft length.

``variation`` says how; here are the domain's tables: the rows of each rung, and the overlap of a draft by class of
requests and kind of position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats
from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.beta import LEVELS, concentration, level_means
from specsim.drafting.chain_rows import ChainRows, joined
from specsim.drafting.variation import RUNGS, no_variation
from specsim.inputs.models.acceptance import StatedAcceptance
from specsim.inputs.models.variation import HardStretches


class VaryingAcceptance:
    """Proposes and scores chains of one domain.

    Args:
        stated: the acceptance that varies.
        num_draft_tokens: the longest draft, K.
        rng: decides the shapes of the rows.
        sampled, greedy: as for ``PositionAcceptance``.
    """

    def __init__(
        self, stated: StatedAcceptance, num_draft_tokens: int, rng: np.random.Generator, *, sampled: bool, greedy: bool
    ) -> None:
        V, shape = stated.vocabulary, stated.concentration
        rows = rung_rows(num_draft_tokens, V, rng, shape, sampled=sampled)
        tokens, factor = (np.array([column], np.float64) for column in context_factors(stated))
        self.rows: ChainRows = rows._replace(
            greedy=np.array([greedy]),
            variation=no_variation(num_draft_tokens)._replace(
                varies=np.array([True]),
                overlap=overlap_table(stated, num_draft_tokens)[None],
                stretches=np.array([chances(stated.hard_stretches)]),
                tokens=tokens,
                factor=factor,
            ),
        )


def rung_rows(
    num_draft_tokens: int, vocabulary: int, rng: np.random.Generator, concentration: float, *, sampled: bool
) -> ChainRows:
    """A set of rows for each rung, whose overlap all of its positions have."""
    overlaps = (np.full(num_draft_tokens, rung / RUNGS) for rung in range(RUNGS + 1))
    return joined([PositionAcceptance(a, vocabulary, rng, concentration, sampled=sampled).rows for a in overlaps])


class Chances(NamedTuple):
    """Of hard positions: their share, and the probabilities that the next is hard after a hard and an easy one."""

    share: float
    stay: float
    enter: float


def chances(stretches: HardStretches | None) -> Chances:
    """Chances of hard positions; all 0 without any."""
    if stretches is None:
        return Chances(0.0, 0.0, 0.0)
    return Chances(stretches.share, 1 - stretches.leave, stretches.enter)


def context_factors(stated: StatedAcceptance) -> tuple[list[float], list[float]]:
    """Contexts [tokens] and the factors on acceptance there."""
    if stated.by_context is None:
        return [0.0], [1.0]
    return [float(entry.tokens) for entry in stated.by_context], [entry.factor for entry in stated.by_context]


def overlap_table(stated: StatedAcceptance, num_draft_tokens: int) -> Floats:
    """Acceptance by drafts in the round, position, class of requests and kind of position, easy or hard.

    The mean over classes and kinds is the given acceptance. With a spread, that of each position is Beta distributed
    with the concentration of the first position's; a request has the same quantile in all of them.

    Returns:
        probabilities [K+1, K, LEVELS, 2]; 0 at positions that a round does not have.
    """
    table = np.zeros((num_draft_tokens + 1, num_draft_tokens, LEVELS, 2))
    concentrated = concentration(stated.first_overlap, stated.spread) if stated.spread else None
    for drafts in range(1, num_draft_tokens + 1):
        for i, overlap in enumerate(stated.conditional(drafts).tolist()):
            means = level_means(overlap, concentrated) if concentrated else np.full(LEVELS, overlap)
            table[drafts, i] = easy_and_hard(means, stated.first_overlap, stated.hard_stretches)
    return table


def easy_and_hard(overlap: Floats, reference: float, stretches: HardStretches | None) -> Floats:
    """Acceptance at easy and at hard positions with the given mean [LEVELS, 2].

    They lie ``drop`` apart where the mean is the reference, and elsewhere less in proportion to the room to 0 or to 1;
    so neither leaves [0, 1] if that holds at the reference.
    """
    if stretches is None:
        return np.stack([overlap, overlap], axis=-1)
    apart = stretches.drop * np.minimum(overlap / reference, (1 - overlap) / (1 - reference))
    return np.stack([overlap + stretches.share * apart, overlap - (1 - stretches.share) * apart], axis=-1)
