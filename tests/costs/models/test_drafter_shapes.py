"""What a drafter multiplies and keeps in memory, counted by hand from the papers' architectures."""

import pytest

from specsim.costs.layers import Operators
from specsim.costs.linear import Linear
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.inputs.models.drafters import (
    BlockParallelHead,
    DraftModel,
    EagleHead,
    MedusaHeads,
    MTPLayers,
    SequentialCorrection,
)
from specsim.inputs.read.scenario import read_model

H, KV, MLP, V, DRAFT_V = 4096, 1024, 14336, 128256, 32000
EAGLE = EagleHead(kind="eagle", model="x", generation="eagle")
EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")


def test_a_draft_model_is_a_whole_model():
    model = read_model("llama-3.2-1b")
    assert drafter_shape(DraftModel(kind="draft_model", model="x"), model, 2) == target_shape(model, 2)


def test_an_eagle_head_fuses_on_every_pass_and_borrows_the_lm_head():
    shape = drafter_shape(EAGLE, read_model("eagle-llama-3.1-8b"), 1)
    layer = H * (H + 2 * KV) + H * H + 3 * H * MLP
    assert shape.linears[0] == Linear(2 * H, H)
    assert sum(linear.weights for linear in shape.linears) == layer + 2 * H * H
    assert shape.head == Linear(H, V)
    assert shape.fusion == ()
    assert shape.resident_parameters == layer + 2 * H * H


def test_an_eagle3_head_fuses_three_states_apart_and_has_its_own_small_lm_head():
    shape = drafter_shape(EAGLE3, read_model("eagle3-llama-3.1-8b"), 1)
    layer = 2 * H * (H + 2 * KV) + H * H + 3 * H * MLP
    assert sum(linear.weights for linear in shape.linears) == layer
    assert shape.head == Linear(H, DRAFT_V)
    assert shape.fusion == (Linear(3 * H, H),)
    assert shape.resident_parameters == layer + 3 * H * H + H * DRAFT_V


@pytest.mark.parametrize("drafter", [EAGLE, EAGLE3])
def test_a_group_of_devices_holds_the_head_once(drafter):
    model = read_model(f"{drafter.generation}-llama-3.1-8b")
    one, four = (drafter_shape(drafter, model, group) for group in (1, 4))
    assert four.resident_parameters == one.resident_parameters
    assert four.head.weights == one.head.weights / 4


def test_an_mtp_layer_is_a_layer_of_its_target_behind_a_fusion():
    target = read_model("qwen3.5-35b-a3b")
    shape = drafter_shape(MTPLayers(kind="mtp"), target.mtp_model)
    ((layer, _),) = target.mtp_model.layers
    assert shape.linears[0] == Linear(2 * 2048, 2048)
    assert shape.resident_parameters == layer.matrix_parameters(2048) + 2 * 2048 * 2048
    assert shape.kv_bytes_per_token == target_shape(target).kv_bytes_per_token / 10
    assert shape.head == target_shape(target).head


def test_medusa_heads_have_blocks_and_lm_heads_and_no_cache():
    shape = drafter_shape(MedusaHeads(kind="medusa", num_heads=5, num_layers=2), read_model("llama-3.1-8b"))
    assert shape.linears == (Linear(H, H, 10),)
    assert shape.head == Linear(H, V, 5)
    assert shape.resident_parameters == 5 * (2 * H * H + H * V)
    assert shape.kv_bytes_per_token == 0
    assert shape.operators == Operators()


def test_a_block_parallel_head_makes_keys_and_values_of_the_targets_states():
    model = read_model("eagle-llama-3.1-8b").model_copy(update={"num_hidden_layers": 5})
    drafter = BlockParallelHead(kind="block_parallel", model="x", block_size=16, fused_layers=5)
    shape = drafter_shape(drafter, model)
    layer = H * (H + 2 * KV) + H * H + 3 * H * MLP
    assert shape.fusion == (Linear(5 * H, H), Linear(H, 2 * KV, 5))
    # its keys and values are products with matrices that its layers have anyway
    assert shape.resident_parameters == 5 * layer + 5 * H * H
    assert shape.kv_bytes_per_token == 5 * 2 * KV * 2


def test_the_dspark_head_for_apertus_weighs_what_its_checkpoint_does():
    """Published with two digits: 3.4 GB, its Markov head of rank 256 (embedding 266,752, output 131,072) included."""
    head = BlockParallelHead(
        kind="block_parallel", model="x", block_size=7, fused_layers=5, sequential_correction={"rank": 256}
    )
    shape = drafter_shape(head, read_model("dspark-apertus-v1.5-8b"), 1)
    # the config knows the heads' vocabulary alone, and so does the embedding counted
    larger_embedding = 2 * 256 * (266752 - 131072)
    assert shape.resident_bytes + larger_embedding == pytest.approx(3.4e9, abs=0.05e9)


def test_a_sequential_correction_is_an_embedding_and_a_product_of_its_rank_whole_on_every_device():
    model = read_model("dspark-apertus-v1.5-8b")
    plain = BlockParallelHead(kind="block_parallel", model="x", block_size=7, fused_layers=5)
    corrected = plain.model_copy(update={"sequential_correction": SequentialCorrection(rank=256)})
    for devices in (1, 4):
        without, shape = (drafter_shape(head, model, devices) for head in (plain, corrected))
        assert shape.correction == (Linear(256, 131072),)
        assert shape.resident_bytes - without.resident_bytes == 2 * 2 * 256 * 131072
        assert shape.resident_parameters - without.resident_parameters == 2 * 256 * 131072
