"""The verifiers once more, as scalar loops that can be checked against the papers by eye.

Slow on purpose: tests and `prove` hold the fast ones against these, on the same uniforms. Knows nothing of the fast
ones, and checks no inputs. The sums run in the same order, so results are equal and not merely close.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from specsim.verification.arrays import Bools, Emitted, Float64s, Floats, Ints
from specsim.verification.summation import BLOCK, LANES, SEQUENTIAL

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
            return [*x[:i], drawn(_surplus(1.0, p[i], q[i]), final, otherwise=p[i])]
    return [*x, drawn(p[len(x)], final)]


def _one_block(x: list[int], q: Sequence[Row], p: Sequence[Row], u: Row, final: float) -> list[int]:
    w, tau, w_tau = 1.0, 0, 1.0
    for i in range(1, len(x) + 1):
        p_x, q_x = p[i - 1][x[i - 1]], q[i - 1][x[i - 1]]
        w = 1.0 if w * p_x >= q_x else w * p_x / q_x
        if i == len(x):
            passes = u[i - 1] < w
        else:
            mass = running_sums(_surplus(w, p[i], q[i]))[-1]
            passes = u[i - 1] * (mass + (1.0 - w)) < mass
        if passes:
            tau, w_tau = i, w
    if tau == len(x):
        return [*x, drawn(p[tau], final)]
    return [*x[:tau], drawn(_surplus(w_tau, p[tau], q[tau]), final, otherwise=p[tau])]


def _one_greedy(x: list[int], target_argmax: list[int]) -> list[int]:
    for i in range(len(x)):
        if x[i] != target_argmax[i]:
            return [*x[:i], target_argmax[i]]
    return [*x, target_argmax[len(x)]]


def _surplus(w: float, p: Row, q: Row) -> Row:
    return [max(0.0, w * p_x - q_x) for p_x, q_x in zip(p, q, strict=True)]


def drawn(weights: Row, uniform: float, otherwise: Row = ()) -> int:
    """The first token whose cumulative weight exceeds u times the total; from other weights if these have no mass."""
    sums = running_sums(weights)
    if sums[-1] == 0.0 and otherwise:
        return drawn(otherwise, uniform)
    threshold = min(uniform * sums[-1], math.nextafter(sums[-1], 0.0))
    found = next(k for k, total in enumerate(sums) if total > threshold)
    if len(weights) <= SEQUENTIAL:
        return found
    running, last = sums[found - 1] if found else 0.0, -1
    for x in range(found * BLOCK, min(len(weights), (found + 1) * BLOCK)):
        running += weights[x]
        if running > threshold:
            return x
        last = x if weights[x] > 0 else last
    return last


def running_sums(weights: Row) -> list[float]:
    """The running sums of tokens, or of blocks of them, in the order that `summation` describes."""
    if len(weights) <= SEQUENTIAL:
        terms = list(weights)
    else:
        padded = [*weights, *[0.0] * (-len(weights) % BLOCK)]
        terms = [_block(padded[start : start + BLOCK]) for start in range(0, len(padded), BLOCK)]
    sums = [0.0]
    for term in terms:
        sums.append(sums[-1] + term)
    return sums[1:]


def _block(weights: Row) -> float:
    lanes = [0.0] * LANES
    for x, weight in enumerate(weights):
        lanes[x % LANES] += weight
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [first + second for first, second in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]


def _padded(emitted: Sequence[list[int]], width: int) -> Emitted:
    out = np.full((len(emitted), width), -1, dtype=np.int64)
    for b, tokens in enumerate(emitted):
        out[b, : len(tokens)] = tokens
    return out, np.array([len(tokens) for tokens in emitted], dtype=np.int64)
