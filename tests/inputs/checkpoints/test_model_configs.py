"""Hugging Face config.json files: known kinds of layers are read as published, others refused by name."""

import pytest
from pydantic import ValidationError

from specsim.errors import InputError
from specsim.inputs.checkpoints.architecture import MLP, Attention, Experts, LatentAttention, LinearAttention
from specsim.inputs.checkpoints.model import ModelConfig, quantisation_of
from specsim.inputs.read.scenario import read_model

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
PUBLISHED = {
    "meta-llama--Meta-Llama-3.1-8B": "llama-3.1-8b",
    "meta-llama--Meta-Llama-3.1-70B": "llama-3.1-70b",
    "meta-llama--Meta-Llama-3.1-405B": "llama-3.1-405b",
    "Qwen--Qwen3-0.6B": "qwen3-0.6b",
    "Qwen--Qwen3-1.7B": "qwen3-1.7b",
    "Qwen--Qwen3-8B": "qwen3-8b",
    "Qwen--Qwen3-32B": "qwen3-32b",
    "Qwen--Qwen3-30B-A3B": "qwen3-30b-a3b",
    "Qwen--Qwen3-235B-A22B": "qwen3-235b-a22b",
    "Qwen--Qwen3.5-35B-A3B": "qwen3.5-35b-a3b",
    "Qwen--Qwen3.5-122B-A10B": "qwen3.5-122b-a10b",
    "mistralai--Mixtral-8x7B-v0.1": "mixtral-8x7b",
    "openai--gpt-oss-20b": "gpt-oss-20b",
    "openai--gpt-oss-120b": "gpt-oss-120b",
    "deepseek-ai--DeepSeek-V3": "deepseek-v3",
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


@pytest.mark.parametrize(("name", "ours"), PUBLISHED.items())
def test_a_published_config_agrees_with_the_catalogue(shared, name, ours):
    read, catalogued = read_model(published(shared, name)), read_model(ours)
    assert {key: getattr(read, key) for key in DIMENSIONS} == {key: getattr(catalogued, key) for key in DIMENSIONS}
    assert read.layers == catalogued.layers
    assert (read.num_parameters, read.num_mtp_layers) == (catalogued.num_parameters, catalogued.num_mtp_layers)
    assert quantisation_of(read) == quantisation_of(catalogued)


def test_what_is_not_understood_is_refused_by_name(shared):
    with pytest.raises(InputError, match=r"'hc_mult'.*'compress_ratios': unknown.*not supported yet"):
        read_model(published(shared, "deepseek-ai--DeepSeek-V4-Flash"))


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("llama-3.1-8b", {(Attention, MLP): 32}),
        ("qwen3-30b-a3b", {(Attention, Experts): 48}),
        ("gpt-oss-20b", {(Attention, Experts): 24}),
        ("deepseek-v3", {(LatentAttention, MLP): 3, (LatentAttention, Experts): 58}),
        ("kimi-k2", {(LatentAttention, MLP): 1, (LatentAttention, Experts): 60}),
        ("qwen3.5-35b-a3b", {(LinearAttention, Experts): 30, (Attention, Experts): 10}),
        ("qwen3.5-27b", {(LinearAttention, MLP): 48, (Attention, MLP): 16}),
        ("glm-4.5-air", {(Attention, MLP): 1, (Attention, Experts): 45}),
        ("minimax-m2", {(Attention, Experts): 62}),
        ("llama-4-scout", {(Attention, Experts): 48}),
        ("llama-4-maverick", {(Attention, MLP): 24, (Attention, Experts): 24}),
        ("qwen3-next-80b-a3b", {(LinearAttention, Experts): 36, (Attention, Experts): 12}),
        (
            "kimi-linear-48b-a3b",
            {(LinearAttention, MLP): 1, (LinearAttention, Experts): 19, (LatentAttention, Experts): 7},
        ),
        ("deepseek-v3.2", {(LatentAttention, MLP): 3, (LatentAttention, Experts): 58}),
    ],
)
def test_layers_of_each_kind(name, layers):
    found: dict[tuple[type, type], int] = {}
    for layer, count in read_model(name).layers:
        kind = (type(layer.mixer), type(layer.feed_forward))
        found[kind] = found.get(kind, 0) + count
    assert found == layers


def test_half_of_the_layers_of_gpt_oss_see_128_tokens():
    windows = {layer.mixer.window: count for layer, count in read_model("gpt-oss-120b").layers}
    assert windows == {128: 18, None: 18}


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ({"num_experts": 8}, "num_experts_per_tok is missing"),
        ({"num_experts_per_tok": 2}, "num_experts .* is missing"),
        ({"moe_intermediate_size": 768}, "num_experts .* is missing"),
        (
            {"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2},
            "moe_intermediate_size, the width of an expert, is missing",
        ),
        ({"num_hidden_layers": 10**30}, "more than 1000 layers"),
        ({"mlp_only_layers": 3}, "mlp_only_layers must be a list"),
        ({"first_k_dense_replace": "3"}, "first_k_dense_replace must be a whole number"),
        ({"kv_lora_rank": 512}, "MLA.*qk_rope_head_dim, qk_nope_head_dim, v_head_dim"),
        ({"text_config": {"hidden_size": 64, "linear_rank": 8}}, "'linear_rank'"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "linear attention also needs linear_num_key_heads"),
        ({"layer_types": ["sliding_attention", "full_attention"]}, "sliding attention also needs sliding_window"),
        ({"layer_types": ["full_attention"]}, "lists 1 layers and num_hidden_layers is 2"),
        ({"layer_types": ["chunked_attention"] * 2}, "chunked_attention are not supported yet"),
        ({"conv_L_cache": 3}, "'conv_L_cache'"),
        ({"moe_num_experts": 64}, "'moe_num_experts'"),
        ({"ffn_config": {"moe_num_experts": 16}}, "'ffn_config', 'moe_num_experts'"),
        ({"block_types": ["recurrent", "attention"]}, "'block_types'"),
        ({"mamba_d_state": 128}, "'mamba_d_state'"),
        ({"num_kv_heads": 8}, "'num_kv_heads'"),
        ({"use_mla_attention": True}, "'use_mla_attention'"),
        ({"torch_dtype": "float32"}, "float32 are not supported yet"),
        ({"dtype": "float32"}, "float32 are not supported yet"),
        ({"sliding_window": 4096}, "sliding_window: which layers .* not supported yet"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "'bitsandbytes' is not supported yet"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, "gptq with bits 3"),
        (
            {"quantization_config": {"quant_method": "fp8", "ignored_layers": ["model.layers.3.mlp.down_proj"]}},
            "down_proj",
        ),
        ({"num_experts": 4, "num_experts_per_tok": 8}, "exceeds 4 experts"),
        ({"num_experts": 4, "n_routed_experts": 8, "num_experts_per_tok": 2}, "name the same number"),
    ],
)
def test_what_is_not_modelled_is_refused(extra, what):
    with pytest.raises(ValidationError, match=what):
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
        {"rope_scaling": {"factor": 8.0}, "initializer_range": 0.02, "bos_token_id": 128000, "unsloth_fixed": True},
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
    mixer = model.layers[0][0].mixer
    assert (mixer.query_size, mixer.kv_size) == (4 * 32, 2 * 32)


def test_a_small_model_counted_by_hand():
    model = ModelConfig.model_validate(SMALL)
    attention, mlp, norms = 64 * 64 + 2 * 64 * 32 + 64 * 64, 3 * 64 * 128, 2 * 64
    assert model.num_parameters == 2 * (attention + mlp + norms) + 2 * 100 * 64 + 64


def test_a_two_matrix_mlp_is_known_by_family_or_by_statement():
    gated = ModelConfig.model_validate(SMALL).num_parameters
    for two in ({"model_type": "starcoder2"}, {"mlp_matrices": 2}):
        assert gated - ModelConfig.model_validate(SMALL | two).num_parameters == 2 * 64 * 128


def test_an_unknown_family_has_to_state_its_mlp():
    with pytest.raises(ValidationError, match="model_type 'novel' is unknown"):
        ModelConfig.model_validate(SMALL | {"model_type": "novel"})
    assert ModelConfig.model_validate(SMALL | {"model_type": "novel", "mlp_matrices": 3}).mlp_matrices == 3


def test_heads_have_to_divide():
    with pytest.raises(ValidationError, match="must be a multiple of num_key_value_heads"):
        ModelConfig.model_validate(SMALL | {"num_key_value_heads": 3})


@pytest.mark.parametrize("name", ["num_experts", "num_local_experts", "n_routed_experts"])
@pytest.mark.parametrize("depth", ["num_nextn_predict_layers", "mtp_num_hidden_layers"])
def test_experts_and_mtp_layers_go_by_several_names(name, depth):
    model = ModelConfig.model_validate(SMALL | {name: 8, "num_experts_per_tok": 2, depth: 1})
    assert (model.num_experts, model.num_mtp_layers) == (8, 1)
    assert model.layers[0][0].feed_forward == Experts(8, 2, 128, 3)


def test_which_layers_of_a_mixture_are_dense():
    mixture = SMALL | {"num_hidden_layers": 6, "num_experts": 8, "num_experts_per_tok": 2}

    def dense(**extra):
        return ModelConfig.model_validate(mixture | extra).dense_layers

    assert dense() == ()
    assert dense(first_k_dense_replace=2) == (0, 1)
    assert dense(mlp_only_layers=[3]) == (3,)
    assert dense(decoder_sparse_step=2) == (0, 2, 4)
    assert dense(moe_layer_freq=2) == (1, 3, 5)


@pytest.mark.parametrize(
    ("extra", "sliding"),
    [
        ({"model_type": "mistral"}, [0, 1, 2, 3]),
        ({"model_type": "qwen3", "use_sliding_window": True, "max_window_layers": 3}, [3]),
        ({"model_type": "gemma2"}, [0, 2]),
        ({"model_type": "gemma3_text", "sliding_window_pattern": 3}, [0, 1, 3]),
        ({"layer_types": ["full_attention"] * 3 + ["sliding_attention"]}, [3]),
    ],
)
def test_which_layers_slide(extra, sliding):
    model = ModelConfig.model_validate(SMALL | {"num_hidden_layers": 4, "sliding_window": 100} | extra)
    assert [i for i, kind in enumerate(model.layer_types) if kind == "sliding_attention"] == sliding


def test_an_mtp_layer_is_like_the_last_layers_of_its_model():
    for name, kind in (("deepseek-v3", LatentAttention), ("qwen3.5-35b-a3b", Attention)):
        ((layer, count),) = read_model(name).mtp_model.layers
        assert (type(layer.mixer), type(layer.feed_forward), count) == (kind, Experts, 1)
