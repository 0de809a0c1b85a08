"""A test of any chain verifier: is it lossless, as far as a sample of a given size can tell?

What it can tell. Pearson's chi-square over the 64 sequences of three tokens is, for a verifier whose joint law differs
by δ from the target's law p, noncentral with λ = n·Σ δ²/p. By Cauchy and Schwarz (Σ|δ|)² ≤ Σ δ²/p · Σ p, and the total
variation TV is Σ|δ|/2, so λ ≥ 4·n·TV² however the bias is spread. `detectable_total_variation` is the TV at which that
bound reaches λ = 87, which a test at 1 in 1,000 with 63 degrees of freedom finds in 99 % of all samples: 0.0085 for
300,000 sequences, 0.033 for 20,000. The joint law is at least as far off as the law of any one of its tokens.

Knows nothing of how a verifier works inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from math import sqrt
from typing import Any

import numpy as np

from specsim.errors import Problem, raise_if_any
from specsim.verification.arrays import Bools, ChainVerifier, Emitted, Floats, Ints
from specsim.verification.proof.losslessness import (
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
LEAST_SEQUENCES = 20_000


def assert_lossless(
    verify: ChainVerifier, *, seed: int = 1, num_sequences: int = 300_000, count_tokens: bool = True
) -> None:
    """Raise AssertionError if a verifier with the signature of `verify_chain` is seen not to be lossless.

    It is called as verify(draft, q, p, num_draft, rng=rng, validate=False), with ragged drafts over 4 tokens whose
    padding is poisoned, for three tokens each of many sequences of one random pair of Markov models. A lossless
    verifier fails for one seed in 1,000 by its joint law and for one in 16,000 by its token count. Call it with several
    seeds for several pairs of models: a mistake can be small on one of them.

    Args:
        verify: the verifier.
        seed: decides the models, the drafts and, through rng, the verifier's own uniforms.
        num_sequences: how many sequences to decode; `detectable_total_variation` says what that can tell. At least
            20,000, or the rarest sequence is expected less than 2.5 times and chi-square no longer holds.
        count_tokens: also hold the mean tokens per verify against that of the token-by-token rule, within 4 standard
            errors. A lossless verifier can accept more, by another rule, or fewer, if it wastes drafts.

    Raises:
        AssertionError: it emits what no verifier can, its joint law is off, or its token count. The message says by
            what statistic, beyond what limit, and what the test can tell.
        InputError: names every bad argument: a verifier that cannot be called so, fewer than 20,000 sequences, or a
            bad seed.

    Example:
        >>> from specsim.verification import verify_chain
        >>> assert_lossless(verify_chain, num_sequences=20_000)
    """
    raise_if_any(_argument_problems(verify, seed, num_sequences, count_tokens))
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
    """The total variation of joint distributions that `assert_lossless` finds with this probability or more.

    Args:
        num_sequences: to decode, 1 or more.
        power: the probability, between 0 and 1.

    Raises:
        InputError: names what is out of range.
    """
    from scipy.special import chndtrinc  # here, as a caller who only verifies should not wait for scipy

    raise_if_any(_size_problems(num_sequences, power))
    degrees = NUM_TOKENS**SEQUENCE_LENGTH - 1
    noncentrality = float(chndtrinc(joint_chi_square_limit(), degrees, 1 - power))
    return sqrt(noncentrality / (4 * num_sequences))


def _argument_problems(verify: object, seed: object, num_sequences: object, count_tokens: object) -> Iterator[Problem]:
    if not callable(verify):
        remedy = "must be a function with the signature of verify_chain"
        yield Problem("verify", "type", type(verify).__name__, remedy)
    elif not _takes_the_call(verify):
        remedy = "cannot be called as verify(draft, q, p, num_draft, rng=rng, validate=False); give it these arguments"
        yield Problem("verify", "signature", str(signature(verify, follow_wrapped=False)), remedy)
    if not _whole(seed, 0):
        yield Problem("seed", "", repr(seed), "must be a whole number, 0 or more")
    if not _whole(num_sequences, LEAST_SEQUENCES):
        remedy = f"must be a whole number, {LEAST_SEQUENCES} or more, for chi-square to hold"
        yield Problem("num_sequences", "", repr(num_sequences), remedy)
    if not isinstance(count_tokens, bool):
        yield Problem("count_tokens", "", repr(count_tokens), "must be True or False")


def _size_problems(num_sequences: object, power: object) -> Iterator[Problem]:
    if not _whole(num_sequences, 1):
        yield Problem("num_sequences", "", repr(num_sequences), "must be a whole number, 1 or more")
    if not (isinstance(power, float) and 0 < power < 1):
        yield Problem("power", "", repr(power), "must be a probability between 0 and 1, such as 0.99")


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


def _takes_the_call(verify: Callable[..., object]) -> bool:
    try:
        signature(verify, follow_wrapped=False).bind("draft", "q", "p", "num_draft", rng=None, validate=False)
    except TypeError:
        return False
    except ValueError:  # compiled code may not say what it takes
        return True
    return True


def _structure_checked(verify: ChainVerifier) -> ChainVerifier:
    """The verifier, with its results checked against what any verifier must return."""

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
        returned: object = verify(draft, q, p, num_draft, rng=rng, validate=validate, **options)
        if not (isinstance(returned, tuple | list) and len(returned) == 2):
            raise AssertionError(f"returns {type(returned).__name__}, where a pair (out, num_out) is due")
        out, num_out = np.asarray(returned[0]), np.asarray(returned[1])
        if out.dtype.kind not in "iu" or num_out.dtype.kind not in "iu":
            raise AssertionError(f"returns dtypes {out.dtype} and {num_out.dtype}, where integers are due")
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
