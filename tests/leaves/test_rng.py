"""Streams are addressed by what they decide: the same address gives the same bytes, another one independent numbers."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.rng import LANE_ACCEPT, LANE_DRAFT, LANE_FINAL, NUM_LANES, request_uniforms, round_uniforms, stream

N = 40_000
ADDRESSES = [
    (1, "lengths", 0),
    (1, "lengths", 1),
    (1, "lengths"),
    (1, "lengths", 0, 0),
    (1, "arrivals", 0),
    (2, "lengths", 0),
    (0, "tokens", 0, 1),
    (0, "tokens", 1, 0),
]


@given(st.integers(0, 2**63), st.text(max_size=20), st.lists(st.integers(0, 2**31), max_size=3))
def test_the_same_address_gives_the_same_bytes(seed, purpose, index):
    first, second = (stream(seed, purpose, *index).random(8).tobytes() for _ in range(2))
    assert first == second


def test_a_stream_does_not_depend_on_what_was_drawn_elsewhere():
    alone = stream(1, "lengths", 0).random(4)
    stream(1, "arrivals", 0).random(1000)
    np.testing.assert_array_equal(stream(1, "lengths", 0).random(4), alone)


@pytest.mark.parametrize(("one", "other"), list(combinations(ADDRESSES, 2)))
def test_streams_of_different_addresses_are_uncorrelated(one, other):
    x, y = stream(*one).random(N), stream(*other).random(N)
    # the sample correlation of independent samples has standard deviation 1/sqrt(N)
    assert abs(np.corrcoef(x, y)[0, 1]) < 4 / np.sqrt(N)


@given(
    st.integers(0, 2**32),
    st.integers(0, 9),
    st.integers(0, 2**31),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_a_longer_table_begins_with_the_shorter_one(seed, replication, request_number, short, more):
    longer = request_uniforms(seed, replication, request_number, short + more)
    np.testing.assert_array_equal(longer[:short], request_uniforms(seed, replication, request_number, short))


def test_a_request_has_three_lanes_of_uniforms_of_its_own():
    assert tuple(range(NUM_LANES)) == (LANE_DRAFT, LANE_ACCEPT, LANE_FINAL)
    tables = [request_uniforms(3, replication, request, N) for replication in (0, 1) for request in (0, 1)]
    lanes = np.concatenate([table.T for table in tables])
    assert lanes.shape == (4 * NUM_LANES, N)
    assert lanes.min() >= 0
    assert lanes.max() < 1
    # mean 1/2 and variance 1/12 each, no two of them correlated
    assert np.abs(lanes.mean(axis=1) - 0.5).max() < 4 * np.sqrt(1 / 12 / N)
    assert np.abs(np.corrcoef(lanes) - np.eye(len(lanes))).max() < 4 / np.sqrt(N)


def test_neighbouring_positions_are_uncorrelated():
    lanes = request_uniforms(3, 0, 0, N)
    for lane in lanes.T:
        assert abs(np.corrcoef(lane[:-1], lane[1:])[0, 1]) < 4 / np.sqrt(N - 1)


def test_round_tables_begin_with_those_of_fewer_starts_and_shorter_drafts():
    table = round_uniforms(1, 2, 3, 20, 6)
    assert table.shape == (20, 6, 2)
    np.testing.assert_array_equal(table[:7, :4], round_uniforms(1, 2, 3, 7, 4))
    assert round_uniforms(1, 2, 3, 20, 0).shape == (20, 0, 2)


def test_uniforms_of_rounds_are_independent_of_each_other_and_of_those_of_positions():
    positions, rounds = request_uniforms(3, 0, 1, N), round_uniforms(3, 0, 1, N, 3)
    lanes = np.concatenate([positions.T, rounds.reshape(N, -1).T, round_uniforms(3, 0, 2, N, 1)[:, 0].T])
    assert lanes.min() >= 0
    assert lanes.max() < 1
    assert np.abs(lanes.mean(axis=1) - 0.5).max() < 4 * np.sqrt(1 / 12 / N)
    assert np.abs(np.corrcoef(lanes) - np.eye(len(lanes))).max() < 4 / np.sqrt(N)
