"""The number formats that the ``quantization_config`` of a config.json declares. Knows neither models nor devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from specsim.inputs.checkpoints.quantisation import FORMATS, Format, Quantisation, WeightFormat

# as a part of a module's name; "gate" is a router, "gate_proj" an MLP's matrix
KEPT_ANYWAY = re.compile(
    r"lm_head|embed|router|(?<![a-z])gate(?!_proj|_up)|_gate(?!_proj|_up)|norm|visual|vision|multi_modal|mtp|nextn|"
    r"eh_proj|conv1d|correction_bias|in_proj_(?:ba|b|a)\b"
)
_EXCEPTION_LISTS = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules")


def of_checkpoint(config: Mapping[str, Any]) -> Quantisation:
    """The formats that a ``quantization_config`` declares.

    Raises:
        ValueError: for a method, a width or a list of exceptions that is not modelled.
    """
    method = str(config.get("quant_method", "")).lower()
    groups = config.get("config_groups") if method == "compressed-tensors" else None
    form = _of_groups(groups) if isinstance(groups, Mapping) and groups else _of_method(method, config)
    exceptions = [str(name) for key in _EXCEPTION_LISTS for name in config.get(key) or ()]
    return Quantisation(form, "mlp" if _attention_is_kept(exceptions) else "all")


def _of_method(method: str, config: Mapping[str, Any]) -> Format:
    if method in {"gptq", "awq"}:
        bits, group = config.get("bits"), config.get("group_size", 128)
        if bits != 4 or not isinstance(group, int) or group < 1:
            raise ValueError(
                f"{method} with bits {bits} and group_size {group} is not modelled; use 4 bits with groups"
            )
        return FORMATS["w4a16"]._replace(bytes_per_weight=0.5 + 2 / group)
    if method == "fp8" and config.get("weight_block_size"):
        return _in_blocks(config["weight_block_size"])
    algorithm = str(config.get("quant_algo") or config.get("format") or "").lower()
    for name in get_args(WeightFormat):
        if method == name or (method in {"modelopt", "compressed-tensors"} and name in algorithm):
            return FORMATS[name]
    raise ValueError(
        f"quantization_config with quant_method {config.get('quant_method')!r} is not supported yet; specsim reads "
        "fp8, mxfp4, gptq, awq, modelopt in fp8 or nvfp4, and compressed-tensors with its config_groups"
    )


def _in_blocks(sides: Any) -> Format:
    """FP8 with a float32 scale per square of weights."""
    if not (isinstance(sides, list | tuple) and len(sides) == 2 and len(set(sides)) == 1 and type(sides[0]) is int):
        raise ValueError(f"weight blocks of {sides!r} are not modelled; squares such as [128, 128] are")
    side = sides[0]
    if side < 1:
        raise ValueError(f"weight blocks of {sides!r} are not modelled; squares such as [128, 128] are")
    return FORMATS["fp8"]._replace(bytes_per_weight=1 + 4 / side**2, block=side)


def _of_groups(groups: Mapping[str, Any]) -> Format:
    """The one format of all groups of a compressed-tensors checkpoint."""
    found = {_of_group(group) for group in groups.values()}
    if len(found) > 1:
        names = ", ".join(sorted(form.name for form in found))
        raise ValueError(f"config_groups of several formats ({names}) are not supported yet; one format for all is")
    return found.pop()


def _of_group(group: Any) -> Format:
    weights, activations = (
        (group.get(key) or {}) if isinstance(group, Mapping) else {} for key in ("weights", "input_activations")
    )
    kind, bits, size = weights.get("type", "int"), weights.get("num_bits"), weights.get("group_size")
    scales = 2 / size if isinstance(size, int) and size > 0 else 0.0
    match kind, bits, activations.get("num_bits"):
        case "float", 8, 8:
            return _in_blocks(weights.get("block_structure")) if weights.get("strategy") == "block" else PER_CHANNEL
        case "int", 8, 8:
            return FORMATS["int8"]
        case "float" | "int", 8, None:
            return FORMATS["w8a16"]._replace(bytes_per_weight=1 + scales)
        case "int", 4, None:
            return FORMATS["w4a16"]._replace(bytes_per_weight=0.5 + scales)
        case "float", 4, 4 if size == 16:
            return FORMATS["nvfp4"]
        case "float", 4, None if size == 16:
            return FORMATS["w4a16"]._replace(bytes_per_weight=FORMATS["nvfp4"].bytes_per_weight)
        case "float", 4, None if size == 32:
            return FORMATS["mxfp4"]
        case _:
            raise ValueError(
                f"config_groups with {kind} weights of {bits} bits (group_size {size}) and activations of "
                f"{activations.get('num_bits')} bits are not modelled; FP8, INT8, W8A16, W4A16, MXFP4 and NVFP4 are"
            )


# one scale per output channel and one per token: below 0.1 % of a matrix, left out
PER_CHANNEL = FORMATS["fp8"]._replace(bytes_per_weight=1.0, activation_bytes=1.0)


def _attention_is_kept(exceptions: list[str]) -> bool:
    """Whether the listed exceptions keep attention in BF16; exceptions that are not modelled are refused."""
    attention = [name for name in exceptions if "attn" in name]
    other = [name for name in exceptions if name not in attention and not KEPT_ANYWAY.search(name)]
    if other:
        raise ValueError(
            f"quantization_config keeps {', '.join(other[:3])} unquantised, which is not supported yet: attention as a "
            "whole may be kept, single matrices may not"
        )
    return bool(attention)
