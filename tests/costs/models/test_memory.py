"""What fits a device, worked out by hand, and the refusal of what does not."""

import math

import pytest

from specsim.costs.memory import memory_plan
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.errors import InfeasibleError
from specsim.inputs.models.drafters import EagleHead, MedusaHeads, MTPLayers
from specsim.inputs.read.scenario import read_device, read_engine, read_model

EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")
CAPACITY = 81559 * 2**20
GIB = 2**30


@pytest.fixture(scope="module")
def vllm():
    return read_engine("vllm")


def test_kv_bytes_of_a_llama_8b_token(llama_8b, llama_70b):
    """Two (key, value) x 32 layers x 8 heads x 128 x 2 bytes; the 70B has 80 layers of the same heads."""
    assert target_shape(llama_8b, 1).kv_bytes_per_token == 131072
    assert target_shape(llama_8b, 4).kv_bytes_per_token == 32768
    assert target_shape(llama_70b, 1).kv_bytes_per_token == 327680


def test_llama_8b_on_an_h100(h100, vllm, llama_8b):
    plan = memory_plan(h100, vllm, target_shape(llama_8b, 1), None, where="here")
    assert plan.weights == pytest.approx(16.06e9, rel=1e-3)
    assert plan.draft_weights == 0
    assert plan.usable == 0.9 * CAPACITY
    assert plan.kv_tokens == int((0.9 * CAPACITY - 2 * llama_8b.num_parameters - 3 * GIB) // 131072)


def test_a_drafter_takes_memory_for_its_weights_and_its_own_cache(h100, vllm, llama_8b):
    head = drafter_shape(EAGLE3, read_model("eagle3-llama-3.1-8b"), 1)
    alone, both = (memory_plan(h100, vllm, target_shape(llama_8b, 1), drafter, where="") for drafter in (None, head))
    assert both.draft_weights == 2 * head.resident_parameters
    assert both.kv_bytes_per_token == 33 * 4096
    assert both.weights == alone.weights
    assert both.kv_tokens == int((alone.usable - both.weights - both.draft_weights - 3 * GIB) // (33 * 4096))


def test_the_pool_of_llama_8b_beside_an_eagle_head_against_a_published_log(h100, vllm, llama_8b):
    """vllm-project/vllm#19996 logs 410,128 KV tokens; the engine profile's reserve is stated as 1-2 GiB too small."""
    head = drafter_shape(EagleHead(kind="eagle", model="x", generation="eagle"), read_model("eagle-llama-3.1-8b"), 1)
    tokens = memory_plan(h100, vllm, target_shape(llama_8b, 1), head, where="").kv_tokens
    assert 0 <= tokens - 410_128 <= 2 * GIB / (33 * 4096)


def test_each_device_of_a_group_holds_its_share(h100, vllm, llama_70b):
    plan = memory_plan(h100, vllm, target_shape(llama_70b, 4), None, where="")
    assert plan.weights == 2 * llama_70b.num_parameters / 4
    assert plan.kv_tokens == int((0.9 * CAPACITY - plan.weights - 3 * GIB) // (327680 / 4))


def test_70b_on_one_h100_is_infeasible_and_the_message_says_what_would_help(h100, vllm, llama_70b):
    with pytest.raises(InfeasibleError, match=r"here: deployment: the weights need 131\.4 GiB .* 71\.7 GiB") as caught:
        memory_plan(h100, vllm, target_shape(llama_70b, 1), None, where="here")
    assert "use more devices" in str(caught.value)


def test_a_window_frees_the_pool_and_a_whole_cache_does_not(h100, vllm, llama_8b):
    """gpt-oss-20b: 12 of 24 layers keep 128 tokens, so 1128 tokens take the room of 564 + 64 whole ones."""
    oss = memory_plan(h100, vllm, target_shape(read_model("gpt-oss-20b")), None, where="")
    assert [oss.pool_tokens(tokens) for tokens in (1, 128, 1128)] == [1, 128, 628]
    dense = memory_plan(h100, vllm, target_shape(llama_8b), None, where="")
    assert dense.pool_tokens(1128, 5) == 1128


def test_speculating_multiplies_the_states_of_linear_layers(vllm):
    """Three drafts keep four states to go back to; each of Qwen3.5-35B-A3B is worth 3144 tokens of 20,480 bytes."""
    plan = memory_plan(read_device("h200"), vllm, target_shape(read_model("qwen3.5-35b-a3b")), None, where="")
    state = 30 * (32 * 128 * 128 * 4 + 3 * 8192 * 2)
    assert plan.kv_bytes_per_token == 20480
    assert plan.pool_tokens(1000) == math.ceil(1000 + state / 20480)
    assert plan.pool_tokens(1000, num_draft_tokens=3) == math.ceil(1000 + 4 * state / 20480)


@pytest.mark.parametrize(
    ("target", "drafter", "model"),
    [
        ("llama-3.1-8b", EAGLE3, "eagle3-llama-3.1-8b"),
        ("llama-3.1-8b", MedusaHeads(kind="medusa", num_heads=4), "llama-3.1-8b"),
        ("qwen3.5-27b", MTPLayers(kind="mtp"), None),
    ],
)
def test_any_drafter_takes_room_from_the_pool(vllm, target, drafter, model):
    own = read_model(target)
    shape = drafter_shape(drafter, read_model(model) if model else own.mtp_model)
    alone, both = (memory_plan(read_device("h200"), vllm, target_shape(own), d, where="") for d in (None, shape))
    assert both.kv_tokens < alone.kv_tokens


def test_the_pool_may_be_as_small_as_one_token(h100, vllm, llama_8b):
    shape = target_shape(llama_8b, 1)
    needed = 2 * llama_8b.num_parameters + 131072
    exact = vllm.model_copy(update={"memory_fraction": 1.0, "activation_reserve": CAPACITY - needed})
    assert memory_plan(h100, exact, shape, None, where="").kv_tokens == 1
    short = exact.model_copy(update={"activation_reserve": CAPACITY - needed + 1})
    with pytest.raises(InfeasibleError):
        memory_plan(h100, short, shape, None, where="")
