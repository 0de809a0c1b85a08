"""One run as its metrics, each computed when first asked for; simulated and measured runs share it.

Knows nothing of how the records came about, and gives one number per run: intervals come from replications.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from specsim.analysis.acceptance import AcceptanceSummary, acceptance, tallied_acceptance
from specsim.analysis.latencies import (
    ChunkGaps,
    LatencyLimits,
    LatencySummary,
    chunk_gaps,
    decode_rate,
    e2e,
    itl_per_token,
    queueing,
    summarise_latency,
    tallied_itl,
    tallied_itl_per_token,
    tpot,
    ttft,
    within_limits,
)
from specsim.analysis.metrics import mean_running_batch, output_tokens_per_s
from specsim.analysis.steady import Window, sent_within, within
from specsim.arrays import Bools, Floats, Ints
from specsim.records import RoundTally, RunRecords


@dataclass(frozen=True)
class Server:
    """What served a run, as far as metrics need it.

    Attributes:
        limits: latencies that a request must not exceed to meet the SLO; None where there is no SLO.
        kv_tokens: KV pool of each replica in whole blocks, int64 [replicas] [tokens].
        bandwidth: peak of one device of each replica, float64 [replicas] [B/s].
        num_devices: devices of all replicas together.
    """

    limits: LatencyLimits | None
    kv_tokens: Ints
    bandwidth: Floats
    num_devices: int


class RunView:
    """A run, or the part of it within a window, or of one class of requests.

    Args:
        run: the records.
        window: counts steps that end within it and requests sent within it; the whole run by default.
        server: what served the run; only metrics of devices and of limits need it.
        of_class: only requests of this class count; tokens then count where requests finish, since steps do not record
            whose tokens they emit.
        gaps: times between chunks where they are known already; they take long to find.
    """

    def __init__(
        self,
        run: RunRecords,
        window: Window | None = None,
        server: Server | None = None,
        of_class: int | None = None,
        gaps: ChunkGaps | None = None,
    ) -> None:
        self.run, self.window, self._server, self._of_class, self._known_gaps = run, window, server, of_class, gaps

    @property
    def server(self) -> Server:
        """What served the run.

        Raises:
            ValueError: the view was made without a server.
        """
        if self._server is None:
            raise ValueError("this metric needs the server")
        return self._server

    @cached_property
    def whole(self) -> Window:
        """From the first arrival to the last finish [s]."""
        return float(self.run.requests.arrival.min()), float(self.run.requests.finish.max())

    @cached_property
    def span(self) -> Window:
        """The window, or the whole run [s]."""
        return self.window or self.whole

    @cached_property
    def duration(self) -> float:
        """Length of the whole run [s]."""
        return self.whole[1] - self.whole[0]

    @cached_property
    def _own(self) -> Bools:
        requests = self.run.requests
        if self._of_class is None or requests.of_class is None:
            return np.full(len(requests.finish), self._of_class in (None, 0))
        return np.asarray(requests.of_class == self._of_class)

    @cached_property
    def chosen(self) -> Bools:
        """Which requests count for latencies and the user's rate, bool [requests]."""
        return self._own if self.window is None else sent_within(self.run.requests, self.window) & self._own

    @cached_property
    def finished(self) -> Bools:
        """Which requests finish within the span, bool [requests]."""
        if self._of_class is not None and self.window is None:
            return self._own
        return within(self.run.requests.finish, self.span) & self._own

    @cached_property
    def seconds(self) -> float:
        """Length of the span [s]."""
        return self.span[1] - self.span[0]

    @cached_property
    def tokens_per_s(self) -> float:
        """Output tokens per second of the span [tokens/s]."""
        if self._of_class is None:
            return output_tokens_per_s(self.run, self.span)
        return float(self.run.requests.output_tokens[self.finished].sum() / self.seconds)

    @cached_property
    def client_tokens_per_s(self) -> float:
        """Output tokens per second of the whole run, ramp and tail included, as clients report it [tokens/s]."""
        return float(self.run.requests.output_tokens.sum() / self.duration)

    @cached_property
    def requests_per_s(self) -> float:
        """Requests that finish, per second of the span [requests/s]."""
        return float(self.finished.sum()) / self.seconds

    @cached_property
    def _good(self) -> Bools | None:
        return None if self.server.limits is None else within_limits(self.run.requests, self.server.limits)

    @cached_property
    def goodput(self) -> float:
        """Requests that finish and met the limits, per second of the span [requests/s]; NaN without limits."""
        return math.nan if self._good is None else float(self._good[self.finished].sum()) / self.seconds

    @cached_property
    def within_limits(self) -> float:
        """Share of the chosen requests that met the limits; NaN without requests or limits."""
        return math.nan if self._good is None or not self.chosen.any() else float(self._good[self.chosen].mean())

    @cached_property
    def user_rate(self) -> float:
        """1/TPOT, mean over the chosen requests; NaN where none has a second token [tokens/s]."""
        return summarise_latency(decode_rate(self.run.requests)[self.chosen]).mean

    @cached_property
    def ttft(self) -> LatencySummary:
        """Time to first token [s]."""
        return summarise_latency(ttft(self.run.requests)[self.chosen])

    @cached_property
    def tpot(self) -> LatencySummary:
        """Time per output token after the first [s]."""
        return summarise_latency(tpot(self.run.requests)[self.chosen])

    @cached_property
    def e2e(self) -> LatencySummary:
        """From arrival to finish [s]."""
        return summarise_latency(e2e(self.run.requests)[self.chosen])

    @cached_property
    def queueing(self) -> LatencySummary:
        """From arrival to admission [s]."""
        return summarise_latency(queueing(self.run.requests)[self.chosen])

    @cached_property
    def gaps(self) -> ChunkGaps | None:
        """Times between chunks [s]; None where rounds are only counted."""
        if self._known_gaps is not None or self.run.rounds is None:
            return self._known_gaps
        return chunk_gaps(self.run.steps, self.run.rounds)

    @cached_property
    def itl(self) -> LatencySummary:
        """Times between chunks of the chosen requests; of all where rounds are only counted [s]."""
        if self.gaps is None:
            return tallied_itl(self._tally)
        return summarise_latency(self.gaps.seconds[self.chosen[self.gaps.request]])

    @cached_property
    def itl_per_token(self) -> LatencySummary:
        """Each chunk's time shared out among its tokens, of the same chunks as ``itl`` [s]."""
        if self.gaps is None:
            return tallied_itl_per_token(self._tally)
        chosen = self.chosen[self.gaps.request]
        return summarise_latency(itl_per_token(self.gaps.seconds[chosen], self.gaps.tokens[chosen]))

    @cached_property
    def running_batch(self) -> float:
        """Requests running on all replicas, averaged over the time of the span in which any is in a step."""
        return mean_running_batch(self.run.steps, self.window)

    @cached_property
    def acceptance(self) -> AcceptanceSummary:
        """Acceptance over the whole run, as acceptance has no warm-up.

        Raises:
            ValueError: the run has neither rounds nor a tally of them.
        """
        if self.run.tally is not None:
            return tallied_acceptance(self.run.tally)
        if self.run.rounds is None:
            raise ValueError("records without rounds come with their tally")
        return acceptance(self.run.requests, self.run.rounds)

    @cached_property
    def drafted_per_s(self) -> float:
        """Draft tokens per second of the whole run [tokens/s]."""
        return float(self.run.steps.num_draft_tokens.sum()) / self.duration

    @property
    def _tally(self) -> RoundTally:
        if self.run.tally is None:
            raise ValueError("records without rounds come with their tally")
        return self.run.tally
