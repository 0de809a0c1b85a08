"""Experts: how many are touched, on which device, and what reading them takes, against counting and the dense limit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.costs.experts import ExpertProduct, busiest_device, distinct_experts, expert_time
from specsim.costs.linear import Linear, linear_time
from specsim.costs.roofline import device_rates
from specsim.inputs.checkpoints.quantisation import FORMATS
from specsim.inputs.read.scenario import read_device

B200 = device_rates(read_device("b200"), ideal=False)
MIXTURES = [(256, 8), (128, 4), (8, 2)]
TOKENS = [1, 2, 5, 16, 64]
TRIALS = 1500


def routed(rng, tokens, number, per_token):
    """Tokens at each expert under uniform routing without replacement [trials, experts]."""
    chosen = rng.random((TRIALS, tokens, number)).argpartition(per_token, axis=2)[:, :, :per_token]
    return np.apply_along_axis(np.bincount, 1, chosen.reshape(TRIALS, -1), minlength=number)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "per_token"), MIXTURES)
@pytest.mark.parametrize("tokens", TOKENS)
def test_experts_touched_are_those_of_counting(number, per_token, tokens):
    touched = (routed(np.random.default_rng(tokens), tokens, number, per_token) > 0).sum(axis=1)
    four_errors = 4 * touched.std(ddof=1) / np.sqrt(TRIALS)
    # what happens m times a trial on average stays away from all trials with probability exp(-m·TRIALS), which beyond
    # 10/TRIALS is as unlikely as four standard errors
    assert abs(distinct_experts(tokens, number, per_token) - touched.mean()) <= max(four_errors, 10 / TRIALS)


@given(st.integers(1, 10**6), st.sampled_from(MIXTURES))
def test_experts_touched_lie_between_those_of_one_token_and_all(tokens, mixture):
    number, per_token = mixture
    touched = distinct_experts(tokens, number, per_token)
    assert per_token * (1 - 1e-12) <= touched <= min(number, tokens * per_token) * (1 + 1e-12)


def test_no_token_touches_none_and_one_token_its_own():
    np.testing.assert_allclose(distinct_experts([0, 1], 128, 8), [0, 8], rtol=1e-13)
    np.testing.assert_array_equal(distinct_experts([0, 1, 9], 4, 4), [0, 4, 4])


def test_verifying_is_not_free_even_at_batch_1():
    """Qwen3-30B-A3B: 4 tokens read 29.1 experts a layer where 1 reads 8: 128·(1 − (120/128)^4)."""
    assert distinct_experts(4, 128, 8) == pytest.approx(29.123, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "per_token"), MIXTURES)
@pytest.mark.parametrize(("tokens", "off"), [(1, 0.14), (5, 0.09), (16, 0.045), (64, 0.025)])
def test_the_busiest_of_eight_devices(number, per_token, tokens, off):
    """As far below the exact figure as the function states, and not above it by more than the counting's error."""
    counts = routed(np.random.default_rng(7), tokens, number, per_token).reshape(TRIALS, 8, -1)
    exact = ((counts > 0).sum(axis=2).max(axis=1), counts.sum(axis=2).max(axis=1))
    for estimate, counted in zip(busiest_device(tokens, number, per_token, 8), exact, strict=True):
        error = 4 * counted.std(ddof=1) / np.sqrt(TRIALS) / counted.mean()
        assert -off - error <= estimate / counted.mean() - 1 <= 0.01 + error


@given(st.integers(0, 5000), st.sampled_from([1, 2, 4, 8]))
def test_no_device_touches_more_than_it_holds(tokens, devices):
    distinct, rows = busiest_device(tokens, 128, 8, devices)
    assert distinct <= 128 / devices
    assert rows >= tokens * 8 / devices


@pytest.mark.parametrize("device", ["h100", "a100"])
def test_a_single_expert_is_a_dense_matrix(device, request):
    rates = replace(device_rates(request.getfixturevalue(device), ideal=False), grouped=1.0)
    rows = [0, 1, 63, 64, 65, 129, 300, 1024]
    expert = expert_time([ExpertProduct(4096, 14336, 1, 1, repeats=3)], rows, rates)
    dense = linear_time([Linear(4096, 14336, 3)], rows, rates)
    for one, other in zip(expert, dense, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_a_grouped_product_by_hand(h100):
    """8 tokens, 2 of 8 experts each: 8·(1 − .75^8) = 7.199 matrices are read, for 16 rows."""
    time = expert_time([ExpertProduct(4096, 14336, 8, 2)], 8, device_rates(h100, ideal=False))
    touched = 8 * (1 - 0.75**8)
    moved = (touched * 4096 * 14336 * 2 + 16 * 2 * (4096 + 14336)) / (0.893 * 3.35e12)
    arithmetic = 2 * 4096 * 14336 * 16 / (0.505 * 0.858 * 989e12)
    assert time.weights == pytest.approx(moved, rel=1e-12)
    assert time.weights + time.compute == pytest.approx((moved**2.95 + arithmetic**2.95) ** (1 / 2.95), rel=1e-12)
    assert time.launch == pytest.approx(4.25e-6)


def test_an_ideal_device_moves_nothing_but_the_experts_touched(h100):
    time = expert_time([ExpertProduct(64, 32, 8, 2)], 1, device_rates(h100, ideal=True))
    assert time.weights == pytest.approx(2 * 64 * 32 * 2 / 3.35e12, rel=1e-12)
    assert (time.compute, time.launch) == (0, 0)


@given(
    st.integers(0, 4000),
    st.integers(1, 200),
    st.sampled_from([1, 8]),
    st.sampled_from(["bf16", "fp8", "mxfp4", "nvfp4"]),
)
def test_more_tokens_never_take_less(tokens, more, devices, form):
    product = ExpertProduct(2048, 1536, 128, 8, devices, format=FORMATS[form])
    fewer, many = (sum(expert_time([product], n, B200)) for n in (tokens, tokens + more))
    assert many >= fewer * (1 - 1e-12)
