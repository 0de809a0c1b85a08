"""Verifiers that are wrong in one way each: the negative controls of the proof that `verify_chain` is lossless.

A test that has never rejected a wrong verifier proves nothing about a right one. Each mutant repeats the steps of
`verify_chain` but for one mistake that has been made in a public engine or paper listing. Knows nothing of how it is
found out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from specsim.verification.arrays import ChainVerifier, Emitted, Float64s, Floats, Int64s, Ints
from specsim.verification.chain import (
    assemble,
    draw_final,
    leading_accepted,
    passing,
    residual_or_bonus,
    uniforms_for,
)
from specsim.verification.validation import check_chain, check_randomness

_Steps = Callable[[Ints, Floats, Floats, Ints, Float64s, Float64s], Emitted]


def _as_verifier(steps: _Steps) -> ChainVerifier:
    """Give the bare steps (draft, q, p, num_draft, accept uniforms, final uniforms) the signature of verify_chain."""

    @wraps(steps)
    def verify(
        draft: Ints,
        q: Floats,
        p: Floats,
        num_draft: Ints,
        *,
        rng: np.random.Generator | None = None,
        accept_uniforms: Floats | None = None,
        final_uniforms: Floats | None = None,
        validate: bool = True,
    ) -> Emitted:
        check_randomness(rng, accept_uniforms, final_uniforms)
        if validate:
            check_chain(draft, q, p, num_draft, accept_uniforms, final_uniforms)
        accept, final = uniforms_for(draft, rng, accept_uniforms, final_uniforms)
        return steps(draft, q, p, num_draft, accept, final)

    return verify


@_as_verifier
def resample_from_target(
    draft: Ints, q: Floats, p: Floats, num_draft: Ints, accept: Float64s, final: Float64s
) -> Emitted:
    """After a rejection it draws from p, not from the residual: tokens the drafter underrates stay underrated."""
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept))
    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final, _target))


def _target(q: Floats, p: Floats, num_draft: Ints, accepted: Int64s) -> Float64s:
    return p[np.arange(len(p)), accepted].astype(np.float64, copy=False)


@_as_verifier
def absolute_difference(
    draft: Ints, q: Floats, p: Floats, num_draft: Ints, accept: Float64s, final: Float64s
) -> Emitted:
    """Its residual is |p - q|: a token that was rejected because q overrates it can come right back."""
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept))
    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final, _absolute_difference))


def _absolute_difference(q: Floats, p: Floats, num_draft: Ints, accepted: Int64s) -> Float64s:
    weights = _target(q, p, num_draft, accepted)
    rejected = np.flatnonzero(accepted < num_draft)
    weights[rejected] = np.abs(weights[rejected] - q[rejected, accepted[rejected]])
    return weights


@_as_verifier
def no_clamp(draft: Ints, q: Floats, p: Floats, num_draft: Ints, accept: Float64s, final: Float64s) -> Emitted:
    """Its residual is p - q with the negative part left in: the cumulative sum no longer rises and ends at zero."""
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept))
    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final, _signed_difference))


def _signed_difference(q: Floats, p: Floats, num_draft: Ints, accepted: Int64s) -> Float64s:
    weights = _target(q, p, num_draft, accepted)
    rejected = np.flatnonzero(accepted < num_draft)
    weights[rejected] -= q[rejected, accepted[rejected]]
    return weights


@_as_verifier
def one_uniform_for_all_positions(
    draft: Ints, q: Floats, p: Floats, num_draft: Ints, accept: Float64s, final: Float64s
) -> Emitted:
    """It tests every position with the first one's uniform: who passes once is likely to pass again."""
    shared = np.repeat(accept[:, :1], accept.shape[1], axis=1)
    accepted = leading_accepted(passing(draft, q, p, num_draft, shared))
    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final, residual_or_bonus))


@_as_verifier
def counting_after_rejection(
    draft: Ints, q: Floats, p: Floats, num_draft: Ints, accept: Float64s, final: Float64s
) -> Emitted:
    """It counts every position that passes, also those behind a rejection, and so keeps a rejected draft."""
    accepted = passing(draft, q, p, num_draft, accept).sum(axis=1, dtype=np.int64)
    return assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final, residual_or_bonus))


@_as_verifier
def missing_bonus(draft: Ints, q: Floats, p: Floats, num_draft: Ints, accept: Float64s, final: Float64s) -> Emitted:
    """It adds no bonus token when every draft survives: the law stays right and only the speed is lost.

    A row without drafts still gets its token, as otherwise it would never advance.
    """
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept))
    out, num_out = assemble(draft, accepted, draw_final(q, p, num_draft, accepted, final, residual_or_bonus))
    all_survive = np.flatnonzero((accepted == num_draft) & (num_draft > 0))
    out[all_survive, accepted[all_survive]] = -1
    num_out[all_survive] -= 1
    return out, num_out


LAW_BREAKERS: tuple[tuple[str, ChainVerifier], ...] = (
    ("resample from the target", resample_from_target),
    ("residual |p - q|", absolute_difference),
    ("residual without a clamp", no_clamp),
    ("one uniform for all positions", one_uniform_for_all_positions),
    ("counting after a rejection", counting_after_rejection),
)
