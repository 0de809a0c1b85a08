"""How many drafts a lookup in the text yields: none where nothing matches, few where the match is short.

A lookup sees the text and not the target's next tokens, so what it finds is drawn independently of what is accepted.
"""

from __future__ import annotations

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.inputs.models.drafters import ModelDrafter, NgramLookup


def share_at_least(drafter: ModelDrafter | NgramLookup, num_draft_tokens: int) -> Floats:
    """Share of drafts of at least 1, 2, .. tokens [num_draft_tokens]; models always draft all."""
    shares = np.ones(num_draft_tokens)
    if isinstance(drafter, NgramLookup):
        if drafter.matched_lengths is not None:
            shares = np.zeros(num_draft_tokens)
            listed = drafter.matched_lengths[:num_draft_tokens]
            shares[: len(listed)] = listed
        shares *= drafter.found
    return shares


def drafts_found(wanted: Ints, uniforms: Floats, at_least: Floats) -> Ints:
    """Number of drafts of each request, in the shape of ``wanted``.

    Args:
        wanted: drafts asked for, any shape.
        uniforms: in [0, 1), of the same shape.
        at_least: ``share_at_least`` of the most that can be asked for [K].
    """
    found: Ints = (uniforms[..., None] < at_least).sum(axis=-1)
    return np.minimum(wanted, found)


def length_shares(at_least: Floats) -> Floats:
    """Share of drafts of exactly 0, 1, .. K tokens [K+1] from that of at least 1, .. K [K]."""
    return -np.diff(np.concatenate(([1.0], at_least, [0.0])))


def drafts_of_batches(num_batches: int, batch: int, at_least: Floats, rng: np.random.Generator) -> Ints:
    """Drafts of each request in equally likely batches, int64 [num_batches, batch]; one batch where nothing is random.

    Each request meets every quantile once over the batches, so sums over requests have their exact means to within
    1 / num_batches; only what depends on the combination of requests is sampled.
    """
    longest = len(at_least)
    if np.isin(at_least, (0.0, 1.0)).all():
        return np.full((1, batch), int(at_least.sum()))
    quantiles = (np.arange(num_batches) + 0.5) / num_batches
    uniforms = rng.permuted(np.broadcast_to(quantiles, (batch, num_batches)), axis=1).T
    return drafts_found(np.full(uniforms.shape, longest), uniforms, at_least)
