"""The shared tokens of two vocabularies: ids, restricted rows, what they cost in acceptance, and what is refused."""

import doctest
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.errors import InputError
from specsim.verification import VocabularyIntersection, VocabularyMap, draw_tokens, verify_chain
from specsim.verification.rows import row_sum_tolerance
from specsim.verification.vocabularies import exact_match, intersection, rows

BOTH = VocabularyIntersection(np.array([4, -1, 0, 5]), 6)
UNITS = 6


@pytest.mark.parametrize("module", [exact_match, intersection, rows])
def test_the_examples_are_right(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_ids_by_text():
    both = VocabularyIntersection.of_tokens(["b", "x", "a"], ["a", "b", "c"])
    np.testing.assert_array_equal(both.d2t, [1, -1, 0])
    np.testing.assert_array_equal(both.t2d, [2, 0, -1])
    np.testing.assert_array_equal(both.shared, [0, 2])


@st.composite
def vocabularies(draw):
    """An id map with shared and private tokens, and rows of q in the shape of a batch."""
    Vd, V = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, min(Vd, V)))
    d2t = np.full(Vd, -1)
    d2t[rng.choice(Vd, n, replace=False)] = rng.choice(V, n, replace=False)
    batch = draw(st.lists(st.integers(0, 3), max_size=3))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    q = rng.dirichlet(np.full(Vd, draw(st.sampled_from([0.1, 1.0, 10.0]))), batch).astype(dtype)
    q += np.finfo(dtype).tiny  # a concentrated row may round the shared tokens to 0
    return VocabularyIntersection(d2t, V), q / q.sum(axis=-1, keepdims=True, dtype=dtype)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(vocabularies())
def test_a_restricted_row_is_a_distribution_in_the_ratios_of_q(case):
    both, q = case
    narrow = both.restrict(q)
    V = len(both.t2d)
    assert narrow.shape == (*q.shape[:-1], V)
    assert narrow.dtype == q.dtype
    assert (np.abs(narrow.sum(axis=-1, dtype=np.float64) - 1) <= row_sum_tolerance(q.dtype, V)).all()
    assert (narrow[..., both.t2d < 0] == 0).all()
    shared = q[..., both.shared].astype(np.float64)
    ratio = shared / shared.sum(axis=-1, keepdims=True)
    # The sum of at most 8 numbers and the quotient round 9 times in double precision, the result once in its own type.
    bound = 9 * np.finfo(np.float64).eps + np.finfo(q.dtype).eps
    np.testing.assert_allclose(narrow[..., both.d2t[both.shared]], ratio, rtol=bound, atol=np.finfo(q.dtype).tiny)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(vocabularies(), st.integers(0, 2**32 - 1))
def test_a_draft_is_shared_and_the_verifier_takes_it(case, seed):
    both, q = case
    rng = np.random.default_rng(seed)
    narrow = both.restrict(q.reshape(-1, q.shape[-1]))
    draft = draw_tokens(narrow, rng=rng)
    assert (both.t2d[draft] >= 0).all()
    p = rng.dirichlet(np.ones(len(both.t2d)), (len(draft), 2))
    verify_chain(draft[:, None], narrow[:, None], p, np.ones(len(draft), int), rng=rng)


def test_each_row_is_restricted_for_itself():
    q = np.random.default_rng(1).dirichlet(np.ones(4), (2, 3))
    rows_alone = [[BOTH.restrict(row) for row in part] for part in q]
    np.testing.assert_array_equal(BOTH.restrict(q), rows_alone)


def test_where_all_tokens_are_shared_it_is_the_vocabulary_map():
    d2t, q = np.array([2, 0, 3]), np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(VocabularyIntersection(d2t, 5).restrict(q), VocabularyMap(d2t, 5).scatter(q))


def test_masses_far_below_one_are_renormalised_too():
    np.testing.assert_array_equal(BOTH.restrict(np.array([5e-324, 1.0, 0.0, 5e-324])), [0, 0, 0, 0, 0.5, 0.5])


def lattice(size, units=UNITS):
    """All distributions over a number of tokens, in parts of a unit."""
    return [[Fraction(x, units) for x in row] for row in product(range(units + 1), repeat=size) if sum(row) == units]


def overlap(p, q):
    return sum(map(min, p, q))


def test_what_an_intersection_costs_on_a_lattice():
    """Target {0, 1, 2}, shared {0, 1}: at least what q itself covers there, at most p(S) and q's cover over s."""
    met = 0
    for p, q in product(lattice(3), lattice(3)):  # q over 0, 1 and a private token
        s = q[0] + q[1]
        if not s:
            continue
        alpha, covered = overlap(p, [q[0] / s, q[1] / s, 0]), overlap(p[:2], q[:2])
        assert covered <= alpha <= min(p[0] + p[1], covered / s)
        at_ceiling = q[0] / s >= p[0] and q[1] / s >= p[1]
        assert (alpha == p[0] + p[1]) == at_ceiling
        met += at_ceiling
    assert met > 0


def test_a_perfect_drafter_loses_just_what_the_target_has_to_itself():
    """q = p over the target's tokens, of which only S may be drafted: Σ min(p, p/s) = p(S), where all shared give 1."""
    for p in lattice(4):
        s = p[0] + p[1]
        if s:
            assert overlap(p, [p[0] / s, p[1] / s, 0, 0]) == s


def test_the_cost_against_a_shared_vocabulary_can_be_a_gain():
    """α − α' = what q covers outside S, less what renormalising adds within: of either sign on a lattice."""
    costs = set()
    for p, q in product(lattice(3), lattice(3)):
        s = q[0] + q[1]
        if not s:
            continue
        narrow = [q[0] / s, q[1] / s, 0]
        cost = overlap(p, q) - overlap(p, narrow)
        added = overlap(p[:2], narrow[:2]) - overlap(p[:2], q[:2])
        assert cost == min(p[2], q[2]) - added
        assert -q[2] <= cost <= min(p[2], q[2])
        costs.add(cost)
    assert min(costs) < 0 < max(costs)


@pytest.mark.parametrize("rounded", [np.float32, np.float64])
def test_draws_meet_the_edges(rounded):
    """Quarters are exact: each token is drawn from the first to the last float of its cell, and 0 is never drawn."""
    row = np.array([0.25, 0.0, 0.5, 0.25], rounded)
    u = np.array([0.0, 0.25, 0.75])
    last = np.nextafter([0.25, 0.75, 1.0], 0)
    np.testing.assert_array_equal(draw_tokens(np.tile(row, (3, 1)), uniforms=u), [0, 2, 3])
    np.testing.assert_array_equal(draw_tokens(np.tile(row, (3, 1)), uniforms=last), [0, 2, 3])
    assert draw_tokens(row, uniforms=np.array(0.5)).shape == ()


MESSAGES = [
    (lambda: VocabularyIntersection(np.array([0, 6, -2]), 6), r"d2t: \(token=1\) is 6: must be a token .*\(1 more"),
    (lambda: VocabularyIntersection(np.array([2, -1, -1, 2]), 6), r"d2t: \(token=3\) is 2: is the target's token of"),
    (lambda: VocabularyIntersection(np.array([-1, -1]), 6), "d2t: must share a token with the target"),
    (lambda: VocabularyIntersection(np.array([0.5]), 6), "d2t is float64, shape .1,.: must be whole numbers"),
    (lambda: VocabularyIntersection(np.array([0]), 0), "target_size is 0: must be a whole number of tokens"),
    (lambda: VocabularyIntersection.of_tokens(["a", "b", "a"], ["a"]), r"drafter: \(token=2\) is 'a': is an earlier"),
    (lambda: VocabularyIntersection.of_tokens(["a"], ["b", "b"]), r"target: \(token=1\) is 'b': is an earlier"),
    (lambda: VocabularyIntersection.of_tokens(["a"], ["b"]), "d2t: must share a token with the target"),
    (lambda: BOTH.restrict(np.array([0.5, 0.5])), r"q: shape is \(2,\): must end in 4"),
    (lambda: BOTH.restrict(np.array([1, 0, 0, 0])), "q: dtype is 'int64': must be float32 or float64"),
    (lambda: BOTH.restrict(np.array(1.0)), r"q: shape is \(\): must be \[..., V\]"),
    (
        lambda: BOTH.restrict(np.array([[[1.0, 0, 0, 0], [0, 1, 0, 0]]])),
        r"q: \(i0=0, i1=1\) is 0.0: is the mass of all",
    ),
    (lambda: BOTH.restrict(np.array([0.0, 1, 0, 0])), r"q: \(row=0\) is 0.0: is the mass of all shared tokens"),
    (lambda: BOTH.restrict(np.array([[0.5, 0.5, 0.5, 0]])), r"q: \(i0=0\) is 1.5: is the sum of the row"),
    (lambda: draw_tokens(np.array([0.5, 0.5])), "randomness is nothing: give either rng or uniforms"),
    (lambda: draw_tokens(np.array([0.5, 0.5]), rng=3), "rng: type is 'int': must be a numpy.random.Generator"),
    (lambda: draw_tokens(np.array([1.0]), uniforms=np.zeros(2)), r"uniforms is float64, shape \(2,\): must be float"),
    (lambda: draw_tokens(np.array([[1.0]]), uniforms=np.ones(1)), r"uniforms: \(i0=0\) is 1.0: must be in \[0, 1\)"),
    (lambda: draw_tokens(np.array([2.0]), uniforms=np.array(0.5)), r"rows: \(row=0\) is 2.0: is the sum of the row"),
]


@pytest.mark.parametrize(("call", "message"), MESSAGES, ids=[message for _, message in MESSAGES])
def test_what_is_refused(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert re.match(message, str(caught.value)), str(caught.value)


def test_a_row_without_shared_mass_is_refused_without_validation_too():
    with pytest.raises(InputError, match="is the mass of all shared tokens"):
        BOTH.restrict(np.array([0.0, 1, 0, 0]), validate=False)
