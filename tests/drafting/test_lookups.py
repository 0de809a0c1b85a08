"""What lookups find: lengths from shares and uniforms, by hand and by counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.drafting.lookups import drafts_found, drafts_of_batches, length_shares, share_at_least
from specsim.inputs.models.drafters import MTPLayers, NgramLookup
from specsim.streams import stream

AT_LEAST = np.array([0.5, 0.25, 0.25, 0.125])
falling = st.lists(st.floats(0, 1), min_size=1, max_size=6).map(lambda shares: np.array(sorted(shares)[::-1]))


def lookup(**figures):
    return NgramLookup(kind="ngram", host_time_per_step="0 us", host_time_per_sequence="0 us", **figures)


def test_shares_are_those_stated():
    assert share_at_least(MTPLayers(kind="mtp"), 3).tolist() == [1, 1, 1]
    assert share_at_least(lookup(), 3).tolist() == [1, 1, 1]
    assert share_at_least(lookup(found=0.25), 3).tolist() == [0.25, 0.25, 0.25]
    ragged = lookup(found=0.5, matched_lengths=(1, 0.5, 0.25))
    assert share_at_least(ragged, 2).tolist() == [0.5, 0.25]
    assert share_at_least(ragged, 5).tolist() == [0.5, 0.25, 0.125, 0, 0]  # none is longer than the list
    assert share_at_least(ragged, 0).tolist() == []


def test_lengths_by_hand():
    uniforms = np.array([0.0, 0.124, 0.125, 0.249, 0.25, 0.499, 0.5, 0.999])
    assert drafts_found(np.full(8, 4), uniforms, AT_LEAST).tolist() == [4, 4, 3, 3, 1, 1, 0, 0]
    assert drafts_found(np.arange(8), np.zeros(8), AT_LEAST).tolist() == [0, 1, 2, 3, 4, 4, 4, 4]
    assert length_shares(AT_LEAST).tolist() == [0.5, 0.25, 0, 0.125, 0.125]
    assert length_shares(np.zeros(0)).tolist() == [1]


@given(falling, st.floats(0, 1, exclude_max=True))
def test_shares_of_lengths_add_up_and_a_larger_share_never_finds_less(at_least, uniform):
    shares = length_shares(at_least)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    wanted, uniforms = np.array([len(at_least)]), np.array([uniform])
    assert drafts_found(wanted, uniforms, at_least / 2) <= drafts_found(wanted, uniforms, at_least)
    assert drafts_found(wanted, uniforms, np.ones(len(at_least))) == wanted
    assert drafts_found(wanted, uniforms, np.zeros(len(at_least))) == 0


def test_each_request_meets_every_length_as_often_as_stated():
    drafts = drafts_of_batches(64, 10, AT_LEAST, stream(1, "test"))
    assert drafts.shape == (64, 10)
    for of_a_request in drafts.T:
        counts = np.bincount(of_a_request, minlength=5)
        assert (counts == 64 * length_shares(AT_LEAST)).all()
    # requests are independent of each other: a sum over 10 has the variance of 10, within sampling of 64 sums
    variance = drafts.sum(axis=1).var(ddof=1)
    expected = 10 * drafts[:, 0].var()
    assert abs(variance / expected - 1) < 4 * np.sqrt(2 / 63)


@pytest.mark.parametrize(("at_least", "drafts"), [((1, 1, 1), 3), ((1, 1, 0), 2), ((0, 0, 0), 0), ((), 0)])
def test_where_nothing_is_left_to_luck_there_is_one_batch(at_least, drafts):
    found = drafts_of_batches(64, 4, np.array(at_least, dtype=float), stream(1, "test"))
    assert found.tolist() == [[drafts] * 4]
