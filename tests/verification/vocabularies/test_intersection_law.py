"""Drafting with shared tokens is lossless: all outcomes on lattices of p, q and id maps, in fractions; mutants fail.

Every cell of uniforms (draft, accept, final) is put to the code at its midpoint, where no rounding of a threshold
matters. Edges are met by `exact_law_errors`, whose drafter here has private tokens with a power of two of its mass.
"""

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from specsim.verification import VocabularyIntersection, draw_tokens, verify_chain
from specsim.verification.proof.cells import steps, token_cells
from specsim.verification.proof.exact import exact_law_errors

UNITS, V = 4, 3
MAPS = [(2, -1, 0, -1), (1, -1, 0, 2), (0, 1, 2, -1), (-1, -1, -1, 1), (2, 0, -1, 1)]
LAW, ACCEPTANCE = "law", "acceptance"


def lattice(size):
    """All distributions over a number of tokens, in quarters."""
    return [row for row in product(range(UNITS + 1), repeat=size) if sum(row) == UNITS]


def restricted(q, d2t):
    """q' in fractions, or None where no shared token has mass."""
    shared = sum(q[x] for x, y in enumerate(d2t) if y >= 0)
    if not shared:
        return None
    row = [Fraction(0)] * V
    for x, y in enumerate(d2t):
        if y >= 0:
            row[y] = Fraction(q[x], shared)
    return row


def middles(cuts):
    """Midpoint and size of each cell between cuts, with 0 and 1."""
    return [((low + high) / 2, high - low) for low, high in pairwise(sorted({Fraction(0), Fraction(1), *cuts}))]


@cache
def cases_of(d2t):
    """(p, q, the draft's, accept and final uniforms, probability) for all p, q with shared mass, and all cells."""
    cases = []
    for q, p in product(lattice(len(d2t)), lattice(V)):
        narrow, p_row = restricted(q, d2t), [Fraction(x, UNITS) for x in p]
        if narrow is None:
            continue
        bounds = steps(narrow)
        for u, drawn in middles(bounds):
            x = next(x for x in range(V) if bounds[x] > u)
            cells = token_cells([x], [narrow], [p_row, p_row])
            for (v, accept), (w, final) in product(
                middles(cells.passes), middles([*steps(cells.weights[0]), *steps(p_row)])
            ):
                cases.append((p, q, float(u), float(v), float(w), drawn * accept * final))
    return cases


def errors(drafted, kind):
    """Wrong probabilities over all maps: of the first token against p, or of acceptance against Σ min(p, q')."""
    wrong = 0
    for d2t in MAPS:
        cases = cases_of(d2t)
        p, q, u, v, w = (np.array([case[k] for case in cases]) for k in range(5))
        draft, q_rows = drafted(VocabularyIntersection(np.array(d2t), V), q / UNITS, u)
        one = np.ones(len(cases), int)
        p_rows = np.repeat(p[:, None] / UNITS, 2, axis=1)
        given = {"accept_uniforms": v[:, None], "final_uniforms": w, "validate": False}
        out, num_out = verify_chain(draft[:, None], q_rows[:, None], p_rows, one, **given)
        found = defaultdict(Fraction)
        outcome = out[:, 0] if kind == LAW else num_out - 1
        for (p_row, q_row, *_, share), x in zip(cases, outcome.tolist(), strict=True):
            found[p_row, q_row, x] += share
        for p_row, q_row in {case[:2] for case in cases}:
            row = [Fraction(x, UNITS) for x in p_row]
            overlap = sum(map(min, row, restricted(q_row, d2t)))
            due = row if kind == LAW else [1 - overlap, overlap]
            wrong += sum(found[p_row, q_row, x] != share for x, share in enumerate(due))
    return wrong


def drafted(both, q, u):
    """As it is meant to be: the draft and the q' it is from."""
    narrow = both.restrict(q)
    return draw_tokens(narrow, uniforms=u), narrow


def not_renormalised(both, q, u):
    """It hands over q itself at the shared tokens, as if nothing had been masked."""
    draft, narrow = drafted(both, q, u)
    return draft, narrow * q[:, both.shared].sum(axis=1, keepdims=True)


def private_tokens_become_unknown(both, q, u):
    """It draws from q and hands private tokens over as token 0, the unknown one, with the q' of shared tokens."""
    draft = both.d2t[draw_tokens(q, uniforms=u)]
    return np.maximum(draft, 0), both.restrict(q)


def unmapped_rows(both, q, u):
    """It maps the draft and leaves the row in the drafter's order."""
    draft, narrow = drafted(both, q, u)
    rows = np.zeros_like(narrow)
    rows[:, : len(both.shared)] = narrow[:, both.d2t[both.shared]]
    return draft, rows


def unmapped(both, q, u):
    """It maps neither, so that drafts are other tokens than the drafter meant."""
    _, rows = unmapped_rows(both, q, u)
    return draw_tokens(rows, uniforms=u), rows


def mass_of_the_first_row(both, q, u):
    """It divides all rows by the shared mass of the first."""
    draft, narrow = drafted(both, q, u)
    masses = q[:, both.shared].sum(axis=1, keepdims=True)
    return draft, narrow * masses / masses[0]


def private_mass_spread_evenly(both, q, u):
    """It gives each shared token the same part of the private mass, in the row alone."""
    draft, narrow = drafted(both, q, u)
    shared = both.t2d >= 0
    masses = q[:, both.shared].sum(axis=1, keepdims=True)
    return draft, narrow * masses + shared * (1 - masses) / shared.sum()


def spread_evenly_and_drawn_from_it(both, q, u):
    """It drafts from that too, which is lossless but no longer q'."""
    _, rows = private_mass_spread_evenly(both, q, u)
    return draw_tokens(rows, uniforms=u), rows


def most_likely(both, q, u):
    """It drafts the most likely shared token and hands over q' as if it were a sample."""
    narrow = both.restrict(q)
    return narrow.argmax(axis=1), narrow


MUTANTS = [
    (not_renormalised, LAW),
    (private_tokens_become_unknown, LAW),
    (unmapped_rows, LAW),
    (unmapped, ACCEPTANCE),
    (mass_of_the_first_row, LAW),
    (private_mass_spread_evenly, LAW),
    (spread_evenly_and_drawn_from_it, ACCEPTANCE),
    (most_likely, LAW),
]


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("kind", [LAW, ACCEPTANCE])
def test_every_probability_is_right(kind):
    assert errors(drafted, kind) == 0


@pytest.mark.parametrize(("mutant", "kind"), MUTANTS, ids=lambda value: getattr(value, "__name__", value))
def test_mutants_are_killed(mutant, kind):
    assert errors(mutant, kind) > 0


WIDE = VocabularyIntersection(np.array([2, -1, 0, 3, -1, 1]), 4)
SHARES = np.array([0.5, 0.25, 1, 0.125])  # of the shared tokens, by position


def through(restrict):
    """verify_chain for a drafter of six tokens, two of them private, whose q' is the q given."""

    def verify(draft, q, p, num_draft, **given):
        wide = np.empty((*q.shape[:-1], 6))
        wide[..., WIDE.shared] = q[..., WIDE.d2t[WIDE.shared]] * SHARES[:, None]
        wide[..., [1, 4]] = (1 - SHARES[:, None]) / 2
        return verify_chain(draft, restrict(wide), p, num_draft, **given)

    return verify


@pytest.mark.slow
@pytest.mark.usefixtures("core")
def test_the_joint_law_of_up_to_five_tokens_is_exact_at_the_edges_too():
    assert exact_law_errors(through(lambda q: WIDE.restrict(q, validate=False))) == 0


@pytest.mark.slow
def test_which_fails_without_renormalising():
    assert exact_law_errors(through(lambda q: WIDE.restrict(q, validate=False) * SHARES[:, None])) > 0
