"""Which scenario meets the limits at the lowest cost, with which arm; and by how much the others cost more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from specsim.analysis.intervals import Interval
from specsim.inputs.read.prices import devices_of
from specsim.studies.compare.alike import share_arrivals
from specsim.studies.compare.run import Comparison, Subject
from specsim.studies.plan.bound import rate_ratio
from specsim.studies.plan.result import PlannedArm

Basis = Literal["dollars per hour", "dollars per token", "GPUs", "tokens per GPU"]
"""What is ranked by: money where there are prices, else GPUs or what they yield; of whole replicas where all are to
serve the same demand, and at the bound where not."""


@dataclass(frozen=True, eq=False)
class Offer(PlannedArm):
    """What a scenario serves within the limits with one arm.

    Attributes:
        subject: the scenario, and what was found of it.
    """

    subject: Subject

    @property
    def tokens_per_s_per_gpu(self) -> float:
        """At the bound."""
        return self.result.tokens_per_s / self.plan.num_devices

    @property
    def dollars_per_hour(self) -> float | None:
        """For all replicas that the demand takes, the mean over its time; None without a price or a demand."""
        if self.serving is None or self.plan.price is None:
            return None
        return self.serving.mean_replicas * self.plan.num_devices * self.plan.price

    def value(self, basis: Basis) -> tuple[float, float]:
        """What is ranked by, less being better; and, for those that are equal in that, the cost of a token."""
        per_token = (self.plan.price or 1.0) / self.tokens_per_s_per_gpu
        serving, hourly = self.serving, self.dollars_per_hour
        match basis:
            case "dollars per hour":
                first = math.inf if hourly is None else hourly
            case "GPUs":
                first = math.inf if serving is None else float(serving.gpus)
            case _:
                first = per_token
        return first, per_token


@dataclass(frozen=True)
class Ranking:
    """Scenarios that meet the limits.

    Attributes:
        basis: what is ranked by.
        offers: each scenario's best arm, the best scenario first.
        same_demand: whether all have the same demand.
        one_device: whether all are of one device.
    """

    basis: Basis
    offers: tuple[Offer, ...]
    same_demand: bool
    one_device: bool

    @property
    def best(self) -> Offer:
        """The answer."""
        return self.offers[0]

    def offers_this(self, other: Offer) -> bool:
        """Whether an arm is what its scenario offers."""
        return any(offer.result is other.result for offer in self.offers)


def offers_of(subject: Subject) -> list[Offer]:
    """What a scenario serves with each arm; none without a plan."""
    plan = subject.plan
    return [Offer(subject.inputs.scenario, plan, result, subject) for result in plan.arms] if plan else []


def ranking(comparison: Comparison) -> Ranking | None:
    """Who is cheapest; None where there are no limits."""
    offers = [
        offer
        for subject in comparison.subjects
        if subject.meets
        for offer in offers_of(subject)
        if offer.result is offer.plan.best
    ]
    if not offers:
        return None
    same_demand, one_device = _same_demand(offers), len({frozenset(devices_of(o.subject.inputs)) for o in offers}) == 1
    basis = _basis(priced=offers[0].plan.price is not None, same_demand=same_demand, one_device=one_device)
    ordered = sorted(offers, key=lambda offer: (*offer.value(basis), offer.subject.name))
    return Ranking(basis, tuple(ordered), same_demand, one_device)


def _basis(*, priced: bool, same_demand: bool, one_device: bool) -> Basis:
    if priced:
        return "dollars per hour" if same_demand else "dollars per token"
    return "GPUs" if same_demand and one_device else "tokens per GPU"


def _same_demand(offers: Sequence[Offer]) -> bool:
    """Whether all are to serve the same, and something at all."""
    first, *others = [offer.plan.demand for offer in offers]
    return first is not None and all(
        other is not None and np.array_equal(first.seconds, other.seconds) and np.array_equal(first.rates, other.rates)
        for other in others
    )


def extra_cost(dear: Offer, cheap: Offer) -> Interval | None:
    """Cost at the rates of seeds, of one over another, with its 95 % interval; None where either serves nothing.

    In GPU-hours where there are no prices. Of a request where all send the same; else of an output token, whose number
    per request is taken as known. Replicas are not rounded up: that has no interval.
    """
    alike = share_arrivals(dear.subject.inputs, cheap.subject.inputs)
    ratio = rate_ratio(cheap.result.capacity, dear.result.capacity, paired=alike)
    if ratio is None:
        return None
    own, other = (offer.plan.num_devices * (offer.plan.price or 1.0) for offer in (dear, cheap))
    factor = own / other
    if not alike:
        factor *= cheap.result.tokens_per_request / dear.result.tokens_per_request
    return Interval(factor * ratio.estimate, factor * ratio.low, factor * ratio.high, ratio.confidence, ratio.n)
