"""Streams are addressed by what they decide: the same address gives the same bytes, another one independent numbers."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.streams import stream

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


@pytest.mark.slow
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
