"""Turns the many spellings of Hugging Face's ``config.json`` into the one that ``ModelConfig`` reads.

Knows names, not costs. Refuses any unknown key whose name suggests that it changes the architecture: a silent default
would be a wrong price.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specsim.inputs.checkpoints.config_keys import ALIASES, ARCHITECTURE_WORDS, COUNTS, HARMLESS, READ, SPECULATORS
from specsim.inputs.checkpoints.families import in_common_words

GATED_FAMILIES = (
    *(
        "llama",
        "mistral",
        "mixtral",
        "phi3",
        "gemma",
        "gemma2",
        "gemma3_text",
        "qwen2",
        "qwen2_moe",
        "qwen3",
        "qwen3_moe",
    ),
    *("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"),
    *("gpt_oss", "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_linear", "glm4", "glm4_moe"),
    *("minimax_m2", "llama4_text", "gemma4_text", "gemma4_unified_text"),
)
TWO_MATRIX_FAMILIES = ("gpt_neox", "starcoder2", "phi", "nemotron")  # those that use the same keys as Llama
QUERY_KEY_NORM_FAMILIES = ("qwen3", "qwen3_moe", "qwen3_next", "qwen3_5", "gemma3", "gemma4")

MOST_LAYERS = 1000
LAYER_TYPES = ("full_attention", "sliding_attention", "linear_attention")
NUMBER_TYPES = ("bfloat16", "float16")


def normalised(raw: dict[str, Any]) -> dict[str, Any]:
    """The keys of ``ModelConfig``, with defaults for what the file leaves out.

    Raises:
        ValueError: naming what is not modelled.
    """
    merged = in_common_words(_without_nesting(raw))
    _refuse_unread(merged)
    filled = {key: value for key, value in merged.items() if value is not None}
    for name, others in ALIASES.items():
        stated = {other: filled[other] for other in (name, *others) if other in filled}
        if len(set(map(str, stated.values()))) > 1:
            raise ValueError(f"{' and '.join(stated)} name the same number but differ; leave one out")
        if stated:
            filled[name] = next(iter(stated.values()))
    number_type = filled.get("torch_dtype") or filled.get("dtype")
    if number_type is not None and number_type not in NUMBER_TYPES:
        raise ValueError(f"weights in {number_type} are not supported yet; use one of {', '.join(NUMBER_TYPES)}")
    _check_types(filled)
    _fill_attention(filled)
    _fill_experts(filled)
    return filled


def _without_nesting(raw: dict[str, Any]) -> dict[str, Any]:
    """The text model of a multimodal config, without the vision tower; the layer of a head in speculators' format."""
    layer = raw.get("transformer_layer_config")
    if isinstance(layer, dict) and "speculators_model_type" in raw:
        return layer | {key: raw[key] for key in SPECULATORS if key in raw}
    text = raw.get("text_config")
    if not isinstance(text, dict):
        return raw
    return {key: value for key, value in raw.items() if key != "text_config"} | text


def _refuse_unread(raw: dict[str, Any]) -> None:
    unread = [key for key in _keys_in_use(raw) if any(word in key.lower() for word in ARCHITECTURE_WORDS)]
    if unread:
        names = ", ".join(map(repr, dict.fromkeys(unread)))
        raise ValueError(
            f"{names}: unknown and may change the architecture, so the model is not supported yet; remove such a field "
            "from the file if it changes neither a matrix nor what is cached"
        )


def _keys_in_use(raw: Any) -> Iterator[str]:
    """Keys, at any depth, that are not read here and whose value switches something on."""
    for key, value in raw.items():
        if key in READ or key in HARMLESS or key.endswith(("_token_id", "_token_ids", "_token_index")):
            continue
        if value is True or value not in (None, False, 0, 1, "", [], {}):
            yield str(key)
        if isinstance(value, dict):
            yield from _keys_in_use(value)


def _check_types(filled: dict[str, Any]) -> None:
    for key in COUNTS:
        value = filled.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"{key} must be a whole number, not {value!r}")
    layers = filled.get("num_hidden_layers")
    if isinstance(layers, int) and layers > MOST_LAYERS:
        raise ValueError(f"num_hidden_layers is {layers}; models of more than {MOST_LAYERS} layers are not supported")
    dense = filled.get("mlp_only_layers", [])
    if not isinstance(dense, list):
        raise ValueError(f"mlp_only_layers must be a list of layers, not {dense!r}")


def _fill_attention(filled: dict[str, Any]) -> None:
    heads, hidden = filled.get("num_attention_heads"), filled.get("hidden_size")
    if heads is not None:
        filled.setdefault("num_key_value_heads", heads)
    if "head_dim" not in filled and isinstance(heads, int) and isinstance(hidden, int) and heads > 0:
        head_dim, rest = divmod(hidden, heads)
        if not rest:
            filled["head_dim"] = head_dim
        elif "kv_lora_rank" in filled:
            filled["head_dim"] = filled.get("v_head_dim")  # MLA states its widths apart
    family = str(filled.get("model_type", ""))
    normed = filled.get("use_qk_norm", family.startswith(QUERY_KEY_NORM_FAMILIES)) and family != "llama4_text"
    filled.setdefault("query_key_norm", bool(normed))  # Llama 4's has no weights
    filled.setdefault("gpt_oss_vectors", family == "gpt_oss")
    if "mlp_matrices" not in filled:
        filled["mlp_matrices"] = _mlp_matrices(family)
    filled["layer_types"] = _layer_types(filled, family)
    if isinstance(filled["layer_types"], tuple | None) and "sliding_attention" not in (filled["layer_types"] or ()):
        filled.pop("sliding_window", None)
    if family == "qwen3_next" or family.startswith("qwen3_5"):
        filled.setdefault("attn_output_gate", True)


def _layer_types(filled: dict[str, Any], family: str) -> Any:
    """The kind of each layer's attention, from the file or by the family's rule; None for full attention throughout."""
    stated, layers = filled.get("layer_types"), filled.get("num_hidden_layers")
    if isinstance(stated, list | tuple):
        other = sorted({str(kind) for kind in stated if kind not in LAYER_TYPES})
        if other:
            raise ValueError(
                f"layer_types: layers of type {', '.join(other)} are not supported yet; known: {', '.join(LAYER_TYPES)}"
            )
        if isinstance(layers, int) and len(stated) != layers:
            raise ValueError(f"layer_types lists {len(stated)} layers and num_hidden_layers is {layers}; correct one")
        return None if set(stated) == {"full_attention"} else tuple(stated)
    if stated is not None or not isinstance(layers, int):
        return stated
    if "full_attention_interval" in filled:
        return _every(filled["full_attention_interval"], layers, "linear_attention")
    if filled.get("sliding_window") and filled.get("use_sliding_window", True):
        return _window_layers(filled, family, layers)
    return None


def _window_layers(filled: dict[str, Any], family: str, layers: int) -> tuple[str, ...]:
    if family in {"mistral", "mixtral", "phi3"}:
        return ("sliding_attention",) * layers
    if family.startswith("qwen"):
        full: int = filled.get("max_window_layers", layers)
        return ("full_attention",) * min(full, layers) + ("sliding_attention",) * max(0, layers - full)
    if family == "gemma2":
        return _every(2, layers, "sliding_attention")
    if "sliding_window_pattern" in filled:
        return _every(filled["sliding_window_pattern"], layers, "sliding_attention")
    raise ValueError(
        "sliding_window: which layers of this family slide is unknown, so it is not supported yet; add "
        '"layer_types" with "sliding_attention" or "full_attention" for each layer'
    )


def _every(interval: int, layers: int, between: str) -> tuple[str, ...]:
    return tuple(between if (i + 1) % max(interval, 1) else "full_attention" for i in range(layers))


def _fill_experts(filled: dict[str, Any]) -> None:
    experts, layers = filled.get("num_experts"), filled.get("num_hidden_layers")
    family = str(filled.get("model_type", ""))
    if experts is None and ("moe_intermediate_size" in filled or "moe" in family or "num_experts_per_tok" in filled):
        raise ValueError(
            "num_experts (or num_local_experts, n_routed_experts) is missing beside other keys of experts; add it"
        )
    if not isinstance(experts, int) or experts <= 1:
        for key in ("num_experts", "num_experts_per_tok"):
            filled.pop(key, None)
        return
    if "num_experts_per_tok" not in filled:
        raise ValueError(f"num_experts_per_tok is missing beside {experts} experts; add it")
    if "moe_intermediate_size" not in filled and family.startswith(("qwen", "deepseek", "kimi")):
        raise ValueError(f"moe_intermediate_size, the width of an expert, is missing beside {experts} experts; add it")
    if "moe_intermediate_size" not in filled and "intermediate_size" in filled:
        filled["moe_intermediate_size"] = filled["intermediate_size"]
    if isinstance(filled.get("moe_intermediate_size"), int):
        filled.setdefault("intermediate_size", filled["moe_intermediate_size"])  # of dense layers, where there are any
        shared = (filled.get("n_shared_experts") or 0) * filled["moe_intermediate_size"]
        filled.setdefault("shared_intermediate_size", filled.get("shared_expert_intermediate_size") or shared)
    filled.setdefault("shared_expert_gate", bool(filled.get("shared_expert_intermediate_size")))
    if isinstance(layers, int):
        filled.setdefault("dense_layers", tuple(i for i in range(layers) if _is_dense(i, filled)))


def _is_dense(layer: int, filled: dict[str, Any]) -> bool:
    """Whether a layer of a mixture has a plain MLP (DeepSeek's and Qwen's rules)."""
    if layer < filled.get("first_k_dense_replace", 0) or layer in filled.get("mlp_only_layers", ()):
        return True
    return bool(layer % (filled.get("moe_layer_freq") or 1)) or bool(
        (layer + 1) % (filled.get("decoder_sparse_step") or 1)
    )


def _mlp_matrices(family: str) -> int:
    if family in GATED_FAMILIES:
        return 3
    if family in TWO_MATRIX_FAMILIES:
        return 2
    raise ValueError(
        f"model_type {family!r} is unknown; if it is a decoder with layers that specsim models, add "
        '"mlp_matrices": 3 (SwiGLU: gate, up, down) or "mlp_matrices": 2 (up, down) to the file'
    )
