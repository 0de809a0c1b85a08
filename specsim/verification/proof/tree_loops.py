"""Tree verification once more, as a scalar loop that can be checked against the papers by eye.

Slow on purpose: tests and proofs hold the fast one against this, on the same uniforms. Knows nothing of the fast one,
and checks no inputs. The sums run in the same order, so results are equal and not merely close.
"""

from __future__ import annotations

import math

import numpy as np

from specsim.verification.arrays import Float64s, Floats, Int64s, Ints
from specsim.verification.proof.loops import drawn, running_sums
from specsim.verification.trees.forest import Table


def tree_by_loops(
    parents: Ints,
    token: Ints,
    num_nodes: Ints,
    q_row: Ints | None,
    p_row: Ints,
    q: Floats | None,
    p: Table,
    *,
    siblings: str,
    accept_uniforms: Float64s,
    final_uniforms: Float64s,
) -> tuple[Int64s, Int64s, Int64s]:
    """What `verify_tree` must return; arguments as there (SpecInfer, arXiv:2305.09781; Sequoia, arXiv:2402.12374)."""
    paths, emitted, depth = [], [], 0
    for b in range(len(token)):
        n = int(num_nodes[b])
        parent = [int(i) for i in parents[b, :n]]
        rows_of_p = [[float(x) for x in row] for row in p[p_row[b, : n + 1]]]
        rows_of_q = [] if q is None or q_row is None else [[float(x) for x in q[row]] for row in q_row[b, :n]]
        tokens = [int(x) for x in token[b, :n]]
        path, weights = _walk(parent, tokens, rows_of_q, rows_of_p, accept_uniforms[b], siblings)
        paths.append(path)
        emitted.append([*(tokens[i] for i in path), drawn(weights, float(final_uniforms[b]))])
        depth = max([depth, *(_depth(parent, i) for i in range(n))])
    num_out = np.array([len(tokens) for tokens in emitted], dtype=np.int64)
    return _padded(emitted, depth + 1), num_out, _padded(paths, depth)


def _walk(
    parent: list[int],
    token: list[int],
    q: list[list[float]],
    p: list[list[float]],
    u: Float64s,
    siblings: str,
) -> tuple[list[int], list[float]]:
    """The accepted nodes, and the weights of the last token."""
    path: list[int] = []
    at, r, s = -1, p[0], 1.0
    tested: list[int] = []
    for i, x in enumerate(token):  # as parents come first, one pass meets all children of wherever the walk gets to
        if parent[i] != at:
            continue
        proposal, m = _proposal(x, q[i] if q else [], [token[j] for j in tested], len(r), siblings)
        if float(u[i]) * (s * proposal[x]) < m * r[x]:
            path.append(i)
            at, r, s, tested = i, p[i + 1], 1.0, []
            continue
        tested.append(i)
        power = 2.0 ** (max(math.frexp(s)[1], -1000) - 1)
        left = [max(0.0, m / power * r_y - s / power * q_y) for r_y, q_y in zip(r, proposal, strict=True)]
        if siblings == "one_hot":
            left = [0.0 if y == x else r_y for y, r_y in enumerate(r)]
        if any(left):
            r, s = left, running_sums(left)[-1]
    return path, r


def _proposal(x: int, q: list[float], earlier: list[int], V: int, siblings: str) -> tuple[list[float], float]:
    """What x was drawn from, unnormalised, and its mass."""
    if siblings == "one_hot":
        return [float(y == x) for y in range(V)], 1.0
    if siblings == "with_replacement" or not earlier:
        return q, 1.0
    rest = [0.0 if y in earlier else q_y for y, q_y in enumerate(q)]
    return rest, running_sums(rest)[-1]


def _depth(parent: list[int], i: int) -> int:
    return 1 if parent[i] < 0 else 1 + _depth(parent, parent[i])


def _padded(rows: list[list[int]], width: int) -> Int64s:
    padded = np.full((len(rows), width), -1, dtype=np.int64)
    for b, row in enumerate(rows):
        padded[b, : len(row)] = row
    return padded
