"""The lowered form of a pass equals a direct evaluation of the profile's formulas, and grows with what it is given."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.costs.lowered import PassTime
from specsim.costs.passes import PassCost
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.forward import Pass
from specsim.inputs.models.drafters import DraftModel, EagleHead
from specsim.inputs.read.scenario import read_device, read_model

MAX_TOKENS = 700
ROUNDING = 1e-14
EAGLE = EagleHead(kind="eagle", model="x", generation="eagle")
EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")
NOTHING = Pass(0, 0, 0, 0, 0)

SHAPES = {
    "target": lambda: target_shape(read_model("llama-3.1-8b"), 1),
    "target on four": lambda: target_shape(read_model("llama-3.1-8b"), 4),
    "draft model": lambda: drafter_shape(DraftModel(kind="draft_model", model="x"), read_model("llama-3.2-1b"), 1),
    "eagle": lambda: drafter_shape(EAGLE, read_model("eagle-llama-3.1-8b"), 1),
    "eagle3": lambda: drafter_shape(EAGLE3, read_model("eagle3-llama-3.1-8b"), 1),
}
DEVICES = ["h100-sxm", "a100-sxm-80gb", "l40s"]


@st.composite
def passes(draw):
    tokens = draw(st.integers(1, MAX_TOKENS))
    counts = st.integers(0, tokens)
    context = draw(st.integers(tokens, 10**7))
    return Pass(tokens, draw(counts), draw(counts), context, draw(st.integers(context, 10**9)), draw(counts))


def product_seconds(linear, rows, device):
    first, then = device.linear.row_tile
    computed = first if 0 < rows <= first else math.ceil(rows / then) * then
    arithmetic = 2 * linear.inputs * linear.outputs * computed / (device.linear.compute_efficiency * device.peak.bf16)
    moved = 2 * (linear.inputs * linear.outputs + rows * (linear.inputs + linear.outputs))
    traffic = moved / (device.linear.bandwidth_efficiency * device.memory.bandwidth)
    n = device.linear.sharpness
    return 0.0 if rows == 0 else linear.repeats * (device.linear.launch + (arithmetic**n + traffic**n) ** (1 / n))


def all_reduces_seconds(tokens, shape, device):
    group = shape.tensor_parallel
    if group == 1:
        return 0.0
    figures, size = device.allreduce, 2 * tokens * shape.model.hidden_size
    link = 2 * (group - 1) / group * size / (figures.efficiency[group] * device.interconnect.bandwidth)
    q = figures.sharpness[group]
    return 2 * shape.model.num_hidden_layers * (figures.launch**q + link**q) ** (1 / q)


def reading_seconds(kv_bytes, blocks, layers, device):
    attention = device.attention
    read = kv_bytes / (attention.bandwidth_efficiency * device.memory.bandwidth)
    read += min(read, layers * attention.ramp)
    n = attention.sharpness
    return (read**n + (blocks * attention.per_kv_head) ** n) ** (1 / n)


def direct_seconds(work, shape, device):
    """One pass, operator after operator, without tables."""
    model, layers, attention = shape.model, shape.model.num_hidden_layers, device.attention
    kv_bytes = 2 * 2 * layers * model.num_key_value_heads * model.head_dim / shape.tensor_parallel
    pair_flops = 2 * 2 * layers * model.num_attention_heads * model.head_dim / shape.tensor_parallel
    blocks = layers * work.sequences * model.num_key_value_heads / shape.tensor_parallel
    # two norms with their residuals on every device; of its heads, queries and keys are turned, keys and values cached;
    # of its part of the MLP, gate and up are read and their product written
    heads = (2 * model.num_attention_heads + 6 * model.num_key_value_heads) * model.head_dim
    moved = layers * (2 * 4 * model.hidden_size + (heads + 3 * model.intermediate_size) / shape.tensor_parallel)
    return math.fsum(
        [
            *(product_seconds(linear, work.tokens, device) for linear in shape.linears),
            product_seconds(shape.head, work.logit_rows, device),
            *(product_seconds(linear, work.fused_tokens, device) for linear in shape.fusion),
            layers * attention.launch,
            reading_seconds(work.context_tokens * kv_bytes, blocks, layers, device),
            work.query_context * pair_flops / (attention.compute_efficiency * device.peak.bf16),
            layers * device.elementwise.kernels_per_layer * device.elementwise.launch,
            2 * work.tokens * moved / (device.linear.bandwidth_efficiency * device.memory.bandwidth),
            all_reduces_seconds(work.tokens, shape, device),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_lowered_form_is_the_direct_evaluation(shape, device):
    shape, device = SHAPES[shape](), read_device(device)
    cost = PassCost(shape, device, ideal=False)

    @given(passes())
    def check(work):
        # sums of some ten positive terms, each a handful of roundings and two powers away from the other form
        assert sum(cost.price(work)) == pytest.approx(direct_seconds(work, shape, device), rel=1e-12)

    check()


@pytest.fixture(scope="module")
def h100_cost():
    return PassCost(SHAPES["eagle3"](), read_device("h100-sxm"), ideal=False)


@given(
    passes(), st.sampled_from(["tokens", "logit_rows", "context_tokens", "query_context", "fused_tokens"]), st.data()
)
def test_more_work_never_takes_less_time(h100_cost, work, what, data):
    largest = MAX_TOKENS if what in {"tokens", "logit_rows", "fused_tokens"} else 10**10
    more = work._replace(**{what: data.draw(st.integers(getattr(work, what), largest))})
    assert sum(h100_cost.price(more)) >= sum(h100_cost.price(work)) * (1 - ROUNDING)


@given(passes())
def test_no_part_is_negative(h100_cost, work):
    # compute is a soft maximum minus one of its terms, so it may round to a hair below zero
    assert min(h100_cost.price(work)) >= -ROUNDING * sum(h100_cost.price(work))


def test_a_pass_without_tokens_takes_no_time(h100_cost):
    assert h100_cost.price(NOTHING) == PassTime(0, 0, 0, 0, 0)


def test_kv_is_read_once_whatever_the_number_of_queries(h100_cost):
    one, many = (h100_cost.price(Pass(tokens, tokens, 1, 1000, 1000 * tokens)) for tokens in (1, 8))
    assert one.kv == many.kv > 0


def test_kv_time_of_llama_8b_by_hand(h100):
    """131,072 bytes a token at 96.2 % of 3.35 TB/s, and as long again since a layer takes less than the ramp of 4.9 us.

    Beside it 23.1 ns for each of 8 KV heads in 32 layers.
    """
    cost = PassCost(SHAPES["target"](), h100, ideal=False)
    reading, blocks = 2 * 1000 * 131072 / (0.962 * 3.35e12), 32 * 8 * 23.1e-9
    assert cost.price(Pass(1, 1, 1, 1000, 1000)).kv == pytest.approx((reading**1.31 + blocks**1.31) ** (1 / 1.31))


def test_launches_of_a_layer_by_hand(h100):
    """Four matrix products, attention and four elementwise kernels."""
    launch = PassCost(SHAPES["target"](), h100, ideal=False).price(Pass(1, 0, 1, 0, 0)).launch
    assert launch / 32 == pytest.approx(4 * 4.25e-6 + 11.5e-6 + 4 * 2.5e-6)
