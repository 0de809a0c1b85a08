"""Inputs at the ends of what is allowed, each with its one right result: where public verifiers have failed.

Knows nothing of how a verifier works inside. What it says of one row holds for the token and the block rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from specsim.verification.arrays import ChainVerifier, Floats

LARGEST_UNIFORM = float(np.nextafter(1.0, 0.0))
TINY = 5e-324  # the smallest positive float


class Edge(NamedTuple):
    """One row and the tokens that must be emitted for it.

    Attributes:
        name: what is special about it.
        draft, q, p: the row; q is None if the draft was not sampled.
        accept, final: its uniforms.
        emitted: the right tokens.
    """

    name: str
    draft: list[int]
    q: list[list[float]] | None
    p: list[list[float]]
    accept: list[float]
    final: float
    emitted: list[int]


def edges() -> Iterator[Edge]:
    """All of them."""
    half, quarter = [[0.5, 0.5]], [[0.25, 0.75], [0.0, 1.0]]
    for v in (0.0, 0.5, LARGEST_UNIFORM):
        yield Edge("u = 0, p(x) = 0", [0], half, [[0.0, 1.0], [1.0, 0.0]], [0.0], v, [1])
        yield Edge("u = 0, p(x) = 0, one-hot", [0], None, [[0.0, 1.0], [1.0, 0.0]], [0.0], v, [1])
    yield Edge("u·q = p", [0], half, quarter, [0.5], 0.0, [1])
    yield Edge("u·q just below p", [0], half, quarter, [float(np.nextafter(0.5, 0.0))], 0.0, [0, 1])
    yield Edge("u = p(x), one-hot", [0], None, quarter, [0.25], 0.0, [1])
    yield Edge("u just below p(x), one-hot", [0], None, quarter, [float(np.nextafter(0.25, 0.0))], 0.0, [0, 1])
    yield Edge("p = q", [1, 0], [[0.25, 0.75]] * 2, [[0.25, 0.75]] * 3, [LARGEST_UNIFORM] * 2, 0.5, [1, 0, 1])
    support = [0.0, 0.5, 0.5, 0.0]
    for v, token in ((0.0, 1), (LARGEST_UNIFORM, 2)):
        yield Edge("bonus between empty ends", [], [], [support], [], v, [token])
        yield Edge("recovered between empty ends", [0], [[0.9, 0.05, 0.05, 0.0]], [support] * 2, [0.5], v, [token])
        yield Edge("one-hot residual between empty ends", [0], None, [support] * 2, [0.5], v, [token])
    # Only rows that do not sum to 1 can come to this, by rounding; it is made plain here with rows far from 1.
    for v, token in ((0.0, 1), (LARGEST_UNIFORM, 2)):
        rows = [[0.0, 0.2, 0.4], [1.0, 0.0, 0.0]]
        yield Edge("empty residual", [1], [[0.8, 0.8, 0.8]], rows, [0.9], v, [token])
    for weights, token in (([TINY, 0.0, 0.0], 0), ([0.0, TINY, 0.0], 1), ([0.0, TINY, TINY], 2)):
        yield Edge("a mass too small to divide", [], [], [weights], [], LARGEST_UNIFORM, [token])
    yield Edge("NaN is rejected", [0], half, [[np.nan, 1.0], [1.0, 0.0]], [0.0], 0.5, [-1])


def edge_errors(verify: ChainVerifier) -> int:
    """Number of edges with wrong tokens, including tokens of a large vocabulary that are never drawn."""
    return sum(broken(verify, edge) for edge in edges()) + unreachable_tokens(verify)


def broken(verify: ChainVerifier, edge: Edge) -> bool:
    """Whether the emitted tokens are wrong; -1 stands for any token."""
    p = np.array([edge.p])
    q = None if edge.q is None else np.array([edge.q]).reshape(1, len(edge.draft), p.shape[2])
    with np.errstate(all="ignore"):  # a wrong verifier may do anything
        out, num_out = verify(
            np.array([edge.draft], dtype=np.int64),
            q,
            p,
            np.array([len(edge.draft)]),
            accept_uniforms=np.array([edge.accept], dtype=np.float64),
            final_uniforms=np.array([edge.final]),
            validate=False,
        )
    emitted = out[0, : num_out[0]].tolist()
    return len(emitted) != len(edge.emitted) or any(
        due not in (-1, found) for due, found in zip(edge.emitted, emitted, strict=True)
    )


def unreachable_tokens(verify: ChainVerifier, V: int = 100_000, every: int = 997) -> int:
    """Tokens of a uniform row of V single-precision entries that the middle of their interval does not draw."""
    tokens = np.arange(0, V, every)
    row: Floats = np.full(V, 1 / V, dtype=np.float32)
    out, _ = verify(
        np.zeros((len(tokens), 0), np.int64),
        np.zeros((len(tokens), 0, V), np.float32),
        np.broadcast_to(row, (len(tokens), 1, V)),
        np.zeros(len(tokens), np.int64),
        accept_uniforms=np.zeros((len(tokens), 0)),
        final_uniforms=(tokens + 0.5) / V,
        validate=False,
    )
    return int((out[:, 0] != tokens).sum())
