"""What clients send: how long prompts and outputs are, and when requests arrive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specsim.schema.base import MOST_REQUESTS, Count, Duration, Flag, InFlight, Input, Rate


class FixedLengths(Input):
    """Every request has the same lengths."""

    kind: Literal["fixed"]
    prompt_tokens: Count
    output_tokens: Count


class QuantileLengths(Input):
    """Prompt and output lengths drawn together from a table of joint quantiles."""

    kind: Literal["quantiles"]
    table: str
    """Catalogue name or path of the table, as written by `specsim quantiles`."""


class TraceLengths(Input):
    """Prompt and output lengths drawn in pairs from a request trace (Azure LLM inference trace CSV)."""

    kind: Literal["trace"]
    file: str
    """Path of a CSV with the columns TIMESTAMP, ContextTokens, GeneratedTokens."""


LONGEST_RUN = 1e8  # s; beyond, a time of day in floats no longer tells microseconds apart

Lengths = Annotated[FixedLengths | QuantileLengths | TraceLengths, Field(discriminator="kind")]


class ClosedLoop(Input):
    """A benchmark client that keeps this many requests in flight until all are sent."""

    kind: Literal["closed_loop"]
    concurrency: InFlight


class Poisson(Input):
    """Independent clients: exponential gaps between requests."""

    kind: Literal["poisson"]
    rate: Rate


Load = Annotated[ClosedLoop | Poisson, Field(discriminator="kind")]


class Workload(Input):
    """The requests of one run."""

    lengths: Lengths
    load: Load
    num_requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS, strict=True)]
    """How many requests `specsim simulate` sends; a curve sets its own number."""
    decode_only: Flag = False
    """True: prompts are already in the KV cache, as in a decode pool; no prompt token is computed."""

    @model_validator(mode="after")
    def _ends_in_time(self) -> Workload:
        if isinstance(self.load, Poisson) and self.num_requests > self.load.rate * LONGEST_RUN:
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
