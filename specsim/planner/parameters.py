"""What calibration may fit: fields of an engine profile, each with a prior that says what is known without data.

All of them are positive and of unknown scale, so they are fitted as logarithms; a prior is a value and the standard
deviation of its logarithm. Knows nothing of measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from specsim.schema.engine import Engine, Graphs, Kernels
from specsim.schema.hardware import Device


class Parameter(NamedTuple):
    """A field that can be fitted.

    Attributes:
        path: within the profile.
        spread: standard deviation of the logarithm of its prior.
        default: prior value where neither the profile nor the device has one; None: it is then not fitted.
    """

    path: str
    spread: float
    default: float | None = None


# How far device files and releases have been seen apart: efficiencies of one GEMM by 3-15 % between serving stacks, of
# attention kernels by more, the host's times by factors of 2 to 4 (hardware/engines/vllm.yaml cites them).
PARAMETERS = (
    Parameter("kernels.linear.bandwidth_efficiency", 0.10),
    Parameter("kernels.linear.compute_efficiency", 0.25),
    Parameter("kernels.linear.sharpness", 0.3),
    Parameter("kernels.linear.launch", 0.3),
    Parameter("kernels.attention.bandwidth_efficiency", 0.25),
    Parameter("kernels.attention.launch", 0.3),
    Parameter("kernels.elementwise.launch", 0.5),
    Parameter("verify_attention_factor", 0.5, 1.5),
    Parameter("host_time_per_step", 1.0, 0.3e-3),
    Parameter("host_time_per_verified_row", 1.0, 5e-6),
    Parameter("host_time_per_draft_pass", 1.0, 0.2e-3),
    Parameter("graphs.eager_time_per_layer", 1.0, 0.2e-3),
    Parameter("graphs.piecewise_time_per_layer", 1.0, 0.1e-3),
)
# Token counts that vLLM captures by default, up to 512 (vllm/config: 1, 2, 4, then multiples of 8, above 256 of 16).
VLLM_GRAPH_SIZES = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))


def prior_value(parameter: Parameter, engine: Engine, device: Device) -> float | None:
    """What is known of a parameter without data; None where it is nothing to fit."""
    value = _at(engine, parameter.path)
    if value is None and parameter.path.startswith("kernels."):
        value = _at(device, parameter.path.removeprefix("kernels."))
    if value is None or value == 0 or not isinstance(value, float):
        return parameter.default
    return value


def with_values(engine: Engine, values: Mapping[str, float]) -> Engine:
    """The profile with these fields; unchecked, since a fit tries thousands."""
    for path, value in values.items():
        engine = _replaced(engine, path.split("."), value)
    return engine


def _replaced(block: Any, path: list[str], value: float) -> Any:
    name, *rest = path
    if not rest:
        return block.model_copy(update={name: value})
    inner = getattr(block, name)
    if inner is None:
        inner = Kernels() if name == "kernels" else Graphs(sizes=VLLM_GRAPH_SIZES, eager_time_per_layer="0 us")
    return block.model_copy(update={name: _replaced(inner, rest, value)})


def _at(block: Any, path: str) -> Any:
    for name in path.split("."):
        block = getattr(block, name, None)
    return block
