"""The exact law of a chain verifier's output, in fractions: a proof without a sample, a tolerance or a seed.

A verifier treats all uniforms between two thresholds alike, so its output law is a finite sum over drafts and cells of
uniforms, each weighted by its exact size. Every cell is put to the verifier at its first and near its last float, which
tells < from ≤, and the law that comes out must be the target's, fraction for fraction. Drafts have up to four tokens
over a vocabulary of four: where the residual of another rule or position does not give itself away on less.

The tables are in sixteenths and every quotient p/q below 1 is a dyadic fraction, so that the thresholds a verifier
computes in floating point are exact up to their last division.

Knows nothing of how a verifier works inside, and cannot see a mistake that only large vocabularies or long drafts
bring.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from specsim.verification.arrays import ChainVerifier, Float64s, Int64s
from specsim.verification.proof.cells import CellRule, steps, token_cells

UNIT = 16
MAX_DRAFT = 4
_V = 4
_START = 4

# Rows are contexts: the last token 0 to 3, then the start. Each pair of rows has another shape: two-step residuals; a
# token that only the drafter has, and tokens that only the target has; p = q; a start where half the mass moves.
TARGET = np.array([[7, 5, 1, 3], [0, 6, 5, 5], [1, 5, 3, 7], [5, 3, 7, 1], [3, 1, 5, 7]])
DRAFTER = np.array([[4, 4, 4, 4], [2, 8, 2, 4], [0, 8, 0, 8], [5, 3, 7, 1], [8, 4, 2, 2]])
# Drafters that do not sample: after token c always c + shift, so that all pairs of tokens are drafted by one of them.
ONE_HOT = tuple(UNIT * np.eye(_V, dtype=np.int64)[(np.arange(_V + 1) + shift) % _V] for shift in range(_V))
# Contexts 0 and 2 are followed by a token that was not sampled, the others by a sample.
MIXED = np.where(np.isin(np.arange(_V + 1), [0, 2])[:, None], ONE_HOT[1], DRAFTER)


class Cases(NamedTuple):
    """Every draft of every length with every cell of its uniforms, as one ragged batch.

    Attributes:
        draft, num_draft: the drafts [N, MAX_DRAFT] and their numbers [N].
        q, p: their distributions [N, MAX_DRAFT, V] and [N, MAX_DRAFT + 1, V].
        first, last: uniforms in each cell, the last column for the final draw [N, MAX_DRAFT + 1].
        weight: probability of each draft times the size of its cell, in parts of 1/whole.
        whole: the least common denominator of all of these: whole numbers add up many times faster than fractions.
    """

    draft: Int64s
    num_draft: Int64s
    q: Float64s
    p: Float64s
    first: Float64s
    last: Float64s
    weight: list[int]
    whole: int


def exact_law_errors(verify: ChainVerifier, cells_of: CellRule = token_cells, *, stale: bool = False) -> int:
    """Wrong probabilities of the output distribution, with drafts sampled from DRAFTER or mixed with one-hot ones.

    For 0 to 4 drafts in one ragged batch, what a verifier emits is continued with the target to one token more than was
    drafted, and the joint distribution of these tokens must be the target's.

    Args:
        verify: the verifier.
        cells_of: the rule that it claims to follow.
        stale: fill the padding with what an earlier call may have left there, and not with NaN.
    """
    return sum(_errors(verify, cells_of, table, stale, given=True) for table in ("sampled", "mixed"))


def exact_one_hot_errors(verify: ChainVerifier, cells_of: CellRule = token_cells) -> int:
    """Number of wrong probabilities of the output distribution where no draft was sampled and q is None."""
    return sum(_errors(verify, cells_of, f"one-hot {shift}", stale=False, given=False) for shift in range(_V))


def _errors(verify: ChainVerifier, cells_of: CellRule, drafter: str, stale: bool, given: bool) -> int:
    cases = _cases(cells_of, drafter)
    draft, q, p = _padded(cases, stale)
    wrong = 0
    for uniforms in (cases.first, cases.last):
        out, num_out = verify(
            draft,
            q if given else None,
            p,
            cases.num_draft,
            accept_uniforms=uniforms[:, :-1],
            final_uniforms=uniforms[:, -1],
            validate=False,
        )
        found = emitted_law(out, num_out, cases.num_draft, cases.weight, cases.whole)
        for n in range(MAX_DRAFT + 1):
            target = target_law(n + 1)
            sequences = target.keys() | found[n].keys()
            wrong += sum(found[n].get(sequence, 0) != target.get(sequence, 0) for sequence in sequences)
    return wrong


def emitted_law(
    out: Int64s, num_out: Int64s, num_draft: Int64s, weight: Sequence[int], whole: int
) -> list[dict[tuple[int, ...], Fraction]]:
    """By number of drafts n: the distribution of n + 1 tokens, those emitted and then those of the target.

    Of out [N, K+1] and num_out [N] for num_draft [N] drafts, each row with its probability ``weight / whole`` [N].
    """
    parts: list[dict[tuple[int, ...], int]] = [defaultdict(int) for _ in range(MAX_DRAFT + 1)]
    for tokens, length, n, share in zip(out.tolist(), num_out.tolist(), num_draft.tolist(), weight, strict=True):
        parts[n][tuple(tokens[:length])] += share
    laws = [defaultdict(Fraction, {key: Fraction(share, whole) for key, share in part.items()}) for part in parts]
    for n, law in enumerate(laws):
        for length in range(n + 1):
            for sequence in [sequence for sequence in law if len(sequence) == length]:
                probability = law.pop(sequence)
                for x, p_x in enumerate(_fractions(TARGET)[sequence[-1] if sequence else _START]):
                    law[*sequence, x] += probability * p_x
    return [dict(law) for law in laws]


@cache
def target_law(length: int) -> dict[tuple[int, ...], Fraction]:
    """The target's own distribution of sequences of this length."""
    law: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for _ in range(length):
        law = {
            (*sequence, x): share * p_x
            for sequence, share in law.items()
            for x, p_x in enumerate(_fractions(TARGET)[sequence[-1] if sequence else _START])
        }
    return law


@cache
def _cases(cells_of: CellRule, drafter: str) -> Cases:
    """All cases of a rule and a drafter, without padding filled in."""
    table = {"sampled": DRAFTER, "mixed": MIXED}[drafter] if drafter[:3] != "one" else ONE_HOT[int(drafter[-1])]
    rows = [
        (draft, *case)
        for n in range(MAX_DRAFT + 1)
        for draft in product(range(_V), repeat=n)
        for case in _cases_of(draft, table, cells_of)
    ]
    num_draft = np.array([len(row[0]) for row in rows])
    draft = np.array([[*row[0], *[-1] * (MAX_DRAFT - len(row[0]))] for row in rows])
    context = np.column_stack([np.full(len(rows), _START), draft])
    first, last = (np.array([row[k] for row in rows]) for k in (1, 2))
    q, p = table[context[:, :-1]] / UNIT, TARGET[context] / UNIT
    whole = math.lcm(*(row[3].denominator for row in rows))
    return Cases(draft, num_draft, q, p, first, last, [int(row[3] * whole) for row in rows], whole)


def _cases_of(
    draft: tuple[int, ...], table: Int64s, cells_of: CellRule
) -> Iterator[tuple[list[float], list[float], Fraction]]:
    """For each cell of a draft that can be drawn: its first and last floats, and the weight of draft and cell."""
    contexts = (_START, *draft)
    q, p = ([_fractions(rows)[c] for c in contexts] for rows in (table, TARGET))
    drawn = Fraction(1)
    for x, q_i in zip(draft, q, strict=False):
        drawn *= q_i[x]
    if not drawn:
        return
    cells = cells_of(draft, q[:-1], p)
    edges = [{Fraction(0), h, Fraction(1)} for h in cells.passes]
    edges.append({Fraction(0), *(step for weights in cells.weights for step in steps(weights))})
    for cell in product(*(pairwise(sorted(cuts)) for cuts in edges)):
        accept, final = cell[:-1], cell[-1]
        filling = [(Fraction(0), Fraction(1))] * (MAX_DRAFT - len(draft))
        sides = [*accept, *filling, final]
        size = drawn
        for low, high in cell:
            size *= high - low
        yield [_at_or_above(low) for low, _ in sides], [_below(high) for _, high in sides], size


def _at_or_above(edge: Fraction) -> float:
    nearest = float(edge)
    return nearest if Fraction(nearest) >= edge else float(np.nextafter(nearest, 2.0))


def _below(edge: Fraction) -> float:
    """A float just below: the last one where it is a whole number of sixteenths, else 4 further down.

    There u·total, rounded once, may reach the sum that it is compared with.
    """
    value = float(edge)
    for _ in range(1 if (edge * UNIT).denominator == 1 else 4):
        value = float(np.nextafter(value, 0.0))
    return value


def _padded(cases: Cases, stale: bool) -> tuple[Int64s, Float64s, Float64s]:
    """Drafts and distributions with the padding filled."""
    draft, q, p = cases.draft.copy(), cases.q.copy(), cases.p.copy()
    position = np.arange(MAX_DRAFT + 1)
    padding, unused = position[:-1] >= cases.num_draft[:, None], position > cases.num_draft[:, None]
    draft[padding], q[padding], p[unused] = (1, DRAFTER[0] / UNIT, TARGET[0] / UNIT) if stale else (-1, np.nan, np.nan)
    return draft, q, p


def _fractions(table: Int64s) -> list[list[Fraction]]:
    return _as_fractions(table.tobytes(), len(table))


@cache
def _as_fractions(data: bytes, num_rows: int) -> list[list[Fraction]]:
    rows = np.frombuffer(data, dtype=np.int64).reshape(num_rows, -1)
    return [[Fraction(int(entry), UNIT) for entry in row] for row in rows]
