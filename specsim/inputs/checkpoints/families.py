"""Families whose ``config.json`` says things in its own way, put into the spelling that the others share.

Knows names, not costs. Meanings are those of the families' code in Hugging Face transformers.
"""

from __future__ import annotations

from typing import Any

GEMMA3_DEFAULTS = {  # Gemma3TextConfig of transformers 4.50; published files leave out what equals them
    "vocab_size": 262_208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131_072,
    "sliding_window_pattern": 6,
    "tie_word_embeddings": True,
}


def in_common_words(raw: dict[str, Any]) -> dict[str, Any]:
    """The file with the keys that ``config_json`` reads.

    Raises:
        ValueError: naming what is not modelled.
    """
    if "mlp_matrices" in raw:  # no published file has it: these are the common words already
        return raw
    match raw.get("model_type"):
        case "gemma3_text":
            return GEMMA3_DEFAULTS | {key: value for key, value in raw.items() if value is not None}
        case "gemma4_text" | "gemma4_unified_text":
            return _gemma4(raw)
        case "kimi_linear":
            return _kimi_linear(raw)
        case "llama4_text":
            return _llama4(raw)
        case "minimax_m2":
            return _minimax_m2(raw)
        case _:
            return raw


def _gemma4(raw: dict[str, Any]) -> dict[str, Any]:
    """Full layers have heads of their own, whose values are their keys; experts stand beside the dense MLP."""
    for key in ("num_kv_shared_layers", "hidden_size_per_layer_input"):
        if raw.get(key):
            raise ValueError(f"{key} is {raw[key]}: layers that share caches, or have inputs of their own, are not "
                             "supported yet")  # fmt: skip
    own = {"tie_word_embeddings": True} | raw
    if raw.get("enable_moe_block"):
        own |= {"num_experts_per_tok": raw.get("top_k_experts"), "shared_intermediate_size": raw["intermediate_size"]}
    else:
        own = {key: value for key, value in own.items() if key not in ("num_experts", "moe_intermediate_size")}
    return {key: value for key, value in own.items() if key not in ("enable_moe_block", "top_k_experts")}


def _kimi_linear(raw: dict[str, Any]) -> dict[str, Any]:
    """Kimi delta attention (arXiv 2510.26692) on some layers, MLA on the others; both lists count from 1."""
    own = dict(raw)
    linear = own.pop("linear_attn_config", None)
    if not isinstance(linear, dict):
        raise ValueError("linear_attn_config is missing; add it as the published config.json has it")
    layers = raw.get("num_hidden_layers")
    full = linear.get("full_attn_layers")
    if not isinstance(layers, int) or not isinstance(full, list):
        raise ValueError("linear_attn_config.full_attn_layers must list the layers with full attention, from 1 on")
    own["layer_types"] = ["full_attention" if i + 1 in full else "linear_attention" for i in range(layers)]
    own |= {f"linear_num_{kind}_heads": linear.get("num_heads") for kind in ("key", "value")}
    own |= {f"linear_{kind}_head_dim": linear.get("head_dim") for kind in ("key", "value")}
    own |= {"linear_gate_rank": linear.get("head_dim")}  # f_a_proj and g_a_proj are as narrow as a head
    own["linear_conv_kernel_dim"] = linear.get("short_conv_kernel_size", 4)
    own["num_experts_per_tok"] = own.pop("num_experts_per_token", None)
    own["n_shared_experts"] = own.pop("num_shared_experts", None)
    return own


def _llama4(raw: dict[str, Any]) -> dict[str, Any]:
    """Chunked attention on three layers of four; experts on every n-th layer, with a shared one as wide as they."""
    own, layers, width = dict(raw), raw.get("num_hidden_layers"), raw.get("intermediate_size")
    own["moe_intermediate_size"] = own["shared_intermediate_size"] = width
    own["intermediate_size"] = own.pop("intermediate_size_mlp", width)
    own["sliding_window"] = own.pop("attention_chunk_size", None)
    step, chosen = own.pop("interleave_moe_layer_step", 1), own.pop("moe_layers", None)
    rotary, interval = own.pop("no_rope_layers", None), own.pop("no_rope_layer_interval", 4)
    if not isinstance(layers, int) or not isinstance(step, int) or step < 1:
        raise ValueError(f"interleave_moe_layer_step is {step!r}; it must be a whole number, at least 1")
    experts = chosen if isinstance(chosen, list) else list(range(step - 1, layers, step))
    own["dense_layers"] = [i for i in range(layers) if i not in experts]
    if not own.get("layer_types"):
        chunked = rotary or [int((i + 1) % interval != 0) for i in range(layers)]
        own["layer_types"] = ["chunked_attention" if one else "full_attention" for one in chunked]
    # a token sees its chunk as far as it goes: as much as a window of that size where contexts end within the first
    # chunk, and at most as much beyond
    kinds = {"chunked_attention": "sliding_attention"}
    own["layer_types"] = [kinds.get(kind, kind) for kind in own["layer_types"]]
    return own


def _minimax_m2(raw: dict[str, Any]) -> dict[str, Any]:
    own = dict(raw)
    kinds = own.pop("attn_type_list", None) or []
    if any(kind != 1 for kind in kinds):
        raise ValueError("attn_type_list: layers of lightning attention are not supported yet; full attention (1) is")
    own["moe_intermediate_size"] = raw.get("intermediate_size")
    modules, layers = own.pop("num_mtp_modules", 0), own.pop("mtp_transformer_layers", 1)
    own["num_mtp_layers"] = modules * layers if own.pop("use_mtp", False) else 0
    return own
