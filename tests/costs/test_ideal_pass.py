"""The textbook device: a pass takes as long as reading its weights, until its arithmetic takes longer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.analysis.closed_form import pass_cost
from specsim.costs.passes import PassCost
from specsim.costs.shapes import target_shape
from specsim.forward import Pass
from specsim.inputs.read.scenario import read_device, read_model

RIDGE = 989e12 / 3.35e12
MAX_TOKENS = 2048
# weights and compute are sums of a hundred-odd rounded products
ROUNDING = 1e-13


@pytest.fixture(scope="module")
def ideal():
    return PassCost(target_shape(read_model("llama-3.1-8b"), 1), read_device("h100-sxm"), ideal=True)


def decode(tokens, context=0):
    return Pass(tokens, tokens, tokens, context, context)


def test_the_ridge_of_an_h100_in_bf16():
    assert abs(RIDGE - 295.2) < 0.05


def test_a_one_token_pass_streams_every_matrix_once(ideal):
    matrices = 32 * (4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336) + 128256 * 4096
    seconds = ideal.price(decode(1))
    assert sum(seconds) == pytest.approx(2 * matrices / 3.35e12, rel=ROUNDING)
    assert seconds.weights == sum(seconds)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-3.1-70b", "qwen3-32b", "eagle3-llama-3.1-8b"])
def test_a_pass_grows_by_exactly_tokens_over_ridge(model):
    cost = PassCost(target_shape(read_model(model), 1), read_device("h100-sxm"), ideal=True)
    one = sum(cost.price(decode(1)))
    growth = [sum(cost.price(decode(tokens))) / one for tokens in range(1, MAX_TOKENS + 1)]
    expected = [max(1.0, tokens / RIDGE) for tokens in range(1, MAX_TOKENS + 1)]
    np.testing.assert_allclose(growth, expected, rtol=ROUNDING)
    np.testing.assert_allclose(growth, pass_cost(np.arange(1, MAX_TOKENS + 1), RIDGE), rtol=ROUNDING)


def test_four_drafts_are_verified_for_nothing_up_to_batch_59(ideal):
    one = sum(ideal.price(decode(1)))
    assert math.floor(RIDGE / 5) == 59
    assert sum(ideal.price(decode(59 * 5))) == one
    assert sum(ideal.price(decode(60 * 5))) == pytest.approx(one * 300 / RIDGE, rel=ROUNDING)
    assert sum(ideal.price(decode(60 * 5))) > 1.01 * one


@given(tokens=st.integers(1, MAX_TOKENS), context=st.integers(0, 10**9))
def test_only_weights_and_their_arithmetic_cost_anything(ideal, tokens, context):
    seconds = ideal.price(decode(tokens, context))
    assert seconds == ideal.price(decode(tokens))
    assert (seconds.kv, seconds.launch, seconds.communication) == (0, 0, 0)


def test_a_group_of_devices_shares_the_time_and_its_links_are_free(ideal):
    shared = PassCost(target_shape(read_model("llama-3.1-8b"), 8), read_device("h100-sxm"), ideal=True)
    for tokens in (1, 300, 400):
        assert sum(shared.price(decode(tokens))) == pytest.approx(sum(ideal.price(decode(tokens))) / 8, rel=ROUNDING)
