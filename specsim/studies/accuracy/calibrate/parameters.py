"""What calibration may fit: fields of an engine profile, each with a prior that says what is known without data.

All of them are positive and of unknown scale, so they are fitted as logarithms; a prior is a value and the standard
deviation of its logarithm. Knows nothing of measurements.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from specsim.inputs.models.drafters import PassKind
from specsim.inputs.models.engine import Engine, Graphs, Kernels, LinearUnderEngine, UnderFP8Cache
from specsim.inputs.models.hardware import PRECISIONS, Device, ProductPrecision


class Parameter(NamedTuple):
    """A field that can be fitted.

    Attributes:
        path: within the profile.
        spread: standard deviation of the logarithm of its prior.
        default: prior value where neither the profile nor the device has one; None: it is then not fitted.
        least, most: values that a profile may have.
        like: path of the parameter whose value is known of it where neither the profile nor the device has its own.
    """

    path: str
    spread: float
    default: float | None = None
    least: float = 0.0
    most: float = math.inf
    like: str = ""


DRAFT_PASS = "host_time_per_draft_pass"

# How far device files and releases have been seen apart: efficiencies of one GEMM by 3-15 % between serving stacks, of
# attention kernels by more, the host's times by factors of 2 to 4 (hardware/engines/vllm.yaml cites them).
PARAMETERS = (
    Parameter("kernels.linear.bandwidth_efficiency", 0.10, most=1.0),
    Parameter("kernels.linear.compute_efficiency", 0.25, most=1.0),
    Parameter("kernels.linear.sharpness", 0.3, least=0.1, most=100.0),
    Parameter("kernels.linear.launch", 0.3),
    Parameter("kernels.attention.bandwidth_efficiency", 0.25, most=1.0),
    Parameter("kernels.attention.launch", 0.3),
    Parameter("kernels.elementwise.launch", 0.5),
    Parameter("verify_attention_factor", 0.5, 1.5, least=1.0),
    Parameter("host_time_per_step", 1.0, 0.3e-3),
    Parameter("host_time_per_sequence", 1.0, 5e-6),
    Parameter("host_time_per_verified_row", 1.0, 5e-6),
    Parameter(DRAFT_PASS, 1.0, 0.2e-3),
    Parameter("graphs.eager_time_per_layer", 1.0, 0.2e-3),
    Parameter("graphs.piecewise_time_per_layer", 1.0, 0.1e-3),
)
# Token counts that vLLM captures by default, up to 512 (vllm/config: 1, 2, 4, then multiples of 8, above 256 of 16).
VLLM_GRAPH_SIZES = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))


# Other kernels run where weights or the cache are quantised: as far from those of BF16 as two stacks' are, and twice as
# far for products, whose dequantising is part of them.
FP8_CACHE = (
    Parameter("fp8_cache.attention.bandwidth_efficiency", 0.5, most=1.0, like="kernels.attention.bandwidth_efficiency"),
    Parameter("fp8_cache.verify_attention_factor", 0.5, least=1.0, like="verify_attention_factor"),
    Parameter("fp8_cache.host_time_per_verify", 1.5, 1e-3),
)


def _products(precision: ProductPrecision) -> tuple[Parameter, ...]:
    figures = {"launch": (0.0, math.inf), "bandwidth_efficiency": (0.0, 1.0), "compute_efficiency": (0.0, 1.0)}
    figures["sharpness"] = (1.0, 100.0)  # a sum: what dequantises is not hidden
    where = f"kernels.linear_by_precision.{precision}"
    return tuple(
        Parameter(f"{where}.{name}", 0.5, least=least, most=most, like=f"kernels.linear.{name}")
        for name, (least, most) in figures.items()
    )


def candidates(
    kinds: Collection[PassKind], precisions: Collection[ProductPrecision] = (), *, fp8_cache: bool = False
) -> tuple[Parameter, ...]:
    """What may be fitted to data.

    Args:
        kinds: of drafters in them; where there are several, each has its own draft pass.
        precisions: of quantised products in them.
        fp8_cache: whether some were measured with an FP8 cache.
    """
    chosen = list(PARAMETERS)
    if len(kinds) > 1:
        shared = next(p for p in chosen if p.path == DRAFT_PASS)
        chosen.remove(shared)
        chosen += [Parameter(f"{DRAFT_PASS}_of.{kind}", shared.spread, shared.default) for kind in sorted(kinds)]
    chosen += [p for precision in sorted(precisions) for p in _products(precision)]
    return (*chosen, *FP8_CACHE) if fp8_cache else tuple(chosen)


def prior_value(parameter: Parameter, engine: Engine, device: Device) -> float | None:
    """What is known of a parameter without data; None where it is nothing to fit."""
    own = own_value(parameter, engine, device)
    if not own and parameter.like:
        like = next(p for p in PARAMETERS if p.path == parameter.like)
        return prior_value(like, engine, device)
    return own if own else parameter.default


def own_value(parameter: Parameter, engine: Engine, device: Device) -> float | None:
    """What the profile says, or the device whose figures it leaves as they are; None where neither does."""
    value = _at(engine, parameter.path)
    if value is None and parameter.path.startswith(f"{DRAFT_PASS}_of."):
        value = engine.host_time_per_draft_pass
    if value is None and parameter.path.startswith("kernels."):
        value = _at(engine.on(device), parameter.path.removeprefix("kernels."))
    return value if isinstance(value, float) else None  # the sharpness of a hard maximum is a word


def with_values(engine: Engine, values: Mapping[str, float]) -> Engine:
    """The profile with these fields; unchecked, since a fit tries thousands."""
    for path, value in values.items():
        engine = _replaced(engine, path.split("."), value)
    return engine


def _replaced(block: Any, path: list[str], value: float) -> Any:
    name, *rest = path
    held = isinstance(block, dict)
    inner = block.get(name) if held else getattr(block, name)
    new = _replaced(_EMPTY[name] if inner is None else inner, rest, value) if rest else value
    return {**block, name: new} if held else block.model_copy(update={name: new})


_EMPTY: dict[str, Any] = {
    "kernels": Kernels(),
    "graphs": Graphs(sizes=VLLM_GRAPH_SIZES, eager_time_per_layer="0 us"),
    "fp8_cache": UnderFP8Cache(),
    f"{DRAFT_PASS}_of": {},
    **{precision: LinearUnderEngine() for precision in PRECISIONS},
}
"""What a profile does not hold yet, by the name of the field."""


def _at(block: Any, path: str) -> Any:
    for name in path.split("."):
        block = block.get(name) if isinstance(block, dict) else getattr(block, name, None)
    return block
