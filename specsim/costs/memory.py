"""What has to fit a device, and how many KV-cache tokens the rest holds."""

from __future__ import annotations

from dataclasses import dataclass

from specsim.costs.linear import BYTES_PER_ELEMENT
from specsim.costs.passes import ForwardShape, kv_bytes_per_token
from specsim.errors import InfeasibleError, Problem
from specsim.schema.hardware import Device, Engine

GIB = 2**30


@dataclass(frozen=True)
class MemoryPlan:
    """The use of one device's memory [B] and the KV pool that follows [tokens]."""

    usable: float
    weights: float
    draft_weights: float
    reserve: float
    kv_bytes_per_token: float
    kv_tokens: int


def memory_plan(
    device: Device, engine: Engine, target: ForwardShape, drafter: ForwardShape | None, *, where: str
) -> MemoryPlan:
    """Weights of target and drafter, a reserve for activations, and KV for the rest.

    Args:
        device, engine: sizes and the share that the engine uses.
        target, drafter: what is loaded; None without speculation.
        where: the scenario, for the message.

    Raises:
        InfeasibleError: when no KV token fits beside the weights.
    """
    usable = device.memory.capacity * engine.memory_fraction
    shapes = [target] if drafter is None else [target, drafter]
    loaded = [shape.resident_parameters * BYTES_PER_ELEMENT / shape.tensor_parallel for shape in shapes]
    per_token = sum(kv_bytes_per_token(shape) for shape in shapes)
    free = usable - sum(loaded) - engine.activation_reserve
    kv_tokens = int(free // per_token)
    if kv_tokens < 1:
        remedy = (
            f"the weights need {sum(loaded) / GIB:.1f} GiB a device and activations "
            f"{engine.activation_reserve / GIB:.1f} GiB, but the engine uses {usable / GIB:.1f} GiB of {device.name}; "
            "use more devices (deployment.num_devices and deployment.tensor_parallel), a larger device or a smaller "
            "model"
        )
        raise InfeasibleError([Problem(where, "deployment", "", remedy)])
    return MemoryPlan(usable, loaded[0], sum(loaded[1:]), engine.activation_reserve, per_token, kv_tokens)
