"""What speculation yields on paper: constant acceptance, decode only, a device that either streams or computes.

Knows nothing of prefill, attention, scheduling, host time or outputs that end: the simulator is compared with these
formulas where they apply, and used where they do not. Leviathan et al., "Fast inference from transformers via
speculative decoding" (arXiv 2211.17192), derive the expected tokens and the speedup at batch 1; the ideal device is the
roofline of Williams, Waterman and Patterson (CACM 2009).

Throughout, alpha is the probability that a draft token is accepted given that those before it were, gamma the number
of draft tokens per verify, and draft_cost the time of one draft pass divided by that of a one-token target pass. The
last is taken as constant in the batch, which flatters large drafters at large batches. Results are float64.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats


def expected_tokens(alpha: ArrayLike, gamma: ArrayLike) -> Floats:
    """Mean tokens per verify, (1 − α^(γ+1)) / (1 − α), with the recovered or bonus token (arXiv 2211.17192, eq. 1).

    Args:
        alpha: conditional acceptance in [0, 1]; broadcast against gamma.
        gamma: draft tokens per verify, whole and not negative.

    Returns:
        Tokens per verify in the broadcast shape; exactly γ+1 at α = 1 and exactly 1 at α = 0.
    """
    alpha, gamma = np.asarray(alpha, dtype=np.float64), np.asarray(gamma, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        # 1 − α^(γ+1) loses every digit near α = 1; expm1 and log1p keep them.
        geometric = -np.expm1((gamma + 1) * np.log1p(alpha - 1)) / (1 - alpha)
    return np.where(alpha == 1, gamma + 1, geometric)


def expected_tokens_of(conditional: ArrayLike) -> Floats:
    """Mean tokens per verify of an acceptance profile [..., γ] → [...]: 1 + Σ of its cumulative products.

    Args:
        conditional: probability that position i is accepted given that those before it were [..., γ].
    """
    return np.asarray(1 + np.cumprod(np.asarray(conditional, dtype=np.float64), axis=-1).sum(axis=-1))


def speedup(
    expected_tokens: ArrayLike, gamma: ArrayLike, draft_cost: ArrayLike, verify_cost: ArrayLike = 1.0
) -> Floats:
    """Output tokens/s with speculation over without at equal concurrency, E / (γ·c + v), in the broadcast shape.

    At v = 1 this is theorem 3.8 of arXiv 2211.17192.

    Args:
        expected_tokens: tokens per verify.
        gamma: draft passes per verify.
        draft_cost: time of one draft pass [one-token target passes].
        verify_cost: time of the verifying pass [one-token target passes]; 1 while verifying is free.
    """
    drafting = np.asarray(gamma, dtype=np.float64) * np.asarray(draft_cost, dtype=np.float64)
    return np.asarray(np.asarray(expected_tokens, dtype=np.float64) / (drafting + np.asarray(verify_cost)))


def best_gamma(alpha: float, draft_cost: float, max_gamma: int) -> int:
    """The draft length in 0..max_gamma with the largest speedup while verifying is free; the shortest of equals."""
    gammas = np.arange(max_gamma + 1)
    return int(np.argmax(speedup(expected_tokens(alpha, gammas), gammas, draft_cost)))


def ridge_tokens(peak: float, bandwidth: float, bytes_per_weight: float = 2.0) -> float:
    """Tokens in one pass at which the ideal device turns from streaming weights to computing: the ridge.

    A weight costs bytes_per_weight / bandwidth to read, once per pass, and 2 / peak to use, once per token.

    Args:
        peak: dense peak [FLOP/s].
        bandwidth: memory bandwidth [B/s].
        bytes_per_weight: 2 for BF16, 1 for FP8 [B].
    """
    return peak / bandwidth * bytes_per_weight / 2


def pass_cost(tokens: ArrayLike, ridge_tokens: float) -> Floats:
    """Time of a pass on the ideal device [one-token target passes], in the shape of ``tokens``."""
    return np.maximum(1.0, np.asarray(tokens, dtype=np.float64) / ridge_tokens)


def speedup_at_batch(batch: ArrayLike, ridge_tokens: float, alpha: float, gamma: int, draft_cost: float) -> Floats:
    """Speedup on the ideal device by batch B, any shape: E·t(B) / (γ·c + t(B·(γ+1))) with t = ``pass_cost``."""
    batch = np.asarray(batch, dtype=np.float64)
    verify = pass_cost(batch * (gamma + 1), ridge_tokens)
    return speedup(expected_tokens(alpha, gamma) * pass_cost(batch, ridge_tokens), gamma, draft_cost, verify)


def free_verify_batch(ridge_tokens: float, gamma: int) -> int:
    """The largest batch whose verifying pass costs no more than a one-token pass: batch·(γ+1) ≤ ridge [requests].

    Speculation goes on *paying* well past it; see ``break_even_batch``. Zero when even one request is too many.
    """
    return math.floor(ridge_tokens / (gamma + 1))


def break_even_batch(ridge_tokens: float, alpha: float, gamma: int, draft_cost: float) -> float | None:
    """The batch above which speculation no longer gains output tokens/s on the ideal device.

    Solves E·t(B) = γ·c + t(B·(γ+1)). The speedup is constant while verifying is free, falls from there on, and cannot
    exceed 1 once plain decoding computes too (E ≤ γ+1), so there is at most one solution, at or below the ridge. Even
    full acceptance by a free drafter (α = 1, c = 0) has one: the ridge, where the gain ends in a tie.

    Returns:
        The batch [requests], not rounded; None when speculation gains at no batch (E ≤ 1 + γ·c, such as γ = 0 or α =
        0).
    """
    gain = float(expected_tokens(alpha, gamma)) - gamma * draft_cost
    return None if gain <= 1 else ridge_tokens * gain / (gamma + 1)
