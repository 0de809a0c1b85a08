"""Labels moved apart: far enough, in order, and no further than they must."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.reporting.labels import spread

positions = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(positions)
def test_labels_are_at_least_a_gap_apart_and_keep_their_order(given_positions):
    moved = spread(given_positions, 0.1)
    paired = sorted(zip(given_positions, moved, strict=True))
    for (_, low), (_, high) in pairwise(paired):
        assert high - low >= 0.1 - 1e-12


@pytest.mark.slow
@given(positions)
def test_together_they_do_not_drift(given_positions):
    assert sum(spread(given_positions, 0.1)) == pytest.approx(sum(given_positions), abs=1e-9)


def test_labels_far_apart_stay_where_they_are():
    assert spread([0.9, 0.1, 0.5], 0.1) == pytest.approx([0.9, 0.1, 0.5])


def test_equal_labels_part_symmetrically():
    assert spread([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    assert spread([], 0.1) == []
