"""Number formats of weights: bytes per weight, the tensor rate that multiplies them, and what a checkpoint declares.

Knows neither models nor devices. Where a format says nothing of activations, they stay BF16.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

WeightFormat = Literal["bf16", "fp8", "int8", "w4a16", "mxfp4", "nvfp4"]
Matrices = Literal["all", "mlp"]
Compute = Literal["bf16", "fp8", "int8", "fp4"]


class Format(NamedTuple):
    """How the weights of a matrix product are stored and multiplied.

    Attributes:
        name: as files and messages call it.
        bytes_per_weight: scales included.
        compute: the tensor rate that multiplies them.
        activation_bytes: per number that the product reads, scales included.
    """

    name: str
    bytes_per_weight: float
    compute: Compute
    activation_bytes: float

    @property
    def quantises_activations(self) -> bool:
        """Whether a kernel has to convert BF16 activations first."""
        return self.activation_bytes < BF16.activation_bytes


BF16 = Format("bf16", 2.0, "bf16", 2.0)
FORMATS: dict[str, Format] = {
    "bf16": BF16,
    # a float32 scale per block of 128 x 128 weights and per 128 activations (DeepSeek-V3, arXiv 2412.19437, 3.3)
    "fp8": Format("fp8", 1 + 4 / 128**2, "fp8", 1 + 4 / 128),
    # W8A8 with one scale per output channel and per token: below 0.1 % of a matrix, left out
    "int8": Format("int8", 1.0, "int8", 1.0),
    # GPTQ and AWQ: a float16 scale per group of 128; dequantised to BF16 in registers, so at BF16's tensor rate
    "w4a16": Format("w4a16", 0.5 + 2 / 128, "bf16", 2.0),
    # OCP MX: an E8M0 scale per 32 weights. Activations stay BF16, as gpt-oss is served: BF16's tensor rate
    "mxfp4": Format("mxfp4", 0.5 + 1 / 32, "bf16", 2.0),
    # an E4M3 scale per 16 numbers, of weights and of activations: FP4's tensor rate
    "nvfp4": Format("nvfp4", 0.5 + 1 / 16, "fp4", 0.5 + 1 / 16),
}


KV_BYTES = {"bf16": 2.0, "fp8": 1.0}


class Quantisation(NamedTuple):
    """Which matrices of a model are stored in which format; embeddings, routers and LM heads stay BF16.

    Attributes:
        format: of the quantised matrices.
        matrices: ``all`` of a layer's, or those of the ``mlp`` (experts included) alone.
    """

    format: Format = BF16
    matrices: Matrices = "all"

    @property
    def attention(self) -> Format:
        """Format of the matrices around attention."""
        return self.format if self.matrices == "all" else BF16

    @property
    def mlp(self) -> Format:
        """Format of MLPs and experts."""
        return self.format


UNQUANTISED = Quantisation()
KEPT_ANYWAY = ("lm_head", "embed", "router", "gate", "norm", "visual", "vision", "mtp", "nextn", "eh_proj", "conv1d")


def stated(weight_format: str, matrices: Matrices) -> Quantisation:
    """The formats that a scenario gives."""
    return Quantisation(FORMATS[weight_format], matrices)


def of_checkpoint(config: dict[str, Any]) -> Quantisation:
    """The formats that the ``quantization_config`` of a config.json declares.

    Raises:
        ValueError: for a method, a width or a list of exceptions that is not modelled.
    """
    method = str(config.get("quant_method", "")).lower()
    form = _format(method, config)
    exceptions = [str(name) for key in _EXCEPTION_LISTS for name in config.get(key) or ()]
    return Quantisation(form, "mlp" if _attention_is_kept(exceptions) else "all")


_EXCEPTION_LISTS = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules")


def _format(method: str, config: dict[str, Any]) -> Format:
    if method in {"gptq", "awq"}:
        bits, group = config.get("bits"), config.get("group_size", 128)
        if bits != 4 or not isinstance(group, int) or group < 1:
            raise ValueError(
                f"{method} with bits {bits} and group_size {group} is not modelled; use 4 bits with groups"
            )
        return FORMATS["w4a16"]._replace(bytes_per_weight=0.5 + 2 / group)
    algorithm = str(config.get("quant_algo") or config.get("format") or "").lower()
    for name in get_args(WeightFormat):
        if method == name or (method in {"modelopt", "compressed-tensors"} and name in algorithm):
            return FORMATS[name]
    raise ValueError(
        f"quantization_config with quant_method {config.get('quant_method')!r} is not supported yet; specsim reads "
        "fp8, mxfp4, gptq, awq, and modelopt or compressed-tensors checkpoints in fp8, nvfp4 or int8"
    )


def _attention_is_kept(exceptions: list[str]) -> bool:
    """Whether the listed exceptions keep attention in BF16; exceptions that are not modelled are refused."""
    attention = [name for name in exceptions if "attn" in name]
    other = [name for name in exceptions if name not in attention and not _kept_anyway(name)]
    if other:
        raise ValueError(
            f"quantization_config keeps {', '.join(other[:3])} unquantised, which is not supported yet: attention as a "
            "whole may be kept, single matrices may not"
        )
    return bool(attention)


def _kept_anyway(name: str) -> bool:
    return any(part in name for part in KEPT_ANYWAY)


def formats(*quantisations: Quantisation) -> Iterator[Format]:
    """The formats in use."""
    for quantisation in quantisations:
        yield quantisation.attention
        yield quantisation.mlp
