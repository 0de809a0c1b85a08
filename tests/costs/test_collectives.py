"""All-reduce: nothing alone, a launch for a small message, the link for a large one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.costs.collectives import all_reduce_seconds
from specsim.inputs.read.scenario import read_device

H100 = read_device("h100-sxm")
sizes = st.floats(1, 1e9)
groups = st.sampled_from([2, 4, 8])


@given(st.floats(0, 1e9))
def test_a_group_of_one_reduces_nothing(size):
    assert all_reduce_seconds(size, 1, H100) == 0


@given(sizes, st.floats(1, 100), groups)
def test_a_larger_message_never_takes_less(size, factor, group):
    assert all_reduce_seconds(size * factor, group, H100) >= all_reduce_seconds(size, group, H100) * (1 - 1e-14)


@given(sizes, groups)
def test_it_takes_at_least_the_launch_and_at_least_the_link(size, group):
    seconds = all_reduce_seconds(size, group, H100)
    link = 2 * (group - 1) / group * size / (H100.allreduce.efficiency[group] * 450e9)
    assert seconds >= max(H100.allreduce.launch, link) * (1 - 1e-14)


@given(sizes, groups)
def test_it_is_the_profiles_formula(size, group):
    figures = H100.allreduce
    q = figures.sharpness[group]
    link = 2 * (group - 1) / group * size / (figures.efficiency[group] * 450e9)
    expected = (figures.launch**q + link**q) ** (1 / q)
    assert all_reduce_seconds(size, group, H100) == pytest.approx(expected, rel=1e-12)


def test_no_message_takes_no_time():
    np.testing.assert_array_equal(all_reduce_seconds([0.0, 0.0], 8, H100), [0.0, 0.0])
