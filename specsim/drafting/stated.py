"""From a scenario's speculation to the shape of its drafts and the sources that propose them."""

from __future__ import annotations

import numpy as np

from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.replayed import ReplayedAcceptance
from specsim.drafting.shape import DraftShape, chain, tree
from specsim.drafting.tree_acceptance import TreeAcceptance
from specsim.drafting.varying import VaryingAcceptance
from specsim.inputs.models.acceptance import StatedAcceptance
from specsim.inputs.models.speculation import Speculation

ChainSource = PositionAcceptance | VaryingAcceptance | ReplayedAcceptance


def draft_shape(speculation: Speculation, num_draft_tokens: int) -> DraftShape:
    """The shape of a round's drafts: a chain, or the first levels of the tree."""
    if speculation.tree is None:
        return chain(num_draft_tokens)
    return tree(speculation.tree.children[:num_draft_tokens])


def chain_source(
    speculation: Speculation,
    acceptance: StatedAcceptance,
    num_draft_tokens: int,
    rng: np.random.Generator,
    *,
    greedy: bool = False,
) -> ChainSource:
    """The source of chains with the given acceptance, for a target at temperature 0 if ``greedy``."""
    how = {"sampled": speculation.sampled, "greedy": greedy}
    if acceptance.varies:
        return VaryingAcceptance(acceptance, num_draft_tokens, rng, **how)
    return PositionAcceptance(
        acceptance.conditional(num_draft_tokens),
        acceptance.vocabulary,
        rng,
        acceptance.concentration,
        **how,
    )


def tree_source(speculation: Speculation, num_levels: int, rng: np.random.Generator) -> TreeAcceptance:
    """The source of trees whose first candidates have the given acceptance.

    Raises:
        ValueError: the scenario drafts chains.
    """
    acceptance, stated = speculation.acceptance, speculation.tree
    if stated is None or not isinstance(acceptance, StatedAcceptance):
        raise ValueError("this scenario drafts chains")
    return TreeAcceptance(
        acceptance.conditional(num_levels),
        draft_shape(speculation, num_levels),
        siblings=stated.siblings,
        greedy=speculation.temperature == 0,
        vocabulary=acceptance.vocabulary,
        rng=rng,
        concentration=acceptance.concentration,
    )
