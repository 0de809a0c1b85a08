"""Bytes and operations of a pass, counted by hand; and the two ways in which its seconds are split agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.costs.layers import Parallelism
from specsim.costs.lowered import use_pass
from specsim.costs.passes import PassCost
from specsim.costs.roofline import device_rates
from specsim.costs.shapes import target_shape
from specsim.costs.usage import pass_usage
from specsim.costs.use import PassUse
from specsim.forward import Pass, attended
from specsim.inputs.checkpoints.model import quantisation_of
from specsim.inputs.checkpoints.quantisation import UNQUANTISED
from specsim.inputs.read.scenario import read_device, read_model

B200 = read_device("b200")
MODELS = ["llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-20b", "deepseek-r1-nvfp4", "qwen3.5-35b-a3b"]
ROUNDING = 1e-12


def shape(name):
    model = read_model(name)
    return target_shape(model, parallelism=Parallelism(quantisation=quantisation_of(model) or UNQUANTISED))


SHAPES = {name: shape(name) for name in MODELS}
COSTS = {name: PassCost(found, B200, ideal=False) for name, found in SHAPES.items()}
USES = {
    (name, ideal): PassUse(found, B200, device_rates(B200, ideal=ideal))
    for name, found in SHAPES.items()
    for ideal in (False, True)
}


def verify(batch, queries, context):
    tokens, keys = batch * queries, context + queries - 1
    return Pass(tokens, tokens, batch, batch * keys, batch * attended(queries, keys))


def test_a_llama_8b_by_hand(h100):
    """8 requests, 4 queries each, 1000 tokens of context: every matrix once, rows in and out, two KV heads' worth.

    Between the products: norms with their residuals, queries and keys turned, keys and values cached, gate and up.
    """
    work = verify(8, 4, 1000)
    layer = [(4096, 6144), (4096, 4096), (4096, 28672), (14336, 4096)]
    matrices, rows = 32 * sum(i * o for i, o in layer), 32 * sum(i + o for i, o in layer)
    head, head_row = 4096 * 128256, 4096 + 128256
    moved = 2 * (matrices + head + 32 * (rows + head_row)) + 131072 * 8 * 1003
    moved += 2 * 32 * 32 * (2 * 4 * 4096 + 2 * 4096 + 6 * 1024 + 3 * 14336)
    operations = 2 * 32 * (matrices + head) + 4 * 32 * 4096 * 8 * attended(4, 1003)
    usage = pass_usage(SHAPES["llama-3.1-8b"], h100, work, ideal=False)
    assert usage.bytes == pytest.approx(moved, rel=ROUNDING)
    assert usage.operations == pytest.approx(operations, rel=ROUNDING)
    assert usage.peak_seconds == pytest.approx(operations / 989e12, rel=ROUNDING)


@given(st.sampled_from(MODELS), st.integers(1, 512), st.integers(1, 8), st.integers(1, 20_000))
def test_waiting_for_memory_and_for_arithmetic_is_all_but_launches_and_kv(name, batch, queries, context):
    work = verify(batch, queries, context)
    usage, parts = pass_usage(SHAPES[name], B200, work, ideal=False), COSTS[name].price(work)
    assert usage.streaming + usage.computing == pytest.approx(parts.weights + parts.compute, rel=1e-9)


@given(st.sampled_from(MODELS), st.integers(1, 512), st.integers(1, 8), st.integers(1, 20_000))
def test_no_pass_moves_or_computes_more_than_the_device_can(name, batch, queries, context):
    work = verify(batch, queries, context)
    usage, seconds = pass_usage(SHAPES[name], B200, work, ideal=False), sum(COSTS[name].price(work))
    assert usage.bytes / B200.memory.bandwidth <= seconds
    assert usage.peak_seconds <= seconds


def test_the_ideal_device_is_at_one_of_its_peaks(h100):
    found = SHAPES["llama-3.1-8b"]
    cost = PassCost(found, h100, ideal=True)
    for tokens in (1, 295, 296, 2000):
        work = Pass(tokens, tokens, tokens, 10**6, 10**6)
        usage, seconds = pass_usage(found, h100, work, ideal=True), sum(cost.price(work))
        shares = usage.bytes / 3.35e12 / seconds, usage.peak_seconds / seconds
        assert max(shares) == pytest.approx(1, rel=ROUNDING)
        assert (usage.computing == 0) == (tokens <= 295)


def test_a_mixture_reads_the_experts_touched(h100):
    """One token of Mixtral passes through 2 of 8 experts."""
    found = shape("mixtral-8x7b")
    one = pass_usage(found, h100, Pass(1, 1, 1, 0, 0), ideal=True)
    experts = sum(product.bytes for product in found.operators.experts)
    rest = found.operators.bytes - experts + found.head.bytes
    assert one.bytes == pytest.approx(rest + experts / 4, rel=ROUNDING)


@given(
    st.sampled_from(MODELS),
    st.integers(1, 512),
    st.integers(1, 8),
    st.integers(1, 20_000),
    st.booleans(),
)
def test_what_the_engine_adds_up_is_what_is_counted_here(name, batch, queries, context, ideal):
    """Tables over rows and the pass taken apart: the same sums in another order, of some ten terms."""
    work = verify(batch, queries, context)
    usage = pass_usage(SHAPES[name], B200, work, ideal=ideal)
    form = USES[name, ideal].form(work.tokens)
    assert use_pass(form, work) == pytest.approx(usage[:3], rel=ROUNDING)
