"""Settings of a plan: latency limits, policies to compare, traffic and price."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

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


class Limit(NamedTuple):
    """A limit on a percentile of a latency.

    Attributes:
        latency: one of LATENCIES.
        percentile: above 0 and below 100.
        seconds: what that percentile must not exceed.
    """

    latency: str
    percentile: float
    seconds: float

    @property
    def name(self) -> str:
        """``ttft.p99``."""
        return f"{self.latency}.p{self.percentile:g}"


def _each_can_bind(limits: Mapping[str, float]) -> Mapping[str, float]:
    ordered = dict(sorted(limits.items(), key=lambda item: float(item[0][1:])))
    for (lower, at_lower), (higher, at_higher) in pairwise(ordered.items()):
        if at_lower > at_higher:
            raise ValueError(
                f"{lower} of {1e3 * at_lower:g} ms never binds, since {higher} is never below it and limited to "
                f"{1e3 * at_higher:g} ms; lower {lower}, or leave it out"
            )
    return ordered


def _percentile(name: str) -> str:
    if not PERCENTILE.fullmatch(name):
        raise ValueError("unknown percentile; write for example p50, p95 or p99.9")
    return name


PERCENTILE = re.compile(r"p(?=.*[1-9])\d{1,2}(\.\d+)?")
"""Above 0 and below 100: p50, p95, p99.9."""
PercentileName = Annotated[str, AfterValidator(_percentile), WithJsonSchema({"pattern": PERCENTILE.pattern})]
PercentileLimits = Annotated[
    Mapping[PercentileName, PositiveDuration],
    Field(min_length=1, examples=[{"p95": "200 ms"}]),
    AfterValidator(_each_can_bind),
]
"""What percentiles of a latency must not exceed: of p95, 95 of 100 requests do not."""


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
            found: Mapping[str, float] | None = getattr(self, latency)
            for name, seconds in (found or {}).items():
                yield Limit(latency, float(name[1:]), seconds)

    @model_validator(mode="after")
    def _each_can_bind(self) -> PlanSLO:
        if not self.limits:
            raise ValueError("no limit is given; write for example {ttft: {p99: 500 ms}, tpot: {p99: 25 ms}}")
        first, whole = self.ttft or {}, self.e2e or {}
        for percentile in first.keys() & whole.keys():
            if first[percentile] > whole[percentile]:
                raise ValueError(
                    f"ttft.{percentile} of {1e3 * first[percentile]:g} ms never binds, since e2e.{percentile} is "
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
        highest = max((limit.percentile for limit in self.slo.limits), default=50.0) if self.slo else 50.0
        needed = math.ceil(round(100 / (100 - highest), 6))  # else the percentile is the longest request's own
        if self.min_requests < needed:
            raise ValueError(
                f"p{highest:g} needs runs of at least {needed:,} requests, not {self.min_requests:,}; write "
                f"min_requests: {needed}"
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


def request_limits(plan: Plan | None, slo: SLO) -> dict[str, float]:
    """Latency → what a request must not exceed to count as good [s].

    Those of ``slo``; where it has none, those of the plan, each latency's at its highest percentile. A time between
    chunks is not one of a request, so a limit on ITL is none of these.
    """
    if stated := {name: limit for name in ("ttft", "tpot", "e2e") if (limit := getattr(slo, name)) is not None}:
        return stated
    planned = plan.slo.limits if plan and plan.slo else ()  # ascending by percentile
    return {limit.latency: limit.seconds for limit in planned if limit.latency != "itl"}


def limits_of(plan: Plan, slo: SLO) -> tuple[Limit, ...]:
    """The limits of a plan: its own, or a scenario's at the 99th percentile; none where neither has any."""
    if plan.slo:
        return plan.slo.limits
    stated = {"ttft": slo.ttft, "tpot": slo.tpot, "e2e": slo.e2e}
    return tuple(Limit(latency, 99, seconds) for latency, seconds in stated.items() if seconds)
