"""Behaviour that any model, format and drafter must show, whatever the numbers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.costs.layers import Parallelism
from specsim.costs.passes import PassCost
from specsim.costs.shapes import target_shape
from specsim.forward import Pass, attended
from specsim.inputs.checkpoints.model import quantisation_of
from specsim.inputs.checkpoints.quantisation import FORMATS, UNQUANTISED, Quantisation
from specsim.inputs.read.scenario import load_scenario, read_device, read_model
from specsim.simulation.replica import Simulation

B200 = read_device("b200")
MODELS = [
    "llama-3.1-8b",
    "qwen3-30b-a3b",
    "gpt-oss-20b",
    "deepseek-r1-nvfp4",
    "qwen3.5-35b-a3b",
    "qwen3.5-27b",
    "mixtral-8x7b",
]
MIXTURES = ["qwen3-30b-a3b", "gpt-oss-20b", "deepseek-r1-nvfp4", "qwen3.5-35b-a3b", "mixtral-8x7b"]
ROUNDING = 1e-12


def cost(name, device=B200, *, ideal=False, **parallelism):
    model = read_model(name)
    parallelism = {"quantisation": quantisation_of(model) or UNQUANTISED} | parallelism
    return PassCost(target_shape(model, parallelism=Parallelism(**parallelism)), device, ideal=ideal)


COSTS = {name: cost(name) for name in MODELS}


def verify(batch, queries, context):
    tokens, keys = batch * queries, context + queries - 1
    return Pass(tokens, tokens, batch, batch * keys, batch * attended(queries, keys))


@given(st.sampled_from(MODELS), st.integers(1, 256), st.integers(1, 8), st.integers(1, 20_000), st.floats(1.0, 4.0))
def test_more_bandwidth_never_slows_a_step(name, batch, queries, context, faster):
    memory = B200.memory.model_copy(update={"bandwidth": B200.memory.bandwidth * faster})
    quick = cost(name, B200.model_copy(update={"memory": memory}))
    work = verify(batch, queries, context)
    assert sum(quick.price(work)) <= sum(COSTS[name].price(work)) * (1 + ROUNDING)


@given(st.sampled_from(MODELS), st.integers(1, 256), st.integers(1, 8), st.integers(1, 20_000), st.integers(1, 5000))
def test_a_longer_context_never_reads_less(name, batch, queries, context, more):
    near, far = (COSTS[name].price(verify(batch, queries, length)) for length in (context, context + more))
    assert far.kv > near.kv
    assert far.weights == near.weights
    assert sum(far) > sum(near)


@given(st.sampled_from(MODELS), st.integers(1, 128), st.integers(1, 7), st.integers(1, 20_000))
def test_verifying_more_tokens_never_takes_less(name, batch, queries, context):
    fewer, more = (sum(COSTS[name].price(verify(batch, q, context))) for q in (queries, queries + 1))
    assert more >= fewer * (1 - ROUNDING)


@pytest.mark.parametrize("name", MIXTURES)
def test_verifying_reads_more_experts_from_batch_1_on(name):
    reads = [COSTS[name].price(verify(1, queries, 1000)).weights for queries in (1, 2, 4, 8)]
    assert all(later > 1.01 * earlier for earlier, later in pairwise(reads))
    ideal = cost(name, ideal=True)
    assert sum(ideal.price(verify(1, 2, 1))) > 1.01 * sum(ideal.price(verify(1, 1, 1)))


def test_of_a_dense_model_verifying_at_batch_1_reads_nothing_more():
    ideal = cost("llama-3.1-8b", ideal=True)
    assert sum(ideal.price(verify(1, 8, 1))) == sum(ideal.price(verify(1, 1, 1)))


@pytest.mark.parametrize("name", ["llama-3.1-8b", "qwen3-30b-a3b", "qwen3.5-27b"])
def test_eight_bits_halve_what_is_streamed_but_for_the_head(name):
    head = 2 * read_model(name).vocab_size * read_model(name).hidden_size / 7.7e12
    work = verify(1, 1, 1)
    plain, half = (
        cost(name, ideal=True, quantisation=Quantisation(FORMATS[form])).price(work).weights - head
        for form in ("bf16", "fp8")
    )
    # routers stay BF16: below 1 % of what a token of these models reads
    assert half == pytest.approx(plain / 2, rel=0.01)


@pytest.mark.parametrize("name", MIXTURES)
def test_at_many_tokens_a_mixture_reads_all_experts(name):
    model = read_model(name)
    ideal = cost(name, ideal=True, quantisation=UNQUANTISED)
    head = model.vocab_size * model.hidden_size
    everything = 2 * (model.matrix_parameters + head) / 7.7e12
    assert ideal.price(verify(4000, 1, 1)).weights == pytest.approx(everything, rel=1e-6)


@pytest.mark.parametrize(
    "drafter", ["{kind: medusa, num_heads: 3}", "{kind: eagle, model: eagle3-llama-3.1-8b, vocabulary_map: d2t}"]
)
def test_capacity_falls_when_a_drafter_is_added(drafter):
    simulation = Simulation(
        load_scenario(
            "llama3.1-8b-h100-eagle3",
            [f"speculation.drafter={drafter}", "curve.num_draft_tokens=[1, 2, 3]"],
        )
    )
    assert simulation.memory(True).kv_tokens < simulation.memory(False).kv_tokens
