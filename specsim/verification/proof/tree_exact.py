"""The exact law of a tree verifier's output, in fractions: a proof without a sample, a tolerance or a seed.

Two things are shown, with all draws of the siblings enumerated. The verifier has the cells of the rule on paper: in
each corner of each cell it does what the rule does. And the law of what it emits, each cell counted with its volume and
continued by the target to one token more than the tree is deep, is the target's own.

Thresholds that are floats are probed at that float and at the one below, which tells < from ≤. At others, such as 2/3,
no float can lie, and as a product of floats is rounded once the probes keep two floats away. The models are in
sixteenths, from which the verifier's sums and products are exact.

Knows nothing of how a verifier works inside, and cannot see a mistake that only large trees or vocabularies bring.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from specsim.verification.arrays import Float64s
from specsim.verification.proof.tree_rule import Cell, Interval, Models, cells, draws, models_in
from specsim.verification.trees.forest import Siblings, TreeVerifier

# Of each: an overlap of half the mass; a token that the target never says; p = q; a start where much moves.
THREE_TOKENS = models_in(16, [[7, 6, 3], [0, 9, 7], [5, 5, 6], [3, 8, 5]], [[4, 8, 4], [6, 4, 6], [5, 5, 6], [8, 4, 4]])
# The start's residual keeps three tokens after one rejection and two or three after two.
FOUR_TOKENS = models_in(
    16,
    [[7, 5, 1, 3], [0, 6, 5, 5], [1, 5, 3, 7], [5, 3, 7, 1], [1, 5, 4, 6]],
    [[4, 4, 4, 4], [2, 8, 2, 4], [3, 5, 7, 1], [5, 3, 7, 1], [10, 2, 2, 2]],
)
CASES: tuple[tuple[Models, tuple[int, ...]], ...] = (
    (THREE_TOKENS, ()),
    (THREE_TOKENS, (-1, 0)),
    (THREE_TOKENS, (-1, -1, -1)),
    (FOUR_TOKENS, (-1, -1, -1)),
    (THREE_TOKENS, (-1, -1, 0, 0, 1)),
    (FOUR_TOKENS, (-1, -1, 0, 0, 1)),
)
SMALL_CASES = CASES[:-1]  # a tenth of the probes

_ONE = Fraction(1)


@dataclass(frozen=True)
class TreeErrors:
    """What was found wrong with a tree verifier.

    Attributes:
        probes: corners of cells in which it does not do what the rule does.
        probabilities: sequences of tokens whose probability is not the target's, if the verifier did everywhere in a
            cell what it does in the cell's first corner.
    """

    probes: int
    probabilities: int


class _Probe(NamedTuple):
    """One corner of one cell."""

    token: tuple[int, ...]
    cell: Cell
    accept: tuple[float, ...]
    final: float
    weight: Fraction  # the probability of draw and cell in the corner that stands for the cell, else 0


def exact_tree_errors(
    verify: TreeVerifier, siblings: Siblings, cases: Sequence[tuple[Models, tuple[int, ...]]] = CASES
) -> TreeErrors:
    """Wrong outcomes and wrong probabilities over all cases; a one-hot tree must be right for each choice of tokens.

    Args:
        verify: the verifier to prove right or wrong.
        siblings: the scheme to prove it under.
        cases: models, with the parents of a tree drawn from them.
    """
    wrong_probes = wrong_probabilities = 0
    for models, parents in cases:
        probes = _probes(models, parents, siblings)
        emitted, wrong = _run(verify, siblings, models, parents, probes)
        wrong_probes += wrong
        for law in _laws(probes, emitted, siblings).values():
            wrong_probabilities += _wrong_probabilities(models, law, _depth(parents) + 1)
    return TreeErrors(wrong_probes, wrong_probabilities)


@cache
def _probes(models: Models, parents: tuple[int, ...], siblings: Siblings) -> tuple[_Probe, ...]:
    return tuple(
        probe
        for token, chance in draws(models, parents, siblings)
        for cell in cells(models, parents, token, siblings)
        for probe in _corners(token, cell, chance, len(parents))
    )


def _corners(token: tuple[int, ...], cell: Cell, chance: Fraction, num_nodes: int) -> Iterator[_Probe]:
    """All corners of a cell; uniforms that are not looked at lie at one end of [0, 1) or at the other."""
    tested = list(cell.accept)
    ends = [_ends(interval) for interval in (*cell.accept.values(), cell.final)]
    for n, corner in enumerate(product(*ends)):
        accept = [0.0 if n % 2 == 0 else math.nextafter(1.0, 0.0)] * num_nodes
        for i, u in zip(tested, corner, strict=False):
            accept[i] = u
        yield _Probe(token, cell, tuple(accept), corner[-1], chance * cell.volume if n == 0 else Fraction(0))


def _ends(interval: Interval) -> tuple[float, float]:
    """The first and the last float of [low, high), two floats further in where the bound itself is not a float."""
    low, high = interval
    first, last = float(low), math.nextafter(float(high), 0.0)
    if Fraction(first) != low:
        first = math.nextafter(math.nextafter(first, 1.0), 1.0)
    if Fraction(float(high)) != high:
        last = math.nextafter(last, 0.0)
    return first, last


def _run(
    verify: TreeVerifier, siblings: Siblings, models: Models, parents: Sequence[int], probes: Sequence[_Probe]
) -> tuple[list[tuple[int, ...]], int]:
    """What the verifier emits in each corner, and in how many it is not what the rule says."""
    B, N = len(probes), len(parents)
    token = np.array([probe.token for probe in probes], dtype=np.int64).reshape(B, N)
    root = np.full((B, 1), models.V)
    context = np.concatenate([root, token], axis=1)
    one_hot = siblings == "one_hot"
    out, num_out, nodes = verify(
        np.tile(np.array(parents, dtype=np.int64), (B, 1)),
        token,
        np.full(B, N),
        None if one_hot else context[:, np.array(parents, dtype=np.int64) + 1],
        context,
        None if one_hot else _table(models.drafter),
        _table(models.target),
        siblings=siblings,
        accept_uniforms=np.array([probe.accept for probe in probes]).reshape(B, N),
        final_uniforms=np.array([probe.final for probe in probes]),
        validate=False,
    )
    emitted = [tuple(row[:length]) for row, length in zip(out.tolist(), num_out.tolist(), strict=True)]
    paths = [tuple(i for i in row if i >= 0) for row in nodes.tolist()]
    wrong = sum(
        path != probe.cell.path or tokens != (*(probe.token[i] for i in probe.cell.path), probe.cell.last)
        for probe, tokens, path in zip(probes, emitted, paths, strict=True)
    )
    return emitted, wrong


def _table(laws: Sequence[Sequence[Fraction]]) -> Float64s:
    return np.array([[float(chance) for chance in law] for law in laws])


def _laws(
    probes: Sequence[_Probe], emitted: Sequence[tuple[int, ...]], siblings: Siblings
) -> Mapping[Any, Mapping[tuple[int, ...], Fraction]]:
    """The probability of each sequence that was emitted: over all draws, or of each choice of one-hot tokens."""
    laws: dict[Any, dict[tuple[int, ...], Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for probe, tokens in zip(probes, emitted, strict=True):
        if probe.weight:
            laws[probe.token if siblings == "one_hot" else None][tokens] += probe.weight
    return laws


def _wrong_probabilities(models: Models, law: Mapping[tuple[int, ...], Fraction], length: int) -> int:
    """How many sequences of this length are not as probable as the target makes them, once it has continued them."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for tokens, chance in law.items():
        for longer, more in _continued(models, tokens, length):
            found[longer] += chance * more
    due = dict(_continued(models, (), length))
    return sum(found.get(tokens, 0) != due.get(tokens, 0) for tokens in {*found, *due})


@cache
def _continued(models: Models, tokens: tuple[int, ...], length: int) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    """All continuations to this length, with the probability that the target gives them."""
    if len(tokens) >= length:
        return ((tokens, _ONE),)
    return tuple(
        (longer, p * chance)
        for x, p in enumerate(models.target[tokens[-1] if tokens else models.V])
        for longer, chance in _continued(models, (*tokens, x), length)
    )


def _depth(parents: Sequence[int]) -> int:
    """Nodes on the longest path."""
    depth = [0]
    for parent in parents:
        depth.append(depth[parent + 1] + 1)
    return max(depth)
