"""Latencies of an empty system, below which no rate brings them, and what they are made of."""

from __future__ import annotations

from typing import NamedTuple

from specsim.inputs.models.plan import Limit
from specsim.records import PARTS, RunRecords
from specsim.studies.plan.margins import percentiles_of
from specsim.studies.plan.trials import Trials

NAMED = 0.05  # a smaller part of a step is not named


class UnloadedLatency(NamedTuple):
    """One limit against an empty system.

    Attributes:
        limit: what is asked.
        seconds: that percentile where each request finds the system empty [s].
        parts: part of a step → its share of the time, largest first: of steps with prompts for TTFT, of steps with
            decodes for TPOT and ITL, of all for E2E.
    """

    limit: Limit
    seconds: float
    parts: dict[str, float]

    @property
    def missed(self) -> bool:
        """Whether even an empty system exceeds the limit."""
        return self.seconds > self.limit.seconds

    @property
    def made_of(self) -> str:
        """``weights 62%, kv 20%``: the larger parts."""
        return ", ".join(f"{part} {share:.0%}" for part, share in self.parts.items() if share >= NAMED)


def unloaded_latencies(trials: Trials, num_requests: int) -> list[UnloadedLatency]:
    """Every limit against the latencies of requests that come one at a time."""
    run = trials.alone(num_requests)
    found = percentiles_of(run, trials.limits, None)
    return [
        UnloadedLatency(limit, seconds, _parts(run, limit.latency))
        for limit, seconds in zip(trials.limits, found.tolist(), strict=True)
    ]


def _parts(run: RunRecords, latency: str) -> dict[str, float]:
    steps = run.steps
    counted = steps.end > steps.start
    if latency == "ttft" and steps.num_prompt_tokens.any():
        counted &= steps.num_prompt_tokens > 0
    elif latency in ("tpot", "itl"):
        counted &= steps.num_decodes > 0
    seconds = steps.parts[counted].sum(axis=0)
    shares = dict(zip(PARTS, (seconds / seconds.sum()).tolist(), strict=True))
    return dict(sorted(shares.items(), key=lambda item: -item[1]))
