"""What clients send: arrivals, classes of requests, and lengths of prompts and outputs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specsim.inputs.models.acceptance import Acceptance
from specsim.inputs.models.base import (
    MOST_PRIORITIES,
    MOST_REQUESTS,
    Duration,
    Flag,
    InFlight,
    Input,
    Number,
    PositiveDuration,
    Rate,
    RateOrNone,
)
from specsim.inputs.models.lengths import Lengths, TraceLengths

LONGEST_RUN = 1e8  # s; beyond, a time of day in floats no longer tells microseconds apart
ROUNDED_SHARES = 1e-3  # three shares of 0.333
LEAST_CV, MOST_CV = 0.01, 100.0  # gaps of a smaller cv are equal to 4 digits; of a larger one, most are 0 in floats

DomainNumber = Annotated[int, Field(ge=0, lt=10**9)]
Priority = Annotated[int, Field(ge=0, lt=MOST_PRIORITIES, strict=True)]


class ClosedLoop(Input):
    """Clients that each send a request, wait for its last token, think, and send the next, until all are sent."""

    kind: Literal["closed_loop"]
    concurrency: InFlight
    """Number of clients; without a think time, that many requests are always in flight."""
    think_time: Duration = 0.0
    """Mean time from a request's last token to its client's next request."""
    think_cv: Annotated[Number, Field(ge=0, le=MOST_CV)] = 1.0
    """Coefficient of variation of think times, which are gamma distributed: 1 is exponential, 0 constant."""

    @model_validator(mode="after")
    def _thinks(self) -> ClosedLoop:
        if 0 < self.think_cv < LEAST_CV:
            raise ValueError(f"think_cv is below {LEAST_CV:g}; write 0 for constant think times")
        if self.think_cv != 1 and self.think_time == 0:
            raise ValueError("think_cv needs think times; write a think_time, or leave it out")
        return self


class Poisson(Input):
    """Independent clients: exponential gaps between requests."""

    kind: Literal["poisson"]
    rate: Rate


class Gamma(Input):
    """Independent gaps between requests, gamma distributed: above a cv of 1 requests come in bursts.

    vLLM's `--burstiness` is 1/cv².
    """

    kind: Literal["gamma"]
    rate: Rate
    """Mean requests per second; the mean gap is 1/rate."""
    cv: Annotated[Number, Field(ge=LEAST_CV, le=MOST_CV)]
    """Coefficient of variation of the gaps (standard deviation/mean): 1 is Poisson. For 0 write `kind: constant`."""


class Constant(Input):
    """Equal gaps between requests."""

    kind: Literal["constant"]
    rate: Rate


class Period(Input):
    """A time during which requests come at one rate."""

    duration: PositiveDuration
    rate: RateOrNone
    """Mean requests per second; 0 for none."""


class RateProfile(Input):
    """Independent clients whose number changes: Poisson arrivals at one rate after the other, over and over.

    Two periods, one at 0 requests/s, are an on-off source; 24 of an hour each are a day.
    """

    kind: Literal["rate_profile"]
    periods: Annotated[tuple[Period, ...], Field(min_length=1)]

    @property
    def rate(self) -> float:
        """The mean over all periods [requests/s]."""
        return sum(period.rate * period.duration for period in self.periods) / self.cycle

    @property
    def cycle(self) -> float:
        """The time after which the periods repeat [s]."""
        return sum(period.duration for period in self.periods)

    @model_validator(mode="after")
    def _sends_something(self) -> RateProfile:
        if not self.rate > 0:
            raise ValueError("no request would ever arrive; write a rate above 0 in one of the periods")
        return self


class Replay(Input):
    """The first requests of the trace that `lengths` names, when they arrived and as long as they were."""

    kind: Literal["replay"]
    speed: Annotated[Number, Field(ge=1e-3, le=1e6)] = 1.0
    """How many times as fast as recorded: all gaps shrink alike, so that bursts stay bursts."""


Load = Annotated[ClosedLoop | Poisson | Gamma | Constant | RateProfile | Replay, Field(discriminator="kind")]


class SharedPrefix(Input):
    """Texts that prompts begin with, such as system prompts; a server with `prefix_caching` keeps their KV."""

    tokens: Annotated[int, Field(ge=1, le=10**7, strict=True)]
    """Length of each text, which is part of the prompt; of a shorter prompt, all is shared."""
    number: Annotated[int, Field(ge=1, le=10**6, strict=True)] = 1
    """How many texts there are; each request has one of them, all equally likely."""


class RequestClass(Input):
    """One of the kinds of requests that a workload mixes."""

    share: Annotated[Number, Field(gt=0, le=1)]
    """Of all requests; the shares of all classes add up to 1, within 0.001 for rounding, and are scaled to do so."""
    lengths: Lengths | None = None
    """Of this class's requests; by default those of the workload."""
    priority: Priority = 0
    """Requests of a lower number are served first."""
    shared_prefix: SharedPrefix | None = None
    """Of this class's requests, and of no others; by default that of the workload."""
    acceptance: Acceptance | None = None
    """Of this class's drafts, of chains; by default that of `speculation`, whose vocabulary it has to share."""
    temperature: Annotated[Number, Field(ge=0)] | None = None
    """At which this class is sampled, where drafts are chains; by default that of `speculation`. 0 is greedy decoding,
    in the same verify call as those that sample."""

    @property
    def is_domain(self) -> bool:
        """Whether this class has an acceptance or a temperature of its own."""
        return self.acceptance is not None or self.temperature is not None


class Workload(Input):
    """The requests of one run."""

    lengths: Lengths
    load: Load
    num_requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS, strict=True)]
    """How many requests `specsim simulate` sends; a replay, at most those of the trace. A curve sets its own number."""
    mixture: tuple[RequestClass, ...] = ()
    """Classes of requests, each request drawn from one by its share; none for requests of one kind."""
    shared_prefix: SharedPrefix | None = None
    """Left out: prompts have nothing in common, unless a replayed trace says so."""
    domains: dict[DomainNumber, Acceptance] = Field(default_factory=dict)
    """Acceptance by the number in the `domain` column of the trace that `lengths` name, of requests whose class has no
    acceptance or temperature of its own; every number in the trace has to be here. Chains only."""
    decode_only: Flag = False
    """True: prompts are already in the KV cache, as in a decode pool; no prompt token is computed."""

    @model_validator(mode="after")
    def _is_whole(self) -> Workload:
        total = sum(part.share for part in self.mixture)
        if self.mixture and abs(total - 1) > ROUNDED_SHARES:
            raise ValueError(f"the shares of the mixture add up to {total:g}; write shares that add up to 1")
        return self

    @model_validator(mode="after")
    def _replays_a_trace(self) -> Workload:
        if isinstance(self.load, Replay) and (self.mixture or not isinstance(self.lengths, TraceLengths)):
            raise ValueError(
                "a replay also takes lengths from the trace; write lengths: {kind: trace, file: ...}, without a "
                "mixture, or another load"
            )
        return self

    @model_validator(mode="after")
    def _ends_in_time(self) -> Workload:
        load = self.load
        if isinstance(load, ClosedLoop) and self.num_requests / load.concurrency * load.think_time > LONGEST_RUN:
            raise ValueError(
                f"clients that think {load.think_time:g} s would take longer than {LONGEST_RUN:g} s (three years) to "
                f"send {self.num_requests} requests; write a shorter load.think_time or a lower num_requests"
            )
        if isinstance(load, Poisson | Gamma | Constant | RateProfile) and self.num_requests > load.rate * LONGEST_RUN:
            raise ValueError(
                f"{self.num_requests} requests would take longer than {LONGEST_RUN:g} s (three years) to arrive; "
                "write a higher load.rate or a lower num_requests"
            )
        return self


class SLO(Input):
    """Latency limits that a request must meet to count as good; a limit left out does not bind."""

    ttft: Duration | None = None
    """Time to first token."""
    tpot: Duration | None = None
    """Time per output token after the first."""
    e2e: Duration | None = None
    """Request latency from arrival to last token."""
