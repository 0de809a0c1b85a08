"""The block rule: the longest part of a draft that passes as a whole is kept, which accepts more than token by token.

Sun et al. 2024, "Block Verification Accelerates Speculative Decoding" (arXiv:2403.10444, algorithm 2). For a draft
x_1..x_γ let w_0 = 1 and w_i = min(1, w_{i-1}·p(x_i)/q(x_i)), p and q being the distributions at position i. With
S_i = Σ_x max(0, w_i·p(x) - q(x)) over those at position i + 1, part i passes with probability

    h_i = S_i / (S_i + 1 - w_i)  for i < γ,   h_γ = w_γ,

each by its own uniform; of the longest part τ that passes, the next token is drawn from max(0, w_τ·p - q), which after
the last draft (where nothing was drafted, q = 0) is the bonus from p.

Why it is exact: P(τ ≥ i | x_1..x_i) = w_i. It holds for γ. If it holds for i + 1, then given x_1..x_i something longer
passes with probability A = Σ_x q(x)·min(1, w_i·p(x)/q(x)) = Σ min(q, w_i·p) = w_i - S_i, so that h_i = S_i/(1 - A), and
P(τ ≥ i | x_1..x_i) = A + (1 - A)·h_i = w_i. Token y follows x_1..x_i with the mass min(q, w_i·p)(y), where it was
drafted and kept, plus (1 - A)·h_i·max(0, w_i·p - q)(y)/S_i, where it was drawn: together w_i·p(y), as it must be.

Unlike the token rule this looks beyond its stopping point: all uniforms of a row, and all of its drafts, decide where
it stops. What was looked at must not be used again for the same request: key draft and accept uniforms by where the
round starts and the position, not by the position alone.

Pure steps on drafts and uniforms; checks no inputs.
"""

from __future__ import annotations

import numpy as np

from specsim.verification.arrays import Bools, Float64s, Int64s, Outcome
from specsim.verification.drafts import Drafts
from specsim.verification.draws import parts
from specsim.verification.summation import mass
from specsim.verification.token_rule import last_token, last_weights


def block_rule(drafts: Drafts, accept: Float64s, final: Float64s) -> Outcome:
    """Drafts of each chain that survive and the next token, int64 [B] each, by uniforms in [0, 1) [B, K] and [B]."""
    weights = prefix_weights(drafts)
    accepted = longest_passing(drafts, weights, accept)
    return accepted, last_token(drafts, accepted, weights[np.arange(len(accepted)), accepted], final)


def prefix_weights(drafts: Drafts) -> Float64s:
    """w_0 .. w_γ of each chain, probabilities [B, K+1]; padding is 0.

    Where q(x) = 0 or a number is NaN, w is 0: such a draft, and all that follow, are rejected.
    """
    B, K = drafts.draft.shape
    weights = np.zeros((B, K + 1))
    weights[:, 0] = 1.0
    for i in range(K):
        b = (drafts.num_draft > i).nonzero()[0]
        at, token = np.full(len(b), i), drafts.draft[b, i]
        reach, q = weights[b, i] * drafts.p_of(b, at, token), drafts.q_of(b, at, token)
        weight = ((reach >= q) & (q > 0)).astype(np.float64)
        np.divide(reach, q, out=weight, where=reach < q)
        weights[b, i + 1] = weight
    return weights


def longest_passing(drafts: Drafts, weights: Float64s, accept: Float64s) -> Int64s:
    """Length of the longest part of each chain that passes, or 0, int64 [B]; weights [B, K+1], uniforms [B, K].

    Longer parts are tried first, so a residual is summed only where it decides.
    """
    accepted = np.zeros(len(weights), dtype=np.int64)
    for i in range(drafts.draft.shape[1], 0, -1):
        b = ((accepted == 0) & (drafts.num_draft >= i)).nonzero()[0]
        accepted[b[part_passes(drafts, weights, accept, b, i)]] = i
    return accepted


def part_passes(drafts: Drafts, weights: Float64s, accept: Float64s, b: Int64s, i: int) -> Bools:
    """Whether the first i drafts of chains b pass, bool [len(b)].

    u < w_i at the end of the draft, else u·(S_i + 1 - w_i) < S_i; weights w [B, K+1], accept uniforms u [B, K].
    """
    u, w = accept[b, i - 1], weights[b, i]
    passes: Bools = u < w
    inner = (drafts.num_draft[b] > i).nonzero()[0]
    if len(inner):
        surplus = surplus_mass(drafts, weights, b[inner], i)
        passes[inner] = u[inner] * (surplus + (1.0 - w[inner])) < surplus
    return passes


def surplus_mass(drafts: Drafts, weights: Float64s, b: Int64s, i: int) -> Float64s:
    """S_i = Σ_x max(0, w_i·p(x) - q(x)) at position i of chains b, summed as in `summation` [len(b)]."""
    surplus = np.empty(len(b))
    for part in parts(len(b), drafts.p.shape[-1]):
        at = np.full(len(b[part]), i)
        surplus[part] = mass(scaled_residual(drafts, weights, b[part], at))
    return surplus


def scaled_residual(drafts: Drafts, weights: Float64s, b: Int64s, i: Int64s) -> Float64s:
    """Weights max(0, w_i·p - q) for chains b at positions i [len(b), V]."""
    scaled = drafts.p_rows(b, i)
    scaled *= weights[b, i][:, None]
    return drafts.residual(scaled, b, i)


def block_residual_or_bonus(drafts: Drafts, weights: Float64s, b: Int64s, accepted: Int64s) -> Float64s:
    """Unnormalised weights of the last token of chains b after ``accepted`` drafts [len(b), V].

    After a rejection max(0, w·p - q) if that has mass, else p.
    """
    return last_weights(drafts, b, accepted, weights[b, accepted])
