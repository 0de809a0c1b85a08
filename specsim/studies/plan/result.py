"""What a plan found: every arm, what serving the demand takes with it, and which is best."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from specsim.analysis.intervals import Interval
from specsim.arrays import Ints
from specsim.costs.extrapolation import Extrapolation
from specsim.forward import Reach
from specsim.inputs.models.plan import Limit
from specsim.inputs.models.scenario import Scenario
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.bottleneck import Bottleneck
from specsim.studies.plan.bound import Capacity, rate_ratio
from specsim.studies.plan.demand import Demand
from specsim.studies.plan.unloaded import UnloadedLatency
from specsim.studies.shared.model_error import ModelError

HOUR = 3600.0


class ArmResult(NamedTuple):
    """One arm, measured.

    Attributes:
        arm: how it drafts.
        capacity: what it serves within the limits.
        unloaded: each limit against an empty system, where no rate meets them all; empty elsewhere.
        bottleneck: what it is short of at the bound; None where no rate meets the limits.
        tokens_per_request: mean output tokens.
        reached: how far steps went at the bound.
    """

    arm: Arm
    capacity: Capacity
    unloaded: tuple[UnloadedLatency, ...]
    bottleneck: Bottleneck | None
    tokens_per_request: float
    reached: Reach | None

    @property
    def tokens_per_s(self) -> float:
        """Output tokens per second of one replica at the bound."""
        return self.capacity.bound * self.tokens_per_request


class Serving(NamedTuple):
    """What serving the demand takes with one arm.

    Attributes:
        replicas: in each period.
        mean_replicas: over time.
        gpus: at the peak.
        dollars_per_million: output tokens, of all replicas there have to be; None without a price.
        joules_per_token: at full board power; None where the device's is not known.
        kilowatts: mean over time, at full board power.
    """

    replicas: Ints
    mean_replicas: float
    gpus: int
    dollars_per_million: float | None
    joules_per_token: float | None
    kilowatts: float | None


class Unfinished(NamedTuple):
    """An arm that an interruption left out.

    Attributes:
        arm: how it drafts.
        rate: the largest at which one run of it met the limits by then [requests/s]; 0 where none did.
    """

    arm: Arm
    rate: float

    @property
    def words(self) -> str:
        """``static 2 (one run met the limits at 3.1 requests/s)``."""
        name = self.arm.name if self.arm.policy else "without speculation"
        return f"{name} (one run met the limits at {self.rate:.3g} requests/s)" if self.rate else name


@dataclass(frozen=True)
class PlanResult:
    """Every arm of a plan.

    Attributes:
        limits: that were to be met.
        arms: measured ones, in the order of ``arms_of``.
        demand: the rate to serve; None where none is given.
        num_devices: of a replica, or of the fleet.
        power: that these draw at most [W]; None where it is not known.
        price: of a device for an hour; None where it is not given.
        missing: arms that an interruption left out.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
        model_error: of rates; None of the textbook device.
    """

    limits: tuple[Limit, ...]
    arms: tuple[ArmResult, ...]
    demand: Demand | None
    num_devices: int
    power: float | None
    price: float | None
    missing: tuple[Unfinished, ...] = ()
    extrapolation: Extrapolation | None = None
    model_error: ModelError | None = None

    @property
    def best(self) -> ArmResult:
        """The arm with the fewest replicas over time, and of these with the highest bound."""

        def needed(result: ArmResult) -> tuple[float, float]:
            serving = self.serving(result)
            return (math.inf if serving is None and self.demand else serving.mean_replicas if serving else 0.0), (
                -result.capacity.bound
            )

        return min(self.arms, key=needed)

    @property
    def met(self) -> bool:
        """Whether any arm meets the limits at some rate."""
        return any(result.capacity.bound for result in self.arms)

    def rate_to_plan(self, result: ArmResult) -> float:
        """What demand is divided by [requests/s]: the bound; of a case that was never measured its model's low end."""
        error = self.model_error
        return error.around(result.capacity.bound)[0] if error and error.unmeasured else result.capacity.bound

    @property
    def plain(self) -> ArmResult | None:
        """The arm without speculation; None where that was left out."""
        return next((result for result in self.arms if result.arm.policy is None), None)

    def gain(self, result: ArmResult) -> Interval | None:
        """The rate of an arm over that without speculation, see ``rate_ratio``; None where either is 0."""
        plain = self.plain
        return None if plain is None else rate_ratio(result.capacity, plain.capacity)

    def dollars_per_million(self, result: ArmResult) -> float | None:
        """Price of a million output tokens at the bound, all replicas as busy as they may be."""
        return None if self.price is None else self._per_token(result, self.price * self.num_devices / HOUR, 1e6)

    def joules_per_token(self, result: ArmResult) -> float | None:
        """Energy of an output token at the bound, at full board power."""
        return None if self.power is None else self._per_token(result, self.power, 1.0)

    def _per_token(self, result: ArmResult, per_second: float, tokens: float) -> float | None:
        return per_second / result.tokens_per_s * tokens if result.tokens_per_s else None

    def serving(self, result: ArmResult) -> Serving | None:
        """What the demand takes; None without one, or where no rate meets the limits."""
        if self.demand is None or not result.capacity.bound:
            return None
        replicas, seconds = self.demand.replicas(self.rate_to_plan(result)), self.demand.seconds
        mean = float((replicas * seconds).sum() / seconds.sum())
        tokens_per_s = self.demand.mean * result.tokens_per_request
        priced = None if self.price is None else mean * self.num_devices * self.price / HOUR / tokens_per_s * 1e6
        watts = None if self.power is None else mean * self.power
        return Serving(
            replicas=replicas,
            mean_replicas=mean,
            gpus=int(replicas.max()) * self.num_devices,
            dollars_per_million=priced,
            joules_per_token=None if watts is None else watts / tokens_per_s,
            kilowatts=None if watts is None else watts / 1e3,
        )


@dataclass(frozen=True, eq=False)
class PlannedArm:
    """One arm of a plan.

    Attributes:
        scenario: that was planned.
        plan: what was found of it.
        result: of the arm.
    """

    scenario: Scenario
    plan: PlanResult
    result: ArmResult

    @property
    def serving(self) -> Serving | None:
        """See ``PlanResult.serving``."""
        return self.plan.serving(self.result)


def by_name(arms: Iterable[ArmResult]) -> dict[str, ArmResult]:
    """Arms by what messages call them."""
    return {found.arm.name if found.arm.policy else "without speculation": found for found in arms}
