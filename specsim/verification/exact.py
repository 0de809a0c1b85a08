"""The exact law of a chain verifier's output, in whole numbers: a proof without a sample, a tolerance or a seed.

Target and drafter are in sixteenths, and chosen so that every acceptance ratio p/q and every step of every cumulative
sum, residuals included, is a multiple of 1/16 too. A verifier then treats all uniforms between two such multiples
alike, and its output law is a finite sum over drafts and cells of uniforms. Each cell is probed at its first and at its
last float, which tells < from ≤. Sixteenths are exact in binary, so rounding plays no part.

Knows nothing of how a verifier works inside, and cannot see a mistake that only large vocabularies or long drafts
bring.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from specsim.verification.arrays import ChainVerifier, Float64s, Int64s

CELLS = 16
MAX_DRAFT = 2

# Rows are contexts: the last token 0 to 3, then the start. Each pair of rows has another shape: two-step residuals; a
# token that only the drafter has, and tokens that only the target has; p = q; a start where half the mass moves.
TARGET = np.array([[7, 5, 1, 3], [0, 6, 5, 5], [1, 5, 3, 7], [5, 3, 7, 1], [3, 1, 5, 7]])
DRAFTER = np.array([[4, 4, 4, 4], [2, 8, 2, 4], [0, 8, 0, 8], [5, 3, 7, 1], [8, 4, 2, 2]])
_START = 4
_V = 4


def exact_law_errors(verify: ChainVerifier) -> int:
    """How many probabilities of the output law are wrong, out of 2·(4 + 16 + 64).

    For 0, 1 and 2 drafts in one ragged batch, all drafts and all cells of uniforms are enumerated. What a verifier
    emits is continued with the target to one token more than was drafted, and the joint law of these tokens must be
    the target's, count for count.
    """
    return sum(_errors_at(verify, last_float) for last_float in (False, True))


def _errors_at(verify: ChainVerifier, last_float: bool) -> int:
    """Count wrong probabilities with each cell represented by its last float, or else by its first."""
    batches = [_enumerate(num_draft) for num_draft in range(MAX_DRAFT + 1)]
    draft, cells, num_draft = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    uniforms = np.nextafter((cells + 1) / CELLS, 0) if last_float else cells / CELLS
    q, p = _distributions(draft, num_draft)
    out, num_out = verify(
        draft, q, p, num_draft, accept_uniforms=uniforms[:, :-1], final_uniforms=uniforms[:, -1], validate=False
    )
    errors = 0
    for drafts in range(MAX_DRAFT + 1):
        rows = num_draft == drafts
        target_law = _target_law(drafts + 1)
        found = _law(draft[rows], out[rows], num_out[rows], drafts)
        errors += int((found != target_law * CELLS ** (2 * drafts + 1)).sum())
    return errors


def _enumerate(num_draft: int) -> tuple[Int64s, Int64s, Int64s]:
    """Every draft of this length with every cell of its uniforms: draft, cells [.., MAX_DRAFT + 1], num_draft."""
    cases = np.array(list(product(*[range(_V)] * num_draft, *[range(CELLS)] * (num_draft + 1))))
    draft = np.full((len(cases), MAX_DRAFT), -1)
    draft[:, :num_draft] = cases[:, :num_draft]
    cells = np.zeros((len(cases), MAX_DRAFT + 1), dtype=np.int64)
    cells[:, :num_draft] = cases[:, num_draft:-1]
    cells[:, -1] = cases[:, -1]
    return draft, cells, np.full(len(cases), num_draft)


def _distributions(draft: Int64s, num_draft: Int64s) -> tuple[Float64s, Float64s]:
    """The rows of q and p that belong to each draft; padding is NaN."""
    context = np.column_stack([np.full(len(draft), _START), draft])
    q, p = DRAFTER[context[:, :-1]] / CELLS, TARGET[context] / CELLS
    position = np.arange(MAX_DRAFT + 1)
    q[position[:-1] >= num_draft[:, None]] = np.nan
    p[position > num_draft[:, None]] = np.nan
    return q, p


def _law(draft: Int64s, out: Int64s, num_out: Int64s, num_draft: int) -> Int64s:
    """Weight of each sequence of num_draft + 1 tokens, in units of 16^-(3·num_draft + 2)."""
    weight = np.ones(len(draft), dtype=np.int64)
    context = np.full(len(draft), _START)
    for i in range(num_draft):
        weight *= DRAFTER[context, draft[:, i]]
        context = draft[:, i]
    law = np.zeros(1, dtype=np.int64)
    for length in range(1, num_draft + 2):
        law = _continue(law)
        rows = num_out == length
        sequence = np.ravel_multi_index(tuple(out[rows, :length].T), (_V,) * length)
        np.add.at(law, sequence, weight[rows] * CELLS**length)
    return law


def _continue(law: Int64s) -> Int64s:
    """The law of one token more, drawn from the target in units of 1/16; sequences are numbers in base 4."""
    last = np.arange(len(law)) % _V if len(law) > 1 else np.array([_START])
    longer: Int64s = (law[:, None] * TARGET[last]).ravel()
    return longer


def _target_law(length: int) -> Int64s:
    """The target's own law of sequences of this length, in units of 16^-length."""
    law = np.ones(1, dtype=np.int64)
    for _ in range(length):
        law = _continue(law)
    return law
