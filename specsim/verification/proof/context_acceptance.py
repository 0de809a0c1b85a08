"""A statistical test of the token rule: in each context drafts are accepted as often as target and drafter overlap.

The joint law does not see a verifier that rejects too often, and the tokens per round see only the sum over contexts.
Knows nothing of how a verifier works inside.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import ChainVerifier
from specsim.verification.proof.losslessness import (
    COUNT_STANDARD_ERRORS,
    MAX_DRAFT,
    START,
    MarkovPair,
    propose,
)


def context_acceptance_error(
    verify: ChainVerifier, pair: MarkovPair, num_rounds: int, rng: np.random.Generator
) -> float:
    """Largest deviation of the acceptance of drafts from the overlap of their context, in standard errors.

    A draft is tested if all before it were accepted, and its context is the token before it. Given that it is tested
    it passes with Σ min(p, q) of its context, whatever came before: for drafts that were not sampled, with p(x).

    Args:
        verify: the verifier.
        pair: the models; for one-hot drafts with a one-hot drafter.
        num_rounds: rounds to verify, in contexts drawn evenly, with 0 to MAX_DRAFT drafts each.
        rng: draws the contexts, the drafts, and what the verifier draws.
    """
    context, num_draft = rng.integers(0, START + 1, num_rounds), rng.integers(0, MAX_DRAFT + 1, num_rounds)
    draft, q, p = propose(pair, context, num_draft, rng.random((num_rounds, MAX_DRAFT)))
    _, num_out = verify(draft, q, p, num_draft, rng=rng, validate=False)
    accepted = np.asarray(num_out)[:, None] - 1
    position, contexts = np.arange(MAX_DRAFT), np.column_stack([context, draft[:, :-1]])
    tested = position < np.minimum(num_draft[:, None], accepted + 1)
    trials, passed = (
        np.bincount(contexts[which], minlength=START + 1) for which in (tested, tested & (position < accepted))
    )
    overlap = np.minimum(pair.target, pair.drafter).sum(axis=1)
    errors = np.abs(passed - trials * overlap) / np.sqrt(trials * overlap * (1 - overlap))
    return float(errors.max())


def context_acceptance_limit() -> float:
    """The limit for the farthest of all contexts: 4.37 standard errors.

    Bonferroni's correction of 4 standard errors: each of the START + 1 contexts may go beyond it with that part of the
    probability with which one normal number goes beyond 4, so any of them does once in 16,000 runs or less.
    """
    from scipy.special import ndtr, ndtri  # here, as a caller who only verifies should not wait for scipy

    return float(-ndtri(ndtr(-COUNT_STANDARD_ERRORS) / (START + 1)))
