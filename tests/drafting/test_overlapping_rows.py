"""Rows of p and q that an acceptance source hands the verifier: real distributions that overlap by what was stated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.drafting.acceptance import PositionAcceptance, overlapping_rows
from specsim.streams import stream
from specsim.verification import verify_chain
from specsim.verification.rows import row_sum_tolerance

UNIT = np.finfo(np.float64).eps / 2
SMALLEST = 5e-324
seeds = st.integers(0, 2**32)
vocabularies = st.integers(2, 400)
overlaps = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.5, 1 - UNIT, UNIT]), min_size=1, max_size=6)


@given(overlaps, vocabularies, seeds)
def test_rows_overlap_by_exactly_what_was_stated(overlap, vocabulary, seed):
    p, q = overlapping_rows(overlap, vocabulary, np.random.default_rng(seed))
    # min(p, q) = α·c to the bit, as rounding is monotone. Normalising c costs (V + 1)·u (a sum, a reciprocal, a
    # product), α·c another, and adding up (V − 1)·u; where α·c is subnormal it rounds to whole smallest numbers.
    found = np.minimum(p, q).sum(axis=1)
    bound = np.array(overlap) * (2 * vocabulary + 2) * UNIT + vocabulary * SMALLEST
    assert (np.abs(found - overlap) <= bound).all()


@given(overlaps, vocabularies, seeds)
def test_rows_are_distributions_as_the_verifier_demands(overlap, vocabulary, seed):
    for rows in overlapping_rows(overlap, vocabulary, np.random.default_rng(seed)):
        assert (rows >= 0).all()
        assert np.abs(rows.sum(axis=1) - 1).max() <= row_sum_tolerance(np.float64, vocabulary)


@given(st.lists(st.floats(1e-12, 1), min_size=1, max_size=6), vocabularies, seeds)
def test_every_token_can_be_drafted_and_emitted_unless_nothing_is_accepted(overlap, vocabulary, seed):
    p, q = overlapping_rows(overlap, vocabulary, np.random.default_rng(seed))
    assert p.min() > 0
    assert q.min() > 0


def test_without_overlap_the_rows_are_disjoint_and_with_full_overlap_the_same():
    p, q = overlapping_rows([0.0, 1.0], 32, np.random.default_rng(0))
    assert np.minimum(p[0], q[0]).max() == 0
    np.testing.assert_array_equal(p[1], q[1])


@pytest.mark.parametrize("vocabulary", [2, 3, 32, 1000, 20_000])
def test_the_verifier_accepts_drafts_and_rows_with_every_check_on(vocabulary):
    conditional = np.array([0.0, 0.3, 1.0, 1e-9, 1 - 1e-9, 0.9])
    rng = np.random.default_rng(7)
    for seed in range(5):
        source = PositionAcceptance(conditional, vocabulary, stream(seed, "distributions"))
        draft = source.propose(rng.random((20, 6)))
        q, p = source.score(draft)
        assert (q.shape, p.shape) == ((20, 6, vocabulary), (20, 7, vocabulary))
        verify_chain(draft, q, p, rng.integers(0, 7, 20), rng=rng, validate=True)


@given(st.floats(0, 1, exclude_max=True), seeds)
def test_a_draft_always_has_a_chance_under_q_and_lies_where_its_uniform_falls(uniform, seed):
    source = PositionAcceptance([0.0, 0.6], 8, stream(seed, "distributions"))
    draft = source.propose(np.array([[uniform, uniform]]))
    q, _ = source.score(draft)
    for position, token in enumerate(draft[0]):
        cdf = np.append(0.0, np.cumsum(q[0, position]))
        assert q[0, position, token] > 0
        # the source divides its cumulative sums by the last, which is 1 within (2V + 5)·u, as their other terms are
        slack = 4 * (2 * 8 + 5) * UNIT
        assert cdf[token] - slack <= uniform <= cdf[token + 1] + slack


def test_drafts_are_distributed_as_q():
    rows, vocabulary = 200_000, 8
    source = PositionAcceptance([0.5], vocabulary, stream(3, "distributions"))
    draft = source.propose(stream(3, "drafts").random((rows, 1)))
    q, _ = source.score(draft[:1])
    frequency = np.bincount(draft[:, 0], minlength=vocabulary) / rows
    standard_error = np.sqrt(q[0, 0] * (1 - q[0, 0]) / rows)
    assert (np.abs(frequency - q[0, 0]) <= 4 * standard_error).all()


def test_rows_handed_out_do_not_depend_on_the_batch():
    source = PositionAcceptance([0.5, 0.7], 8, stream(3, "distributions"))
    one, many = source.score(np.zeros((1, 2), dtype=int)), source.score(np.zeros((5, 1), dtype=int))
    for small, large in zip(one, many, strict=True):
        np.testing.assert_array_equal(small[0, : large.shape[1]], large[4])


@pytest.mark.parametrize("vocabulary", [2, 5, 32])
def test_drafts_that_are_chosen_have_exactly_the_probability_stated(vocabulary):
    conditional = [0.7, 0.0, 1.0, 0.3]
    chosen = PositionAcceptance(conditional, vocabulary, stream(3, "distributions"), sampled=False)
    draft = chosen.propose(stream(5, "drafts").random((10, 4)))
    q, p = chosen.score(draft)
    assert q is None
    assert (draft == draft[0]).all()
    drawn, _ = PositionAcceptance(conditional, vocabulary, stream(3, "distributions")).score(draft)
    np.testing.assert_array_equal(draft[0], drawn[0].argmax(axis=1))
    np.testing.assert_array_equal(p[0, np.arange(4), draft[0]], conditional)
    np.testing.assert_allclose(p.sum(axis=2), 1, rtol=1e-14)
