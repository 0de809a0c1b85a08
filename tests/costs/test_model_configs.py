"""Hugging Face config.json files: dense models are read as published, others refused rather than priced wrongly."""

import pytest
from pydantic import ValidationError

from specsim.errors import InputError
from specsim.schema.load import read_model
from specsim.schema.model import ModelConfig

DIMENSIONS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "tie_word_embeddings",
    "mlp_matrices",
    "max_position_embeddings",
)
DENSE = {
    "meta-llama--Meta-Llama-3.1-8B": "llama-3.1-8b",
    "meta-llama--Meta-Llama-3.1-70B": "llama-3.1-70b",
    "meta-llama--Meta-Llama-3.1-405B": "llama-3.1-405b",
    "Qwen--Qwen3-0.6B": "qwen3-0.6b",
    "Qwen--Qwen3-1.7B": "qwen3-1.7b",
    "Qwen--Qwen3-8B": "qwen3-8b",
    "Qwen--Qwen3-32B": "qwen3-32b",
}
UNSUPPORTED = {
    "Qwen--Qwen3-30B-A3B": "mixture-of-experts",
    "Qwen--Qwen3-235B-A22B": "mixture-of-experts",
    "mistralai--Mixtral-8x7B-v0.1": "mixture-of-experts",
    "openai--gpt-oss-20b": "mixture-of-experts",
    "openai--gpt-oss-120b": "mixture-of-experts",
    "deepseek-ai--DeepSeek-V3": "MLA",
    "deepseek-ai--DeepSeek-V4-Flash": "mixture-of-experts",
    "Qwen--Qwen3.5-35B-A3B": "text_config",
    "Qwen--Qwen3.5-122B-A10B": "text_config",
}
SMALL = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
}


def published(shared, name):
    file = shared / "models" / f"{name}.json"
    if not file.exists():
        pytest.skip(f"needs ../shared/models/{file.name}, which is not beside this checkout")
    return str(file)


@pytest.mark.parametrize(("name", "ours"), DENSE.items())
def test_a_published_dense_config_agrees_with_the_catalogue(shared, name, ours):
    read, catalogued = read_model(published(shared, name)), read_model(ours)
    assert {key: getattr(read, key) for key in DIMENSIONS} == {key: getattr(catalogued, key) for key in DIMENSIONS}


@pytest.mark.parametrize(("name", "what"), UNSUPPORTED.items())
def test_a_published_config_of_another_kind_is_refused(shared, name, what):
    with pytest.raises(InputError, match=rf"{what}.* not supported yet"):
        read_model(published(shared, name))


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ({"num_experts": 8}, "mixture-of-experts"),
        ({"kv_lora_rank": 512}, "MLA"),
        ({"text_config": {"hidden_size": 64}}, "text_config"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "linear_attention"),
        ({"layer_types": ["sliding_attention"]}, "sliding_attention"),
        ({"layer_types": ["chunked_attention"]}, "chunked_attention"),
        ({"layer_types": ["conv", "full_attention"], "conv_L_cache": 3}, "convolution"),
        ({"moe_num_experts": 64}, "mixture-of-experts"),
        ({"ffn_config": {"moe_num_experts": 16}}, "mixture-of-experts"),
        ({"block_types": ["recurrent", "attention"]}, "mixed blocks"),
        ({"mamba_d_state": 128}, "state-space"),
        ({"num_kv_heads": 8}, "num_kv_heads"),
        ({"torch_dtype": "float32"}, "float32"),
        ({"dtype": "float32"}, "float32"),
        ({"sliding_window": 4096}, "sliding-window"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantised"),
    ],
)
def test_what_is_not_modelled_is_refused(extra, what):
    with pytest.raises(ValidationError, match=rf"{what}.* not supported yet"):
        ModelConfig.model_validate(SMALL | extra)


@pytest.mark.parametrize(
    "extra",
    [
        {"sliding_window": None},
        {"sliding_window": 4096, "use_sliding_window": False},
        {"num_experts": 1},
        {"num_experts": 0},
        {"layer_types": ["full_attention", "full_attention"]},
        {"quantization_config": None, "kv_lora_rank": None},
        {"torch_dtype": "float16"},
    ],
)
def test_a_dense_model_that_only_mentions_them_is_read(extra):
    assert ModelConfig.model_validate(SMALL | extra) == ModelConfig.model_validate(SMALL)


def test_what_configs_leave_out_is_filled_in():
    config = {key: value for key, value in SMALL.items() if key != "num_key_value_heads"}
    model = ModelConfig.model_validate(config | {"head_dim": None})
    assert (model.head_dim, model.num_key_value_heads, model.mlp_matrices) == (16, 4, 3)


def test_a_head_dimension_that_is_stated_wins():
    model = ModelConfig.model_validate(SMALL | {"head_dim": 32})
    assert (model.query_size, model.kv_size) == (4 * 32, 2 * 32)


def test_a_small_model_counted_by_hand():
    model = ModelConfig.model_validate(SMALL)
    attention, mlp, norms = 64 * 64 + 2 * 64 * 32 + 64 * 64, 3 * 64 * 128, 2 * 64
    assert model.num_parameters == 2 * (attention + mlp + norms) + 2 * 100 * 64 + 64


def test_a_two_matrix_mlp_is_known_by_family_or_by_statement():
    gated = ModelConfig.model_validate(SMALL).num_parameters
    for two in ({"model_type": "starcoder2"}, {"mlp_matrices": 2}):
        assert gated - ModelConfig.model_validate(SMALL | two).num_parameters == 2 * 64 * 128


def test_an_unknown_family_has_to_state_its_mlp():
    with pytest.raises(ValidationError, match="model_type 'novel' is not known here"):
        ModelConfig.model_validate(SMALL | {"model_type": "novel"})
    assert ModelConfig.model_validate(SMALL | {"model_type": "novel", "mlp_matrices": 3}).mlp_matrices == 3


def test_heads_have_to_divide():
    with pytest.raises(ValidationError, match="must be a multiple of num_key_value_heads"):
        ModelConfig.model_validate(SMALL | {"num_key_value_heads": 3})
