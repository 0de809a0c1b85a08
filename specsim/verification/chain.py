"""Lossless verification of drafted chains, token by token, in plain NumPy.

The rule is that of Leviathan et al. 2023 (arXiv:2211.17192, algorithm 1) and Chen et al. 2023 (arXiv:2302.01318,
algorithm 2). Why it is exact: a token x comes out with probability min(p, q)(x) + (1 - α)·(p - q)₊(x) / Σ(p - q)₊,
where α = Σ min(p, q); since 1 - α and Σ(p - q)₊ both equal the total variation distance, that is p(x).

Knows nothing of where drafts and distributions come from, of time, or of what a request is: arrays in, arrays out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.verification.arrays import Bools, Emitted, Float64s, Floats, Int64s, Ints
from specsim.verification.validation import check_chain, check_randomness

# Rows of p and q are turned into cumulative sums this many entries at a time (half a megabyte), so that a large
# vocabulary is worked on in cache.
_ENTRIES_AT_A_TIME = 1 << 16


def verify_chain(
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
    """Accept a prefix of each draft and add one token, so that the output is distributed as the target's own.

    Position i of row b survives iff u·q(x) < p(x), strictly. At the first rejection the recovered token is drawn from
    max(0, p - q), or from p where that has no mass; if all drafts survive, the bonus token is drawn from p at position
    num_draft[b]. A draw takes the first token whose cumulative mass exceeds u times the total, summed in float64.

    With the uniforms given, a row of the result is a function of the same row of the inputs. Positions from
    num_draft[b] on (in p: beyond num_draft[b]) are padding: they are never read and may hold anything. Inputs are not
    written to and may be read-only broadcast views.

    Args:
        draft: drafted token ids, shape [B, K].
        q: the distributions the drafts were sampled from, shape [B, K, V].
        p: the target's distributions at the drafted positions and the one after, shape [B, K+1, V].
        num_draft: how many drafts each row has, from 0 to K, shape [B].
        rng: draws accept_uniforms and then final_uniforms; give either this or both arrays.
        accept_uniforms: one number in [0, 1) per drafted position, shape [B, K].
        final_uniforms: one number in [0, 1) per row for the recovered or bonus token, shape [B].
        validate: check every value that will be read; switch off only where the caller vouches for them.

    Returns:
        out: the accepted tokens, then the recovered or bonus token, then -1; shape [B, K+1], int64.
        num_out: tokens emitted per row, accepted + 1; shape [B], int64.

    Raises:
        InputError: neither or both sources of randomness are given, or (if validating) the arrays do not fit together,
            num_draft leaves [0, K], a drafted id leaves [0, V) or has q = 0, a row of p or q is not a distribution, or
            a uniform leaves [0, 1). All problems are listed at once.

    Example:
        >>> import numpy as np
        >>> p = np.array([[[0.5, 0.5], [0.9, 0.1]]])
        >>> q = np.array([[[1.0, 0.0]]])
        >>> u, v = np.array([[0.4]]), np.array([0.95])
        >>> verify_chain(np.array([[0]]), q, p, np.array([1]), accept_uniforms=u, final_uniforms=v)
        (array([[0, 1]]), array([2]))
    """
    check_randomness(rng, accept_uniforms, final_uniforms)
    draft, q, p, num_draft = np.asarray(draft), np.asarray(q), np.asarray(p), np.asarray(num_draft)
    if validate:
        check_chain(draft, q, p, num_draft, accept_uniforms, final_uniforms)
    accept, final = uniforms_for(draft, rng, accept_uniforms, final_uniforms)
    accepted = leading_accepted(passing(draft, q, p, num_draft, accept))
    token = draw_final(q, p, num_draft, accepted, final, residual_or_bonus)
    return assemble(draft, accepted, token)


def uniforms_for(
    draft: Ints,
    rng: np.random.Generator | None,
    accept_uniforms: Floats | None,
    final_uniforms: Floats | None,
) -> tuple[Float64s, Float64s]:
    """The accept uniforms [B, K] and final uniforms [B], drawn in this order where a generator is given."""
    if rng is not None:
        return rng.random(draft.shape), rng.random(len(draft))
    return np.asarray(accept_uniforms, np.float64), np.asarray(final_uniforms, np.float64)


def passing(draft: Ints, q: Floats, p: Floats, num_draft: Ints, accept_uniforms: Float64s) -> Bools:
    """Which positions pass their own test u·q(x) < p(x); shape [B, K+1], the last column and padding False."""
    B, K = draft.shape
    real = np.arange(K) < num_draft[:, None]
    b, i = real.nonzero()
    token = draft[real]
    passed = np.zeros((B, K + 1), dtype=np.bool_)
    passed[b, i] = accept_uniforms[real] * q[b, i, token] < p[b, i, token]
    return passed


def leading_accepted(passed: Bools) -> Int64s:
    """How many drafts of each row survive: the length of the leading run of passes, shape [B]."""
    # The last column is False by construction, so argmin finds a first failure in every row.
    accepted: Int64s = passed.argmin(axis=1)
    return accepted


def draw_final(
    q: Floats,
    p: Floats,
    num_draft: Ints,
    accepted: Int64s,
    final_uniforms: Float64s,
    weights_of: Callable[[Floats, Floats, Ints, Int64s], Float64s],
) -> Int64s:
    """The last token of each row, drawn from the weights that weights_of gives for it; shape [B]."""
    B, _, V = p.shape
    token = np.empty(B, dtype=np.int64)
    rows_at_a_time = max(1, _ENTRIES_AT_A_TIME // V)
    for first in range(0, B, rows_at_a_time):
        rows = slice(first, first + rows_at_a_time)
        weights = weights_of(q[rows], p[rows], num_draft[rows], accepted[rows])
        token[rows] = draw(weights, final_uniforms[rows])
    return token


def residual_or_bonus(q: Floats, p: Floats, num_draft: Ints, accepted: Int64s) -> Float64s:
    """Unnormalised weights of the last token: max(0, p - q) after a rejection if it has mass, else p; shape [B, V]."""
    weights = p[np.arange(len(p)), accepted].astype(np.float64, copy=False)
    rejected = np.flatnonzero(accepted < num_draft)
    residual = weights[rejected] - q[rejected, accepted[rejected]]
    np.maximum(residual, 0.0, out=residual)
    has_mass = residual.any(axis=1)
    weights[rejected[has_mass]] = residual[has_mass]
    return weights


def draw(weights: Float64s, uniforms: Float64s) -> Int64s:
    """The first index of each row whose cumulative weight exceeds u times the total, so never one of weight zero."""
    cumulative = weights.cumsum(axis=1)
    total = cumulative[:, -1]
    # u·total can round up to the total where the total is subnormal; stay below it, or nothing would exceed it.
    threshold = np.minimum(uniforms * total, np.nextafter(total, 0.0))
    token: Int64s = (cumulative > threshold[:, None]).argmax(axis=1)
    return token


def assemble(draft: Ints, accepted: Int64s, token: Ints) -> Emitted:
    """The first accepted drafts of each row, then its token, then -1; and how many tokens that makes."""
    B, K = draft.shape
    out = np.full((B, K + 1), -1, dtype=np.int64)
    np.copyto(out[:, :K], draft, where=np.arange(K) < accepted[:, None], casting="same_kind")
    out[np.arange(B), accepted] = token
    return out, accepted + 1
