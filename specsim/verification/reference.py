"""The verifiers once more, as scalar loops that can be checked against the papers by eye.

Slow on purpose: tests and `prove` hold the fast ones against these, on the same uniforms. Knows nothing of the fast
ones, and checks no inputs. The sums run in the same order, so results are equal and not merely close.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specsim.verification.arrays import Bools, Emitted, Float64s, Floats, Ints

Row = Sequence[float]
_Chain = Callable[[list[int], Sequence[Row], Sequence[Row], Row, float], list[int]]


def chain_by_loops(
    draft: Ints,
    q: Floats | None,
    p: Floats,
    num_draft: Ints,
    *,
    greedy: Bools | None = None,
    accept_uniforms: Float64s,
    final_uniforms: Float64s,
) -> Emitted:
    """What `verify_chain` must return; arguments as there (Chen et al. 2023, arXiv:2302.01318, algorithm 2)."""
    return _by_loops(_one_chain, draft, q, p, num_draft, greedy, accept_uniforms, final_uniforms)


def block_by_loops(
    draft: Ints,
    q: Floats | None,
    p: Floats,
    num_draft: Ints,
    *,
    greedy: Bools | None = None,
    accept_uniforms: Float64s,
    final_uniforms: Float64s,
) -> Emitted:
    """What `verify_block` must return; arguments as there (Sun et al. 2024, arXiv:2403.10444, algorithm 2)."""
    return _by_loops(_one_block, draft, q, p, num_draft, greedy, accept_uniforms, final_uniforms)


def greedy_by_loops(draft: Ints, target_argmax: Ints, num_draft: Ints) -> Emitted:
    """What `verify_greedy` must return; arguments as there."""
    rows = [
        _one_greedy([int(x) for x in draft[b, : num_draft[b]]], [int(x) for x in target_argmax[b]])
        for b in range(len(draft))
    ]
    return _padded(rows, width=draft.shape[1] + 1)


def _by_loops(
    one: _Chain,
    draft: Ints,
    q: Floats | None,
    p: Floats,
    num_draft: Ints,
    greedy: Bools | None,
    accept: Float64s,
    final: Float64s,
) -> Emitted:
    rows = []
    for b in range(len(draft)):
        n = int(num_draft[b])
        x = [int(token) for token in draft[b, :n]]
        p_rows = [[float(p_x) for p_x in p[b, i]] for i in range(n + 1)]
        if greedy is not None and greedy[b]:
            rows.append(_one_greedy(x, [row.index(max(row)) for row in p_rows]))
            continue
        q_rows = [_one_hot(x[i], p.shape[2]) if q is None else [float(q_x) for q_x in q[b, i]] for i in range(n)]
        rows.append(one(x, q_rows, p_rows, [float(u) for u in accept[b]], float(final[b])))
    return _padded(rows, width=draft.shape[1] + 1)


def _one_hot(x: int, V: int) -> Row:
    return [1.0 if y == x else 0.0 for y in range(V)]


def _one_chain(x: list[int], q: Sequence[Row], p: Sequence[Row], u: Row, final: float) -> list[int]:
    for i in range(len(x)):
        if not u[i] * q[i][x[i]] < p[i][x[i]]:
            return [*x[:i], _draw(_surplus(1.0, p[i], q[i]), final, otherwise=p[i])]
    return [*x, _draw(p[len(x)], final)]


def _one_block(x: list[int], q: Sequence[Row], p: Sequence[Row], u: Row, final: float) -> list[int]:
    w, tau, w_tau = 1.0, 0, 1.0
    for i in range(1, len(x) + 1):
        p_x, q_x = p[i - 1][x[i - 1]], q[i - 1][x[i - 1]]
        w = 1.0 if w * p_x >= q_x else w * p_x / q_x
        if i == len(x):
            passes = u[i - 1] < w
        else:
            mass = 0.0
            for surplus in _surplus(w, p[i], q[i]):
                mass += surplus
            passes = u[i - 1] * (mass + (1.0 - w)) < mass
        if passes:
            tau, w_tau = i, w
    if tau == len(x):
        return [*x, _draw(p[tau], final)]
    return [*x[:tau], _draw(_surplus(w_tau, p[tau], q[tau]), final, otherwise=p[tau])]


def _one_greedy(x: list[int], target_argmax: list[int]) -> list[int]:
    for i in range(len(x)):
        if x[i] != target_argmax[i]:
            return [*x[:i], target_argmax[i]]
    return [*x, target_argmax[len(x)]]


def _surplus(w: float, p: Row, q: Row) -> Row:
    return [max(0.0, w * p_x - q_x) for p_x, q_x in zip(p, q, strict=True)]


def _draw(weights: Row, uniform: float, otherwise: Row = ()) -> int:
    total = 0.0
    for weight in weights:
        total += weight
    if total == 0.0:
        return _draw(otherwise, uniform)
    cumulative = 0.0
    for x, weight in enumerate(weights):
        cumulative += weight
        if cumulative > uniform * total:
            return x
    raise ValueError(f"weights {weights} leave nothing to draw")


def _padded(emitted: Sequence[list[int]], width: int) -> Emitted:
    out = np.full((len(emitted), width), -1, dtype=np.int64)
    for b, tokens in enumerate(emitted):
        out[b, : len(tokens)] = tokens
    return out, np.array([len(tokens) for tokens in emitted], dtype=np.int64)
