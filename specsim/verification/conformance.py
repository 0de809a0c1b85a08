"""A test of anybody's chain verifier: is it lossless, as far as a sample of a stated size can tell?

What it can tell. Pearson's chi-square over the 64 sequences of three tokens is, for a verifier whose joint law differs
by δ from the target's law p, noncentral with λ = n·Σ δ²/p. By Cauchy and Schwarz (Σ|δ|)² ≤ Σ δ²/p · Σ p, and the total
variation TV is Σ|δ|/2, so λ ≥ 4·n·TV² however the bias is spread. `detectable_total_variation` is the TV at which that
bound reaches λ = 87, which a test at 1 in 1,000 with 63 degrees of freedom finds in 99 % of all samples: 0.0085 for
300,000 sequences, 0.033 for 20,000. The joint law is at least as far off as the law of any one of its tokens.

Knows nothing of how a verifier works inside.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from specsim.verification.arrays import Bools, ChainVerifier, Emitted, Floats, Ints
from specsim.verification.losslessness import (
    COUNT_STANDARD_ERRORS,
    NUM_TOKENS,
    SEQUENCE_LENGTH,
    decode,
    joint_chi_square,
    joint_chi_square_limit,
    random_markov_pair,
    token_count_error,
)

POWER = 0.99


def assert_lossless(
    verify: ChainVerifier, *, seed: int = 0, num_sequences: int = 300_000, count_tokens: bool = True
) -> None:
    """Raise AssertionError if a verifier with the signature of `verify_chain` is seen not to be lossless.

    It is called as verify(draft, q, p, num_draft, rng=rng, validate=False), with ragged drafts over 4 tokens whose
    padding is poisoned, for three tokens each of many sequences of one random pair of Markov models. A lossless
    verifier fails for one seed in 1,000 by its joint law and for one in 16,000 by its token count. Call it with several
    seeds for several pairs of models: a mistake can be small on one of them.

    Args:
        verify: the verifier.
        seed: decides the models, the drafts and, through rng, the verifier's own luck.
        num_sequences: how many sequences to decode; `detectable_total_variation` says what that can tell. At least
            20,000, or the rarest sequence is expected less than 2.5 times and chi-square no longer holds.
        count_tokens: also hold the mean tokens per verify against that of the token-by-token rule, within 4 standard
            errors. A lossless verifier can accept more, by another rule, or fewer, if it wastes drafts.

    Raises:
        AssertionError: it emits what no verifier can, its joint law is off, or its token count. The message says by
            what statistic, beyond what limit, and what the test can tell.
        ValueError: there are fewer than 20,000 sequences.

    Example:
        >>> from specsim.verification import verify_chain
        >>> assert_lossless(verify_chain, num_sequences=20_000)
    """
    if num_sequences < 20_000:
        raise ValueError(f"num_sequences is {num_sequences}: must be 20000 or more, for chi-square to hold")
    rng = np.random.default_rng(seed)
    pair = random_markov_pair(rng)
    decoded = decode(_structure_checked(verify), pair, num_sequences, rng)
    statistic, limit = joint_chi_square(decoded.tokens, pair.target), joint_chi_square_limit()
    if not statistic <= limit:
        raise AssertionError(
            f"not lossless: the joint law of {SEQUENCE_LENGTH} tokens has a chi-square of {statistic:.1f}, and a"
            f" lossless verifier exceeds {limit:.1f} once in 1,000 seeds. With {num_sequences:,} sequences a total"
            f" variation of {detectable_total_variation(num_sequences):.4f} is found {POWER:.0%} of the time."
        )
    error = token_count_error(decoded.surplus) if count_tokens else 0.0
    if not error <= COUNT_STANDARD_ERRORS:
        raise AssertionError(
            f"not the token rule: the law is right as far as can be seen, but tokens per verify are {error:.1f}"
            f" standard errors from those of the token-by-token rule ({decoded.surplus.mean():+.4f} per verify), and"
            f" the limit is {COUNT_STANDARD_ERRORS:.0f}. Pass count_tokens=False if it follows another lossless rule."
        )


def detectable_total_variation(num_sequences: int, power: float = POWER) -> float:
    """The total variation between joint laws that `assert_lossless` finds with this probability, or more often."""
    from scipy.special import chndtrinc  # here, as a caller who only verifies should not wait for scipy

    degrees = NUM_TOKENS**SEQUENCE_LENGTH - 1
    noncentrality = float(chndtrinc(joint_chi_square_limit(), degrees, 1 - power))
    return sqrt(noncentrality / (4 * num_sequences))


def _structure_checked(verify: ChainVerifier) -> ChainVerifier:
    """The verifier, with what it returns held against what any verifier must return."""

    def checked(
        draft: Ints,
        q: Floats | None,
        p: Floats,
        num_draft: Ints,
        *,
        greedy: Bools | None = None,
        rng: np.random.Generator | None = None,
        accept_uniforms: Floats | None = None,
        final_uniforms: Floats | None = None,
        validate: bool = True,
    ) -> Emitted:
        # a verifier under test need not know greedy rows, and none are asked of it
        options: dict[str, Any] = {} if greedy is None else {"greedy": greedy}
        out, num_out = verify(draft, q, p, num_draft, rng=rng, validate=validate, **options)
        out, num_out = np.asarray(out), np.asarray(num_out)
        B, K = draft.shape
        if out.shape != (B, K + 1) or num_out.shape != (B,):
            raise AssertionError(
                f"returns shapes {out.shape} and {num_out.shape}, where {(B, K + 1)} and {(B,)} are due"
            )
        _nowhere((num_out < 1) | (num_out > num_draft + 1), "num_out is not from 1 to num_draft + 1", out, num_out)
        emitted = np.arange(K + 1) < num_out[:, None]
        outside = emitted & ((out < 0) | (out >= p.shape[2]))
        _nowhere(outside.any(axis=1), "a token emitted is not in the vocabulary", out, num_out)
        _nowhere((~emitted & (out != -1)).any(axis=1), "out is not -1 behind what is emitted", out, num_out)
        return out, num_out

    return checked


def _nowhere(wrong: np.ndarray, what: str, out: Ints, num_out: Ints) -> None:
    if wrong.any():
        b = int(wrong.argmax())
        raise AssertionError(f"{what}: row {b} has num_out {num_out[b]} and out {out[b].tolist()}")
