"""Tree verification on paper: the rule in fractions, as the cells of uniforms that each have one outcome.

Written from the papers (SpecInfer, arXiv:2305.09781; Sequoia, arXiv:2402.12374) with everything normalised, and sharing
nothing with the verifier. Knows nothing of floats and arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TypeAlias

from specsim.verification.trees.forest import Siblings

Interval: TypeAlias = tuple[Fraction, Fraction]
Law: TypeAlias = tuple[Fraction, ...]


@dataclass(frozen=True)
class Cell:
    """A box of uniforms on which the outcome is the same.

    Attributes:
        accept: the interval [low, high) of the uniform of each node that is tested; others are not looked at.
        final: that of the final uniform.
        path: the accepted nodes.
        last: the token drawn in the end.
    """

    accept: Mapping[int, Interval]
    final: Interval
    path: tuple[int, ...]
    last: int

    @property
    def volume(self) -> Fraction:
        """The probability of the cell."""
        return prod((high - low for low, high in (*self.accept.values(), self.final)), start=Fraction(1))


@dataclass(frozen=True, eq=False)  # known by identity, since fractions take long to hash
class Models:
    """A target and a drafter that see one token back: a distribution per last token, and one for the start."""

    target: tuple[Law, ...]
    drafter: tuple[Law, ...]

    @property
    def V(self) -> int:  # noqa: N802 - the size of the vocabulary has this name everywhere
        """The size of the vocabulary, and the context of the first token."""
        return len(self.target) - 1

    def context(self, token: Sequence[int], node: int) -> int:
        """The context after a node of a tree with these tokens; node -1 is the root."""
        return self.V if node < 0 else token[node]


def models_in(denominator: int, target: Sequence[Sequence[int]], drafter: Sequence[Sequence[int]]) -> Models:
    """Models from whole numbers over a denominator."""
    laws = [tuple(tuple(Fraction(n, denominator) for n in row) for row in table) for table in (target, drafter)]
    return Models(*laws)


def proposal_law(law: Law, earlier: Sequence[int], siblings: Siblings) -> Law:
    """The distribution of the next sibling; one-hot siblings, which may be any, count as drawn from nothing."""
    if siblings == "with_replacement":
        return law
    return _normalised([Fraction(0) if x in earlier else q for x, q in enumerate(law)])


def draws(models: Models, parents: Sequence[int], siblings: Siblings) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """All tokens that a tree of this shape can have, with their probability; for one-hot trees that is 1."""
    partial: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    for i, parent in enumerate(parents):
        partial = [
            ((*token, x), chance * q)
            for token, chance in partial
            for x, q in enumerate(_law_of_node(models, parents, token, i, parent, siblings))
            if q > 0
        ]
    yield from partial


def _law_of_node(
    models: Models, parents: Sequence[int], token: Sequence[int], i: int, parent: int, siblings: Siblings
) -> Law:
    earlier = [token[j] for j in range(i) if parents[j] == parent]
    if siblings == "one_hot":
        return tuple(Fraction(x not in earlier) for x in range(models.V))
    return proposal_law(models.drafter[models.context(token, parent)], earlier, siblings)


def cells(models: Models, parents: Sequence[int], token: Sequence[int], siblings: Siblings) -> Iterator[Cell]:
    """The cells for one tree; their volumes sum to 1."""
    yield from _cells_from(-1, models, parents, token, siblings, {}, ())


def _cells_from(
    node: int,
    models: Models,
    parents: Sequence[int],
    token: Sequence[int],
    siblings: Siblings,
    accept: Mapping[int, Interval],
    path: tuple[int, ...],
) -> Iterator[Cell]:
    context = models.context(token, node)
    left = models.target[context]
    earlier: list[int] = []
    for i in (i for i, parent in enumerate(parents) if parent == node):
        x = token[i]
        drawn_from = tuple(Fraction(y == x) for y in range(models.V))
        if siblings != "one_hot":
            drawn_from = proposal_law(models.drafter[context], earlier, siblings)
        threshold = min(Fraction(1), left[x] / drawn_from[x])
        if threshold > 0:
            passed = {**accept, i: (Fraction(0), threshold)}
            yield from _cells_from(i, models, parents, token, siblings, passed, (*path, i))
        if threshold == 1:
            return
        accept = {**accept, i: (threshold, Fraction(1))}
        left = _normalised([max(Fraction(0), r - q) for r, q in zip(left, drawn_from, strict=True)])
        earlier.append(x)
    below = Fraction(0)
    for x, r in enumerate(left):
        if r > 0:
            yield Cell(accept, (below, below + r), path, x)
        below += r


def _normalised(weights: Sequence[Fraction]) -> Law:
    total = sum(weights)
    return tuple(weight / total for weight in weights)
