"""Families that say things in their own way: the layers and sizes that their published files stand for."""

import pytest
from pydantic import ValidationError

from specsim.costs.shapes import target_shape
from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.read.scenario import read_model


@pytest.mark.parametrize(
    ("name", "parameters", "within", "active"),
    [
        # parameters as published, and how far the count may be off: half of the last digit given
        ("phi-4", 14.7e9, 0.05, None),
        ("glm-4.5-air", 106e9, 1.0, 12e9),  # the count of arXiv 2508.06471 leaves out the embedding's last rows
        ("minimax-m2", 229e9, 0.5, 10e9),
        ("llama-4-scout", 109e9 - 0.9e9, 0.5, 17e9),  # without the vision tower
        ("llama-4-maverick", 400e9, 1.0, 17e9),
        ("gemma-3-27b", 27e9, 0.5, None),
        ("qwen3-next-80b-a3b", 80e9, 0.5, 3e9),
        ("kimi-linear-48b-a3b", 49e9, 0.5, 3e9),
        ("deepseek-v3.2", 671e9 + 0.85e9, 0.5, 37e9),  # V3's, and the indexer's 0.85 B
    ],
)
def test_sizes_are_the_published_ones(name, parameters, within, active):
    model = read_model(name)
    assert abs(model.num_parameters - parameters) <= within * 1e9
    if active:
        assert abs(model.active_parameters - active) <= 1e9


@pytest.mark.parametrize(
    ("name", "windows"),
    [("gemma-3-27b", {1024: 52, None: 10}), ("llama-4-scout", {8192: 36, None: 12}), ("phi-4", {None: 40})],
)
def test_windows(name, windows):
    found: dict[int | None, int] = {}
    for layer, count in read_model(name).layers:
        found[layer.mixer.window] = found.get(layer.mixer.window, 0) + count
    assert found == windows


GEMMA4 = {
    "model_type": "gemma4_text",
    "attention_k_eq_v": True,
    "global_head_dim": 512,
    "head_dim": 256,
    "hidden_size": 3840,
    "intermediate_size": 15360,
    "num_attention_heads": 16,
    "num_global_key_value_heads": 1,
    "num_hidden_layers": 48,
    "num_key_value_heads": 8,
    "num_kv_shared_layers": 0,
    "hidden_size_per_layer_input": 0,
    "sliding_window": 1024,
    "vocab_size": 262144,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 8,
}


def test_full_layers_of_gemma_4_have_heads_of_their_own():
    model = ModelConfig.model_validate(GEMMA4)
    full, sliding = (
        next(layer.mixer for layer, _ in model.layers if layer.mixer.window == window) for window in (None, 1024)
    )
    assert (full.query_size, full.kv_size, full.projected_kv_size) == (16 * 512, 512, 512)
    assert (sliding.query_size, sliding.kv_size, sliding.projected_kv_size) == (16 * 256, 8 * 256, 2 * 8 * 256)
    assert model.num_parameters == pytest.approx(12e9, rel=0.01)  # its name
    # keys and values of all layers while a context is short: 8 full and 40 sliding layers in BF16
    assert target_shape(model).kv_bytes_per_token == 2 * 2 * (8 * 512 + 40 * 8 * 256)


def test_experts_of_gemma_4_stand_beside_the_mlp():
    mixture = {"enable_moe_block": True, "num_experts": 128, "top_k_experts": 8, "moe_intermediate_size": 704}
    model = ModelConfig.model_validate(GEMMA4 | mixture)
    (part,) = {layer.feed_forward for layer, _ in model.layers}
    assert (part.number, part.per_token, part.width, part.shared_width) == (128, 8, 704, 15360)


@pytest.mark.parametrize(("key", "value"), [("num_kv_shared_layers", 4), ("hidden_size_per_layer_input", 256)])
def test_what_small_gemmas_add_is_refused(key, value):
    with pytest.raises(ValidationError, match=f"{key} is {value}: .* not supported yet"):
        ModelConfig.model_validate(GEMMA4 | {key: value})


def test_what_a_published_gemma_3_leaves_out():
    """google/gemma-3-4b-it: 3.88 B in the text model."""
    stated = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    model = ModelConfig.model_validate({"model_type": "gemma3", "text_config": stated | {"sliding_window": 1024}})
    assert (model.num_attention_heads, model.num_key_value_heads, model.head_dim) == (8, 4, 256)
    assert model.tie_word_embeddings
    assert model.num_parameters == pytest.approx(3.88e9, rel=1e-3)


def test_lightning_attention_is_refused():
    minimax = {
        "model_type": "minimax_m2", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 32, "vocab_size": 100, "num_local_experts": 4, "num_experts_per_tok": 2,
    }  # fmt: skip
    assert ModelConfig.model_validate(minimax | {"attn_type_list": [1, 1]}).moe_intermediate_size == 32
    with pytest.raises(ValidationError, match="lightning attention"):
        ModelConfig.model_validate(minimax | {"attn_type_list": [0, 1]})


def test_a_head_in_speculators_format_is_the_head_of_its_layer():
    layer = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 32,
        "num_key_value_heads": 8, "num_hidden_layers": 1, "head_dim": 128, "vocab_size": 151936,
        "max_position_embeddings": 40960,
    }  # fmt: skip
    speculators = {
        "architectures": ["Eagle3DraftModel"],
        "speculators_model_type": "eagle3",
        "speculators_version": "0.8.0",
        "speculators_config": {"algorithm": "eagle3", "proposal_methods": [{"speculative_tokens": 3}]},
        "eagle_aux_hidden_state_layer_ids": [2, 18, 33],
        "norm_before_residual": True,
        "draft_vocab_size": 32000,
        "transformer_layer_config": layer,
    }
    found = ModelConfig.model_validate(speculators)
    assert found == ModelConfig.model_validate(layer | {"draft_vocab_size": 32000})
    assert found.logits_size == 32000
