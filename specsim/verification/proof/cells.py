"""What a rule must do with a draft, as exact fractions: when each part passes, and what the last token is drawn from.

A verifier treats all uniforms between two thresholds alike, so these fractions determine everything observable about
it. Written from the papers and not from the code of the verifiers, which it knows nothing of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple, TypeAlias

Row: TypeAlias = Sequence[Fraction]


class Cells(NamedTuple):
    """How a rule judges one draft of n tokens.

    Attributes:
        passes: uniform i passes below this, for i from 0 to n - 1.
        weights: unnormalised weights of the token that follows when 0, 1, .. n drafts are kept.
        kept: number of drafts kept, given which uniforms pass.
    """

    passes: list[Fraction]
    weights: list[Row]
    kept: Callable[[Sequence[bool]], int]


CellRule: TypeAlias = Callable[[Sequence[int], Sequence[Row], Sequence[Row]], Cells]


def token_cells(draft: Sequence[int], q: Sequence[Row], p: Sequence[Row]) -> Cells:
    """The token rule for a draft judged by rows q (n) and p (n + 1); Chen et al. 2023 (arXiv:2302.01318)."""
    passes = [min(Fraction(1), p_i[x] / q_i[x]) for x, q_i, p_i in zip(draft, q, p, strict=False)]
    weights = [_surplus(Fraction(1), q_i, p_i) for q_i, p_i in zip(q, p, strict=False)]
    return Cells(passes, [*weights, p[len(draft)]], _leading)


def block_cells(draft: Sequence[int], q: Sequence[Row], p: Sequence[Row]) -> Cells:
    """The block rule for a draft judged by rows q (n) and p (n + 1); Sun et al. 2024 (arXiv:2403.10444)."""
    n, w = len(draft), [Fraction(1)]
    for x, q_i, p_i in zip(draft, q, p, strict=False):
        w.append(min(Fraction(1), w[-1] * p_i[x] / q_i[x]))
    passes = []
    for i in range(1, n):
        mass = sum(max(Fraction(0), w[i] * p_x - q_x) for p_x, q_x in zip(p[i], q[i], strict=True))
        # 0/0: nothing is left to draw, and something longer passes for certain
        passes.append(mass / (mass + 1 - w[i]) if mass else Fraction(0))
    weights = [_surplus(w[i], q[i], p[i]) for i in range(n)]
    return Cells([*passes, *w[n:][: min(n, 1)]], [*weights, p[n]], _longest)


def steps(weights: Row) -> list[Fraction]:
    """The normalised cumulative sum of the weights after each token."""
    total = sum(weights)
    return [cumulative / total for cumulative in accumulate(weights)]


def _surplus(w: Fraction, q: Row, p: Row) -> Row:
    surplus = [max(Fraction(0), w * p_x - q_x) for p_x, q_x in zip(p, q, strict=True)]
    return surplus if any(surplus) else p


def _leading(passed: Sequence[bool]) -> int:
    return [*passed, False].index(False)


def _longest(passed: Sequence[bool]) -> int:
    return max((i for i, part in enumerate(passed, start=1) if part), default=0)
