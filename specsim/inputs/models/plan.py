"""Settings of a plan: latency limits, policies to compare, traffic and price."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from specsim.inputs.models.base import (
    MOST_REQUESTS,
    AscendingDraftLengths,
    Input,
    Number,
    PositiveDuration,
    Rate,
)
from specsim.inputs.models.policy import (
    ConfidencePolicy,
    GoodputPolicy,
    OraclePolicy,
    PerRequestPolicy,
    Policy,
    StaticPolicy,
)
from specsim.inputs.models.workload import SLO

PlannedPolicy = Literal["static", "goodput", "per_request", "confidence", "oracle"]
"""Kinds of policies that a draft length alone makes whole."""
LATENCIES = ("ttft", "tpot", "itl", "e2e")
PERCENTILES = (50, 90, 99)


class Limit(NamedTuple):
    """A limit on a percentile of a latency.

    Attributes:
        latency: one of LATENCIES.
        percentile: one of PERCENTILES.
        seconds: what that percentile must not exceed.
    """

    latency: str
    percentile: int
    seconds: float


class PercentileLimits(Input):
    """What percentiles of a latency must not exceed; one left out does not bind."""

    p50: PositiveDuration | None = None
    """Of half of the requests."""
    p90: PositiveDuration | None = None
    """Of 90 of 100 requests."""
    p99: PositiveDuration | None = None
    """Of 99 of 100 requests."""

    def stated(self) -> dict[int, float]:
        """Percentile → its limit [s], in ascending order, without those left out."""
        limits = {percentile: getattr(self, f"p{percentile}") for percentile in PERCENTILES}
        return {percentile: limit for percentile, limit in limits.items() if limit is not None}

    @model_validator(mode="after")
    def _each_can_bind(self) -> PercentileLimits:
        limits = self.stated()
        if not limits:
            raise ValueError("no limit is given; write p50, p90 or p99, for example {p99: 200 ms}")
        for (lower, at_lower), (higher, at_higher) in pairwise(limits.items()):
            if at_lower > at_higher:
                raise ValueError(
                    f"p{lower} of {1e3 * at_lower:g} ms never binds, since p{higher} is never below it and limited to "
                    f"{1e3 * at_higher:g} ms; lower p{lower}, or leave it out"
                )
        return self


class PlanSLO(Input):
    """Limits of the requests of a run, those of ramp and tail left out; ITL is of chunks of output, not of requests."""

    ttft: PercentileLimits | None = None
    """Time to first token."""
    tpot: PercentileLimits | None = None
    """Time per output token after the first, of each request."""
    itl: PercentileLimits | None = None
    """Time between successive chunks of output of a request; a verify that emits several tokens makes one chunk."""
    e2e: PercentileLimits | None = None
    """From sending a request to its last token."""

    @property
    def limits(self) -> tuple[Limit, ...]:
        """All limits, by latency and percentile."""
        return tuple(self._limits())

    def _limits(self) -> Iterator[Limit]:
        for latency in LATENCIES:
            found: PercentileLimits | None = getattr(self, latency)
            for percentile, seconds in (found.stated() if found else {}).items():
                yield Limit(latency, percentile, seconds)

    @model_validator(mode="after")
    def _each_can_bind(self) -> PlanSLO:
        if not self.limits:
            raise ValueError("no limit is given; write for example {ttft: {p99: 500 ms}, tpot: {p99: 25 ms}}")
        first, whole = (part.stated() if part else {} for part in (self.ttft, self.e2e))
        for percentile in first.keys() & whole.keys():
            if first[percentile] > whole[percentile]:
                raise ValueError(
                    f"ttft.p{percentile} of {1e3 * first[percentile]:g} ms never binds, since e2e.p{percentile} is "
                    f"never below it and limited to {1e3 * whole[percentile]:g} ms; lower ttft, or leave it out"
                )
        return self


class Plan(Input):
    """What `specsim plan` asks."""

    slo: PlanSLO | None = None
    """Left out: the scenario's `slo`, each limit met by 99 of 100 requests."""
    policies: Annotated[tuple[PlannedPolicy, ...], Field(min_length=1)] = ("static",)
    """Kinds of policies that are compared, at each draft length; beside them no speculation, and the scenario's own."""
    num_draft_tokens: AscendingDraftLengths | None = None
    """Draft lengths that are compared; by default those of the curve."""
    rate: Rate | None = None
    """Requests per second to be served, by as many replicas as it takes; by default what the scenario's load sends."""
    period: PositiveDuration = 60.0
    """Of a replayed trace, the time over which requests are counted: replicas may change in number as often."""
    price_per_gpu_hour: Annotated[Number, Field(gt=0)] | None = None
    """In dollars, or whatever costs are to be in."""
    width: Annotated[Number, Field(ge=0.005, le=0.5)] = 0.03
    """Half of the 95 % interval of the largest rate, as a share; the lower bound lies at most two of these below."""
    seeds: Annotated[int, Field(ge=3, le=100, strict=True)] = 6
    """Replications that the bound is taken over, up to twice as many where that helps."""
    min_requests: Annotated[int, Field(ge=100, le=MOST_REQUESTS, strict=True)] = 1000
    """Of a run, at the least."""
    most_requests: Annotated[int, Field(ge=100, le=MOST_REQUESTS, strict=True)] = 64_000
    """Of a run, at most: runs become longer until the bound is within the width."""

    @model_validator(mode="after")
    def _has_room(self) -> Plan:
        if self.most_requests < self.min_requests:
            raise ValueError(
                f"most_requests {self.most_requests} is less than min_requests {self.min_requests}; write at least that"
            )
        return self


def planned_policy(kind: PlannedPolicy, num_draft_tokens: int) -> Policy:
    """A policy of this kind, with this longest draft and defaults for all else."""
    match kind:
        case "static":
            return StaticPolicy(num_draft_tokens=num_draft_tokens)
        case "goodput":
            return GoodputPolicy(kind="goodput", num_draft_tokens=num_draft_tokens)
        case "per_request":
            start = min(num_draft_tokens, PerRequestPolicy.model_fields["start"].default)
            return PerRequestPolicy(kind="per_request", num_draft_tokens=num_draft_tokens, start=start)
        case "confidence":
            return ConfidencePolicy(kind="confidence", num_draft_tokens=num_draft_tokens)
        case "oracle":
            return OraclePolicy(kind="oracle", num_draft_tokens=num_draft_tokens)


def limits_of(plan: Plan, slo: SLO) -> tuple[Limit, ...]:
    """The limits of a plan: its own, or a scenario's at the 99th percentile; none where neither has any."""
    if plan.slo:
        return plan.slo.limits
    stated = {"ttft": slo.ttft, "tpot": slo.tpot, "e2e": slo.e2e}
    return tuple(Limit(latency, 99, seconds) for latency, seconds in stated.items() if seconds)
