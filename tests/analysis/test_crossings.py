"""Crossings of 1.0: exact without noise, conservative with it, and every shape a curve can take."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specsim.analysis.crossings import Span, find_crossings
from specsim.analysis.intervals import mean_band

BATCHES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


def flat(*speedups, replications=3):
    """The same curve in every replication: no variance."""
    return np.tile(speedups, (replications, 1))


def spread(means, half_width):
    """Three replications about log-means whose 95 % half-width is the one given at each batch."""
    # Offsets −s, 0, s have standard deviation s and half-width 4.302653·s/√3.
    s = np.broadcast_to(half_width, np.shape(means)) * math.sqrt(3) / 4.302652729911275
    return np.exp(np.asarray(means) + np.array([-1.0, 0.0, 1.0])[:, None] * s)


def test_without_noise_a_crossing_is_a_point_where_the_line_crosses():
    found = find_crossings(BATCHES, flat(4.0, 4.0, 2.0, 0.5, 0.5, 0.5))
    (crossing,) = found.crossings
    # Halfway between 4 and 8 in the logarithm.
    assert crossing.batch == pytest.approx(math.sqrt(32))
    assert crossing.low == crossing.high == crossing.batch
    assert crossing.stops_paying
    assert crossing.established
    assert found.verdict == "crosses"
    assert found.pays == (Span(1.0, crossing.batch),)
    assert found.costs == (Span(crossing.batch, 32.0),)
    assert found.undecided == (Span(crossing.batch, crossing.batch),)


def test_a_crossing_exactly_at_a_batch_is_that_batch():
    (crossing,) = find_crossings(BATCHES, flat(2.0, 1.5, 1.2, 1.0, 0.9, 0.8)).crossings
    assert crossing.batch == crossing.low == crossing.high == 8.0


def test_resting_on_one_gives_the_whole_rest():
    (crossing,) = find_crossings(BATCHES, flat(0.5, 0.9, 1.0, 1.0, 2.0, 3.0)).crossings
    assert (crossing.low, crossing.high) == (4.0, 8.0)
    assert crossing.batch == pytest.approx(math.sqrt(32))
    assert not crossing.stops_paying


def test_several_crossings_in_order():
    found = find_crossings(BATCHES, flat(0.5, 2.0, 0.5, 2.0, 2.0, 0.5))
    assert [c.batch for c in found.crossings] == pytest.approx([2**0.5, 2**1.5, 2**2.5, 2**4.5])
    assert [c.stops_paying for c in found.crossings] == [False, True, False, True]
    assert found.verdict == "crosses"


@pytest.mark.parametrize(("level", "verdict"), [(1.2, "always pays"), (0.8, "never pays"), (1.0, "undecided")])
def test_no_crossing(level, verdict):
    found = find_crossings(BATCHES, flat(*[level] * 6))
    assert (found.verdict, found.crossings) == (verdict, ())


@pytest.mark.parametrize(("level", "verdict"), [(1.2, "always pays"), (0.8, "never pays"), (1.0, "undecided")])
def test_a_single_batch(level, verdict):
    found = find_crossings([16], flat(level))
    assert (found.verdict, found.crossings) == (verdict, ())
    assert found.pays + found.costs + found.undecided == (Span(16.0, 16.0),)


def test_a_touch_of_one_is_no_crossing_but_is_not_called_always():
    found = find_crossings(BATCHES, flat(2.0, 2.0, 1.0, 2.0, 2.0, 2.0))
    assert (found.verdict, found.crossings, found.undecided) == ("undecided", (), (Span(4.0, 4.0),))


def test_a_tie_at_the_first_batch_is_no_crossing():
    found = find_crossings(BATCHES, flat(1.0, 0.9, 0.8, 0.7, 0.6, 0.5))
    assert (found.verdict, found.crossings, found.undecided) == ("undecided", (), (Span(1.0, 1.0),))


def test_the_interval_ends_where_the_band_meets_one():
    # Log-speedup falls by 0.2 per doubling through 0 at batch 8; a half-width of 0.1 is half a doubling.
    (crossing,) = find_crossings(BATCHES, spread(0.2 * (3 - np.log2(BATCHES)), 0.1)).crossings
    assert crossing.batch == pytest.approx(8)
    assert crossing.low == pytest.approx(8 / math.sqrt(2))
    assert crossing.high == pytest.approx(8 * math.sqrt(2))


def test_a_crossing_that_runs_out_of_batches_has_an_open_end_and_is_not_established():
    found = find_crossings(BATCHES, spread([0.4, 0.3, 0.2, 0.1, 0.05, -0.05], 0.1))
    (crossing,) = found.crossings
    assert crossing.batch == pytest.approx(16 * math.sqrt(2))
    assert crossing.low == pytest.approx(8)
    assert crossing.high is None
    assert not crossing.established
    assert found.verdict == "undecided"
    assert found.pays == (Span(1.0, crossing.low),)


def test_an_open_component_without_a_mean_crossing_is_undecided_only():
    found = find_crossings(BATCHES, spread([0.4, 0.3, 0.2, 0.15, 0.05, 0.05], 0.1))
    assert (found.crossings, found.verdict) == ((), "undecided")
    (tail,) = found.undecided
    assert tail.low == pytest.approx(16 / math.sqrt(2))
    assert tail.high == 32.0


def test_an_undecided_dip_between_paying_batches_is_no_crossing():
    found = find_crossings(BATCHES, spread([0.4, 0.4, -0.05, 0.4, 0.4, 0.4], 0.1))
    assert (found.crossings, found.verdict) == ((), "undecided")
    assert len(found.pays) == 2


def test_of_several_mean_crossings_in_one_component_the_middle_is_the_estimate():
    found = find_crossings(BATCHES, spread([0.4, 0.05, -0.05, 0.05, -0.05, -0.4], 0.1))
    (crossing,) = found.crossings
    assert crossing.batch == pytest.approx(4 * math.sqrt(2))
    assert crossing.stops_paying
    assert crossing.established


def test_one_replication_leaves_everything_undecided_yet_shows_where_the_line_crosses():
    found = find_crossings(BATCHES, [[2.0, 2.0, 2.0, 0.5, 0.5, 0.5]])
    (crossing,) = found.crossings
    assert crossing.batch == pytest.approx(math.sqrt(32))
    assert (crossing.low, crossing.high, found.verdict) == (None, None, "undecided")
    assert found.undecided == (Span(1.0, 32.0),)


@given(st.lists(st.lists(st.floats(0.25, 4), min_size=6, max_size=6), min_size=1, max_size=4))
def test_spans_cover_what_was_measured_and_crossings_lie_in_undecided_ones(speedups):
    found = find_crossings(BATCHES, speedups)
    spans = sorted(found.pays + found.costs + found.undecided, key=lambda span: (span.low, span.high))
    assert (spans[0].low, spans[-1].high) == (1.0, 32.0)
    for left, right in pairwise(spans):
        assert left.high == right.low
    for crossing in found.crossings:
        assert any(span.low <= crossing.batch <= span.high for span in found.undecided)
    established = [c.stops_paying for c in found.crossings if c.established]
    assert all(a != b for a, b in pairwise(established))


@given(st.lists(st.lists(st.floats(0.25, 4), min_size=6, max_size=6), min_size=2, max_size=4))
def test_the_reciprocal_curve_crosses_at_the_same_batches_the_other_way(speedups):
    mean, half = mean_band(np.log(speedups))
    # A tie that only rounding decides may be decided differently for the reciprocal.
    assume(min(np.abs(mean).min(), np.abs(mean - half).min(), np.abs(mean + half).min()) > 1e-9)
    forth, back = find_crossings(BATCHES, speedups), find_crossings(BATCHES, 1 / np.asarray(speedups))
    assert len(forth.crossings) == len(back.crossings)
    for a, b in zip(forth.crossings, back.crossings, strict=True):
        assert a.batch == pytest.approx(b.batch, rel=1e-6)
        assert a.stops_paying != b.stops_paying


def test_the_interval_covers_the_true_crossing_as_often_as_it_says():
    # log-speedup = 0.3·(log2 11 − log2 B), steep against the noise, so that the undecided set is one component. Half of
    # the noise is shared between batches, as in paired runs. 11 lies between two batches: the conservative case.
    rng, trials, truth, confidence = np.random.default_rng(20), 2000, 11.0, 0.95
    line = 0.3 * (math.log2(truth) - np.log2(BATCHES))
    covered = 0
    for _ in range(trials):
        noise = 0.05 * (rng.normal(size=(8, 1)) + rng.normal(size=(8, 6)))
        (crossing,) = find_crossings(BATCHES, np.exp(line + noise), confidence).crossings
        assert crossing.established
        covered += crossing.low <= truth <= crossing.high
    assert covered / trials >= confidence - 4 * math.sqrt(confidence * (1 - confidence) / trials)


def test_the_interval_is_exact_at_a_measured_batch():
    rng, trials, confidence = np.random.default_rng(21), 2000, 0.9
    line = 0.3 * (3 - np.log2(BATCHES))
    covered = 0
    for _ in range(trials):
        noisy = np.exp(line + 0.05 * rng.normal(size=(6, 6)))
        (crossing,) = find_crossings(BATCHES, noisy, confidence).crossings
        covered += crossing.low <= 8.0 <= crossing.high
    assert abs(covered / trials - confidence) <= 4 * math.sqrt(confidence * (1 - confidence) / trials)


@pytest.mark.parametrize("batches", [[], [2, 1], [0, 1], [1, 1]])
def test_batches_must_ascend_from_above_zero(batches):
    with pytest.raises(ValueError, match="positive and ascending"):
        find_crossings(batches, np.ones((2, len(batches))))


def test_speedups_must_be_positive_and_of_the_right_shape():
    for bad in (np.ones((2, 5)), np.ones(6), np.zeros((2, 6)), np.full((2, 6), np.nan)):
        with pytest.raises(ValueError, match="speedups must be positive"):
            find_crossings(BATCHES, bad)
