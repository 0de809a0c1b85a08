"""What a search for the cheapest settings found: trials, finalists, and how they compare. Simulates nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from specsim.analysis.intervals import Interval
from specsim.costs.extrapolation import Extrapolation
from specsim.inputs.models.plan import Limit
from specsim.inputs.read.scenario import Inputs
from specsim.studies.optimize.space import Settings, Space
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.bound import rate_ratio
from specsim.studies.plan.result import HOUR, ArmResult

MILLION = 1e6
At = tuple[int, int, int]
"""Tensor parallelism, max_num_seqs and token budget."""


class Trial(NamedTuple):
    """A combination, measured by short runs of its own seeds.

    Attributes:
        settings: the combination.
        arm: how it drafts; of a schedule, the table that its devices' curve gave.
        num_devices: of a replica.
        result: what it serves; None where that could not be measured.
        tokens_per_request: mean output tokens of the traffic, the same for all.
        reason: why it could not be measured; empty otherwise.
    """

    settings: Settings
    arm: Arm
    num_devices: int
    result: ArmResult | None
    tokens_per_request: float
    reason: str = ""

    @property
    def gpu_seconds(self) -> float:
        """Of a million output tokens at the mean rate; infinite where no rate meets the limits."""
        rate = self.result.capacity.mean if self.result else 0.0
        return self.num_devices / (rate * self.tokens_per_request) * MILLION if rate else float("inf")

    @property
    def runs(self) -> Hashable:
        """Equal for settings whose runs are the same, since a limit that is never reached changes nothing."""
        if self.result is None or self.result.bottleneck is None:
            return self.settings
        short = self.result.bottleneck
        used = (short.busy, short.kv_mean, short.prefill, short.bandwidth, short.flops)
        return self.num_devices, self.arm.name, tuple(self.result.capacity.rates.tolist()), used


class Finalist(NamedTuple):
    """Settings measured as a plan measures them, with seeds that the search did not use.

    Attributes:
        settings: the combination; None for the scenario as it stands, where that is none of those searched.
        arm: how it drafts.
        inputs: the scenario with these settings.
        result: what it serves.
        as_it_stands: whether these are the scenario's own settings.
    """

    settings: Settings | None
    arm: Arm
    inputs: Inputs
    result: ArmResult
    as_it_stands: bool

    @property
    def num_devices(self) -> int:
        """Of a replica."""
        return self.inputs.scenario.deployment.num_devices

    @property
    def limits(self) -> tuple[int, int]:
        """(max_num_seqs, token budget) that hold."""
        engine, drafts = self.inputs.engine, self.arm.num_draft_tokens > 0
        places = drafts and engine.speculation_max_num_seqs
        budget = drafts and engine.speculation_max_num_batched_tokens
        return places or engine.max_num_seqs, budget or engine.max_num_batched_tokens

    @property
    def at(self) -> At:
        """Where that is, devices first."""
        return self.inputs.scenario.deployment.tensor_parallel, *self.limits

    @property
    def gpu_seconds(self) -> float:
        """Of a million output tokens at the bound; infinite where no rate meets the limits."""
        tokens_per_s = self.result.tokens_per_s
        return self.num_devices / tokens_per_s * MILLION if tokens_per_s else float("inf")

    @property
    def mean_gpu_seconds(self) -> float:
        """The same at the mean rate, by which finalists are ranked: it varies less than the bound."""
        found = self.result.capacity
        return self.gpu_seconds * found.bound / found.mean if found.bound else float("inf")

    def cost_over(self, other: Finalist) -> Interval | None:
        """Its cost over another's at the mean rates, with the 95 % interval; None where either meets no limits."""
        ratio = rate_ratio(other.result.capacity, self.result.capacity)
        if ratio is None:
            return None
        factor = self.num_devices / other.num_devices
        return Interval(factor * ratio.estimate, factor * ratio.low, factor * ratio.high, ratio.confidence, ratio.n)


@dataclass(frozen=True)
class Optimum:
    """The cheapest settings within limits, and what they were chosen from.

    Attributes:
        limits: that are to be met.
        price: of a device for an hour; None where it is not given.
        resolution: share by which neighbouring rates of finalists differ; smaller differences are not resolved.
        space: what was searched.
        barred: combinations that can never run, and why.
        trials: of short runs, in the order in which they were proposed; none where all combinations are finalists.
        finalists: the cheapest at mean rates first; the scenario as it stands last, where it is none of the
            combinations; empty where an interruption came before.
        own_reason: why the scenario as it stands could not be measured; empty where it was.
        sampled: whether combinations were proposed by optuna; all were tried otherwise.
        interrupted: whether an interruption left out trials or finalists.
        extrapolation: what lay beyond the ranges that the figures of the cheapest were measured over.
    """

    limits: tuple[Limit, ...]
    price: float | None
    resolution: float
    space: Space
    barred: dict[Settings, str]
    trials: tuple[Trial, ...] = ()
    finalists: tuple[Finalist, ...] = ()
    own_reason: str = ""
    sampled: bool = False
    interrupted: bool = False
    extrapolation: Extrapolation | None = None

    def cost(self, gpu_seconds: float) -> float:
        """Of a million output tokens: in what the price is in, or in seconds of a device."""
        return gpu_seconds if self.price is None else gpu_seconds * self.price / HOUR

    @property
    def best(self) -> Finalist:
        """The cheapest of the combinations that were measured."""
        return self.finalists[0]

    @property
    def runner_up(self) -> Finalist | None:
        """The cheapest of the other combinations that were searched; None without one that meets the limits."""
        others = (one for one in self.finalists[1:] if one.settings and one.result.capacity.bound)
        return next(others, None)

    @property
    def own(self) -> Finalist | None:
        """The scenario as it stands; None where it was not measured."""
        return next((one for one in self.finalists if one.as_it_stands), None)

    @property
    def ranked(self) -> list[Trial]:
        """The trials that meet the limits, the cheapest first; of equal ones those proposed first."""
        return sorted((one for one in self.trials if one.gpu_seconds < float("inf")), key=lambda one: one.gpu_seconds)

    def same_as_best(self) -> list[Settings]:
        """Other combinations whose short runs were the same as the best one's."""
        chosen = next((one for one in self.trials if self.finalists and one.settings == self.best.settings), None)
        if chosen is None:
            return []
        return [one.settings for one in self.trials if one.runs == chosen.runs and one.settings != chosen.settings]

    def reasons(self) -> list[tuple[str, int]]:
        """(why combinations can never run, how many that is), the most frequent first."""
        late = (one.reason for one in self.trials if one.reason)
        return Counter([*self.barred.values(), *late]).most_common()


def described(at: At, drafts: str) -> str:
    """``TP 1, static 3, max_num_seqs 256, token budget 8192``."""
    group, places, budget = at
    return f"TP {group}, {drafts}, max_num_seqs {places}, token budget {budget}"


def distinct(trials: Iterable[Trial], own: Settings) -> list[Trial]:
    """Of trials whose runs are the same, the one that changes least of the scenario's own settings."""
    found: dict[Hashable, Trial] = {}
    for one in trials:
        known = found.get(one.runs)
        if known is None or _changes(one.settings, own) < _changes(known.settings, own):
            found[one.runs] = one
    return list(found.values())


def _changes(settings: Settings, own: Settings) -> int:
    return sum(value != stands for value, stands in zip(settings, own, strict=True))
