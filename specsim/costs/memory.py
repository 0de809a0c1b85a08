"""What has to fit a device, and the number of KV-cache tokens that the rest holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from specsim.costs.shapes import ForwardShape
from specsim.errors import InfeasibleError, Problem
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device

GIB = 2**30


@dataclass(frozen=True)
class MemoryPlan:
    """The use of one device's memory and the KV pool that follows.

    The pool counts whole tokens: tokens that are in the cache of every layer.

    Attributes:
        usable, weights, draft_weights, reserve: sizes [B].
        kv_bytes_per_token: of a whole token, the drafter's caches included [B].
        kv_tokens: size of the pool [tokens].
        shapes: target and drafter.
    """

    usable: float
    weights: float
    draft_weights: float
    reserve: float
    kv_bytes_per_token: float
    kv_tokens: int
    shapes: tuple[ForwardShape, ...]

    @property
    def uneven(self) -> bool:
        """Whether some layers keep only a window of a sequence's tokens, or a state instead of a cache."""
        return any(
            shape.operators.states or any(a.window is not None for a in shape.operators.attentions)
            for shape in self.shapes
        )

    def pool_tokens(self, tokens: int, num_draft_tokens: int = 0) -> int:
        """Whole tokens that a sequence takes from the pool [tokens]: its own number, unless layers are uneven.

        Args:
            tokens: of the sequence, its drafts included.
            num_draft_tokens: the most in a verify; a linear layer keeps a state for each position to roll back to.
        """
        if not self.uneven:
            return tokens
        kept = sum(shape.cached_bytes(tokens, num_draft_tokens + 1) for shape in self.shapes)
        return math.ceil(kept / self.kv_bytes_per_token)

    def room(self, num_draft_tokens: int) -> Callable[[int], int]:
        """``pool_tokens`` at a draft length."""
        return partial(self.pool_tokens, num_draft_tokens=num_draft_tokens) if self.uneven else int


def memory_plan(
    device: Device, engine: Engine, target: ForwardShape, drafter: ForwardShape | None, *, where: str
) -> MemoryPlan:
    """Weights of target and drafter, a reserve for activations, and KV for the rest.

    Args:
        device, engine: sizes and the share that the engine uses.
        target, drafter: what is loaded; None without speculation.
        where: the scenario, for the message.

    Raises:
        InfeasibleError: no KV token fits beside the weights.
    """
    usable = device.memory.capacity * engine.memory_fraction
    shapes = (target,) if drafter is None else (target, drafter)
    loaded = [shape.resident_bytes for shape in shapes]
    per_token = sum(shape.kv_bytes_per_token for shape in shapes)
    free = usable - sum(loaded) - engine.activation_reserve
    kv_tokens = int(free // per_token)
    if kv_tokens < 1:
        alone = drafter is not None and usable - loaded[0] - engine.activation_reserve >= target.kv_bytes_per_token
        smaller = "drafter: the target alone fits" if alone else "model"
        remedy = (
            f"the weights need {sum(loaded) / GIB:.1f} GiB a device and activations "
            f"{engine.activation_reserve / GIB:.1f} GiB, but the engine uses {usable / GIB:.1f} GiB of {device.name}; "
            "use more devices (deployment.num_devices and deployment.tensor_parallel), a larger device or a smaller "
            f"{smaller}"
        )
        raise InfeasibleError([Problem(where, "deployment", "", remedy)])
    return MemoryPlan(usable, loaded[0], sum(loaded[1:]), engine.activation_reserve, per_token, kv_tokens, shapes)
