"""The metrics of a run, each defined once: name, unit, what computes it, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from specsim.analysis.latencies import LatencySummary
from specsim.analysis.resources import bandwidth_share, busy_share, flops_share, kv_share
from specsim.analysis.run_view import RunView

MS, PERCENT = 1e3, 100.0


class Metric(NamedTuple):
    """One number per run.

    Attributes:
        name: of the metric.
        unit: of ``value``; empty for pure numbers.
        compute: the number, in SI units.
        description: for the data dictionary.
        scale: from SI to the unit.
    """

    name: str
    unit: str
    compute: Callable[[RunView], float]
    description: str
    scale: float = 1.0

    @property
    def label(self) -> str:
        """The name with its unit, where the name does not say it."""
        return f"{self.name} [{self.unit}]" if self.unit and not self.name.endswith(self.unit) else self.name

    def value(self, view: RunView) -> float:
        """The metric of a run, in its unit."""
        return self.compute(view) * self.scale


def _percentiles(name: str, of: Callable[[RunView], LatencySummary], description: str) -> tuple[Metric, ...]:
    def percentile(part: str) -> Callable[[RunView], float]:
        return lambda view: float(getattr(of(view), part))

    return tuple(
        Metric(f"{name} {part}", "ms", percentile(part), f"{description}, {part} over requests sent in the window", MS)
        for part in ("p50", "p90", "p99")
    )


THROUGHPUT = Metric("output tokens/s", "tokens/s", lambda view: view.tokens_per_s, "output tokens per second")
USER_RATE = Metric("tokens/s/user", "", lambda view: view.user_rate, "1/TPOT, mean over requests sent in the window")
WITHIN_SLO = Metric("within SLO", "%", lambda view: view.within_limits, "requests that met the limits", PERCENT)
RUNNING_BATCH = Metric(
    "running batch", "", lambda view: view.running_batch, "requests running, mean over the time in steps"
)
SERVED = (
    THROUGHPUT,
    Metric("requests/s", "", lambda view: view.requests_per_s, "requests that finish per second"),
    USER_RATE,
    Metric("goodput", "requests/s", lambda view: view.goodput, "requests per second that met the limits"),
)
TTFT = _percentiles("TTFT", lambda view: view.ttft, "time to first token")
TPOT = _percentiles("TPOT", lambda view: view.tpot, "time per output token after the first")
ITL = _percentiles("ITL", lambda view: view.itl, "time between chunks of output")
ITL_PER_TOKEN = _percentiles("ITL per token", lambda view: view.itl_per_token, "a chunk's time shared among its tokens")
E2E = _percentiles("E2E", lambda view: view.e2e, "time from arrival to the last token")
QUEUEING = _percentiles("queueing", lambda view: view.queueing, "time from arrival to admission")


def _kv(place: int) -> Callable[[RunView], float]:
    def share(view: RunView) -> float:
        replica = 0 if view.run.steps.replica is None else view.run.steps.replica
        return kv_share(view.run.steps, view.server.kv_tokens[replica], view.window)[place]

    return share


def _bandwidth(view: RunView) -> float:
    replica = 0 if view.run.steps.replica is None else view.run.steps.replica
    return bandwidth_share(view.run.steps, view.server.bandwidth[replica], view.window)


METRICS = (
    *SERVED,
    WITHIN_SLO,
    *(*TTFT, *TPOT, *ITL, *ITL_PER_TOKEN, *E2E, *QUEUEING),
    Metric("tokens/s/GPU", "", lambda view: view.tokens_per_s / view.server.num_devices, "output tokens/s per GPU"),
    RUNNING_BATCH,
    Metric(
        "busy",
        "%",
        lambda view: busy_share(view.run.steps, view.span) / len(view.server.kv_tokens),
        "time in steps, mean over replicas",
        PERCENT,
    ),
    Metric("KV in use, mean", "%", _kv(0), "KV pool in use, mean over the time in steps", PERCENT),
    Metric("KV in use, peak", "%", _kv(1), "KV pool in use, largest of any step", PERCENT),
    Metric("bandwidth used", "%", _bandwidth, "bytes moved over what the device's peak could", PERCENT),
    Metric(
        "FLOPs used",
        "%",
        lambda view: flops_share(view.run.steps, view.window),
        "operations over what the device's dense peak could",
        PERCENT,
    ),
    Metric(
        "tokens per verify",
        "",
        lambda view: view.acceptance.acceptance_length,
        "the recovered or bonus token included; whole run",
    ),
    Metric(
        "wasted drafts",
        "%",
        lambda view: view.acceptance.wasted_draft_fraction,
        "draft tokens that were not accepted; whole run",
        PERCENT,
    ),
    Metric(
        "wasted drafts",
        "tokens/s",
        lambda view: view.acceptance.wasted_draft_fraction * view.drafted_per_s,
        "draft tokens per second that were not accepted; whole run",
    ),
)
"""What describes a run under a load."""

CLASS_METRICS = (*SERVED, WITHIN_SLO, *TTFT, *TPOT, *E2E, *QUEUEING)
"""What describes one class of its requests."""

CLIENT_METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("output_tokens_per_s", "tokens/s", lambda view: view.client_tokens_per_s, "output tokens / duration"),
        Metric(
            "total_tokens_per_s",
            "tokens/s",
            lambda view: view.client_tokens_per_s + float(view.run.requests.prompt_tokens.sum()) / view.duration,
            "prompt and output tokens / duration",
        ),
        Metric("tokens_per_s_per_user", "tokens/s", lambda view: 1 / view.tpot.mean, "1 / mean TPOT"),
        Metric("tpot_ms", "ms", lambda view: view.tpot.mean, "mean TPOT", MS),
        Metric("ttft_ms", "ms", lambda view: view.ttft.mean, "mean TTFT", MS),
        Metric("itl_p50_ms", "ms", lambda view: view.itl.p50, "median time between chunks", MS),
        Metric("e2e_ms", "ms", lambda view: view.e2e.mean, "mean time from arrival to the last token", MS),
        Metric("running_batch", "", lambda view: view.running_batch, "requests running, mean"),
    )
}
"""What a benchmark client computes of a whole run, by its name in tables of measurements; ramp and tail are in it."""
