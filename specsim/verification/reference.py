"""The verifiers once more, as scalar loops that can be checked against the papers by eye.

Slow on purpose: tests and `prove` hold the fast ones against these, on the same uniforms. Knows nothing of the fast
ones, and checks no inputs. The sums run in the same order, so results are equal and not merely close.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim.verification.arrays import Emitted, Float64s, Floats, Ints


def chain_by_loops(
    draft: Ints, q: Floats, p: Floats, num_draft: Ints, *, accept_uniforms: Float64s, final_uniforms: Float64s
) -> Emitted:
    """What `verify_chain` must return; arguments as there (Chen et al. 2023, arXiv:2302.01318, algorithm 2)."""
    return _padded(
        [
            _one_chain(draft[b], q[b], p[b], int(num_draft[b]), accept_uniforms[b], float(final_uniforms[b]))
            for b in range(len(draft))
        ],
        width=draft.shape[1] + 1,
    )


def greedy_by_loops(draft: Ints, target_argmax: Ints, num_draft: Ints) -> Emitted:
    """What `verify_greedy` must return; arguments as there."""
    return _padded(
        [_one_greedy(draft[b], target_argmax[b], int(num_draft[b])) for b in range(len(draft))],
        width=draft.shape[1] + 1,
    )


def _one_chain(
    draft: Ints, q: Floats, p: Floats, num_draft: int, accept_uniforms: Float64s, final_uniform: float
) -> list[int]:
    emitted: list[int] = []
    for i in range(num_draft):
        x = int(draft[i])
        if not float(accept_uniforms[i]) * float(q[i, x]) < float(p[i, x]):
            residual = [max(0.0, float(p_x) - float(q_x)) for p_x, q_x in zip(p[i], q[i], strict=True)]
            if not any(residual):
                residual = [float(p_x) for p_x in p[i]]
            return [*emitted, _draw(residual, final_uniform)]
        emitted.append(x)
    return [*emitted, _draw([float(p_x) for p_x in p[num_draft]], final_uniform)]


def _draw(weights: Sequence[float], uniform: float) -> int:
    total = 0.0
    for weight in weights:
        total += weight
    cumulative = 0.0
    for x, weight in enumerate(weights):
        cumulative += weight
        if cumulative > uniform * total:
            return x
    raise ValueError(f"weights {weights} leave nothing to draw")


def _one_greedy(draft: Ints, target_argmax: Ints, num_draft: int) -> list[int]:
    emitted: list[int] = []
    for i in range(num_draft):
        if draft[i] != target_argmax[i]:
            return [*emitted, int(target_argmax[i])]
        emitted.append(int(draft[i]))
    return [*emitted, int(target_argmax[num_draft])]


def _padded(emitted: Sequence[list[int]], width: int) -> Emitted:
    out = np.full((len(emitted), width), -1, dtype=np.int64)
    for b, tokens in enumerate(emitted):
        out[b, : len(tokens)] = tokens
    return out, np.array([len(tokens) for tokens in emitted], dtype=np.int64)
