"""Number formats of weights: bytes per weight, and the tensor rate that multiplies them.

Knows neither models nor devices. Where a format says nothing of activations, they stay BF16.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

WeightFormat = Literal["bf16", "fp8", "int8", "w8a16", "w4a16", "mxfp4", "nvfp4"]
Matrices = Literal["all", "mlp"]
Compute = Literal["bf16", "fp8", "int8", "fp4"]


class Format(NamedTuple):
    """How the weights of a matrix product are stored and multiplied.

    Attributes:
        name: as files and messages call it.
        bytes_per_weight: scales included.
        compute: the tensor rate that multiplies them.
        activation_bytes: per number that the product reads, scales included.
        block: side of the squares of weights that share a scale, which engines do not cut; None where nothing forbids
            cuts.
    """

    name: str
    bytes_per_weight: float
    compute: Compute
    activation_bytes: float
    block: int | None = None

    @property
    def quantises_activations(self) -> bool:
        """Whether a kernel has to convert BF16 activations first."""
        return self.activation_bytes < BF16.activation_bytes

    @property
    def kernels(self) -> str:
        """What device files and engine profiles call the kernels that multiply it."""
        return self.compute if self.quantises_activations else self.name


BF16 = Format("bf16", 2.0, "bf16", 2.0)
FORMATS: dict[str, Format] = {
    "bf16": BF16,
    # a float32 scale per block of 128 x 128 weights and per 128 activations (DeepSeek-V3, arXiv 2412.19437, 3.3)
    "fp8": Format("fp8", 1 + 4 / 128**2, "fp8", 1 + 4 / 128),
    # W8A8 with one scale per output channel and per token: below 0.1 % of a matrix, left out
    "int8": Format("int8", 1.0, "int8", 1.0),
    # FP8 or INT8 weights with a scale per output channel, dequantised in registers (Marlin): BF16's tensor rate
    "w8a16": Format("w8a16", 1.0, "bf16", 2.0),
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


def stated(weight_format: str, matrices: Matrices) -> Quantisation:
    """The formats that a scenario gives."""
    return Quantisation(FORMATS[weight_format], matrices)


def formats(*quantisations: Quantisation) -> Iterator[Format]:
    """The formats in use."""
    for quantisation in quantisations:
        yield quantisation.attention
        yield quantisation.mlp
