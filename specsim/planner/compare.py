"""One load with and without speculation: every metric of both, with intervals, paired by replication."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.analysis.intervals import Interval, mean_interval, paired_speedup_interval
from specsim.analysis.invariants import violations_of_all
from specsim.analysis.latencies import LatencyLimits, goodput, slo_attainment
from specsim.analysis.metrics import RunMetrics, reach, steady_window, summarise
from specsim.costs.extrapolation import Extrapolation
from specsim.errors import BrokenRunError
from specsim.fleets import simulation_of
from specsim.forward import Reach, farthest
from specsim.planner.points import Progress
from specsim.records import RunRecords
from specsim.schema.load import Inputs
from specsim.schema.workload import SLO, ClosedLoop

Floats = NDArray[np.float64]


class Metric(NamedTuple):
    """A number per run.

    Attributes:
        name: what it is, with its unit.
        scale: from SI to that unit.
    """

    name: str
    scale: float = 1.0


THROUGHPUT = Metric("output tokens/s")
METRICS = (
    THROUGHPUT,
    Metric("requests/s"),
    Metric("goodput [requests/s]"),
    Metric("within SLO [%]", 100),
    *(Metric(f"{name} {part} [ms]", 1e3) for name in ("TTFT", "TPOT", "ITL", "E2E") for part in ("p50", "p90", "p99")),
    Metric("running batch"),
    Metric("tokens per verify"),
    Metric("wasted drafts [%]", 100),
)


@dataclass(frozen=True)
class LoadResult:
    """Both arms of one load.

    Attributes:
        num_draft_tokens: draft length of the speculating arm.
        values: draft length (0: none) → [replications, len(METRICS)] in the metrics' units.
        records: draft length → the records of replication 0.
        sending_share: draft length → time over which requests arrived / time until all were served, mean of runs. Well
            below 1 in an open loop when the server does not keep up.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
        left_out: requests of traces that failed and are not among those served.
    """

    num_draft_tokens: int
    values: dict[int, Floats]
    records: dict[int, RunRecords]
    sending_share: dict[int, float]
    extrapolation: Extrapolation | None = None
    left_out: int = 0

    def interval(self, num_draft_tokens: int, metric: Metric) -> Interval:
        """A metric's mean over replications with its 95 % interval."""
        return mean_interval(self._column(num_draft_tokens, metric))

    def speedup(self) -> Interval:
        """Output tokens/s with speculation over without, same load, paired."""
        treated, plain = (self._column(k, THROUGHPUT) for k in (self.num_draft_tokens, 0))
        return paired_speedup_interval(treated, plain)

    def _column(self, num_draft_tokens: int, metric: Metric) -> Floats:
        return self.values[num_draft_tokens][:, METRICS.index(metric)]


def simulate_load(inputs: Inputs, *, check: bool = False, progress: Progress = lambda share: None) -> LoadResult:
    """Run the scenario's own load, without speculation and with the policy's draft length.

    Args:
        inputs: the scenario and what it refers to.
        check: whether each run is checked for what must hold of all, see ``analysis.invariants``.
        progress: is told of shares of the work.

    Raises:
        InfeasibleError: before anything is simulated, when a request could never be served.
        BrokenRunError: when ``check`` finds a mistake of the engine.
    """
    scenario, simulation = inputs.scenario, simulation_of(inputs)
    drafted = scenario.speculation.policy.num_draft_tokens
    arms, replications = tuple(dict.fromkeys((0, drafted))), scenario.run.replications
    for k in arms:
        for replication in range(replications):
            simulation.lengths_checked(scenario.workload.num_requests, k, replication, scenario.workload.load)
    values: dict[int, Floats] = {}
    records: dict[int, RunRecords] = {}
    sending_share: dict[int, float] = {}
    reached: list[Reach] = []
    for k in arms:
        rows, shares = [], []
        for replication in range(replications):
            run = simulation.run(
                scenario.workload.load,
                num_draft_tokens=k,
                num_requests=scenario.workload.num_requests,
                replication=replication,
                policy=scenario.speculation.policy if k else None,
            )
            if check:
                _check(run, simulation.kv_pools(k), k, replication)
            records.setdefault(k, run)
            reached.append(reach(run.steps))
            shares.append(
                float(np.ptp(run.requests.arrival) / (run.requests.finish.max() - run.requests.arrival.min()))
            )
            rows.append(_row(run, scenario.workload.load, scenario.slo))
            progress(1 / (len(arms) * replications))
        values[k] = np.array(rows) * [metric.scale for metric in METRICS]
        sending_share[k] = float(np.mean(shares))
    left_out = sum(trace.left_out for trace in simulation.traffic.traces.values())
    return LoadResult(drafted, values, records, sending_share, simulation.extrapolation(farthest(reached)), left_out)


def _check(run: RunRecords, kv_pools: list[int], num_draft_tokens: int, replication: int) -> None:
    """Refuse a run that breaks what must hold of all."""
    found = violations_of_all(run, kv_pools)
    if found:
        arm = f"with up to {num_draft_tokens} draft tokens" if num_draft_tokens else "without speculation"
        raise BrokenRunError(f"Replication {replication} {arm} breaks what must hold of every run", found)


def _row(run: RunRecords, load: object, slo: SLO) -> list[float]:
    """The METRICS of one run, in SI units."""
    window = steady_window(run.requests, load.concurrency) if isinstance(load, ClosedLoop) else None
    metrics = summarise(run, window)
    limits = LatencyLimits(*(math.inf if limit is None else limit for limit in (slo.ttft, slo.tpot, slo.e2e)))
    return [
        metrics.output_tokens_per_s,
        metrics.requests_per_s,
        goodput(run.requests, limits),
        slo_attainment(run.requests, limits),
        *_percentiles(metrics),
        metrics.mean_running_batch,
        metrics.acceptance.acceptance_length,
        metrics.acceptance.wasted_draft_fraction,
    ]


def _percentiles(metrics: RunMetrics) -> list[float]:
    latencies = (metrics.ttft, metrics.tpot, metrics.itl, metrics.e2e)
    return [value for latency in latencies for value in (latency.p50, latency.p90, latency.p99)]
