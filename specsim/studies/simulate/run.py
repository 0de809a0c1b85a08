"""One load with and without speculation: every metric of both, with intervals, paired by replication."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from specsim.analysis.intervals import Interval, mean_interval, paired_speedup_interval
from specsim.analysis.invariants import violations_of_all
from specsim.analysis.latencies import LatencyLimits
from specsim.analysis.run_metrics import CLASS_METRICS, METRICS, THROUGHPUT, Metric
from specsim.analysis.run_view import RunView, Server
from specsim.analysis.stability import Balance, Verdict, balance, verdict
from specsim.analysis.steady import sent_within, steady_window
from specsim.arrays import Floats
from specsim.costs.extrapolation import Extrapolation
from specsim.errors import BrokenRunError
from specsim.forward import Reach, farthest
from specsim.inputs.models.plan import request_limits
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.workload import Replay
from specsim.inputs.read.scenario import Inputs
from specsim.records import RequestRecords, RunRecords
from specsim.simulation.fleet import simulation_of
from specsim.simulation.replica import Simulation
from specsim.studies.shared.model_error import ModelError, error_of
from specsim.studies.shared.notes import beyond_positions, held_acceptance
from specsim.studies.shared.points import Progress

Folders = Callable[[int, int], Path | None]
"""Draft length and replication → a folder where the rows of that run are written as they come; None to hold them."""


@dataclass(frozen=True)
class LoadResult:
    """Both arms of one load.

    Attributes:
        num_draft_tokens: draft length of the speculating arm.
        values: draft length (0: none) → [replications, len(METRICS)] in the metrics' units, of the steady part of each
            run, or of whole runs where ``steady_share`` is None.
        whole: the same of whole runs, ramp and tail included.
        classes: draft length → [replications, classes, len(CLASS_METRICS)], as ``values``; empty without a mixture.
        steady_share: draft length → share of requests that were sent in the steady part, mean of runs; None where a run
            is too short to have such a part.
        records: draft length → the records of replication 0.
        balance: draft length → what each run says of whether the rate offered is served; of open loops.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
        left_out: requests of traces that failed and are not among those served.
        missing: replications that an interruption left out.
        in_trace: requests of the trace that is replayed; None where none is.
        notes: what the inputs leave open, in sentences.
        model_error: of the speedup; None of the textbook device.
    """

    num_draft_tokens: int
    values: dict[int, Floats]
    whole: dict[int, Floats]
    classes: dict[int, Floats]
    steady_share: dict[int, float] | None
    records: dict[int, RunRecords]
    balance: dict[int, tuple[Balance, ...]]
    extrapolation: Extrapolation | None = None
    left_out: int = 0
    missing: int = 0
    in_trace: int | None = None
    notes: tuple[str, ...] = ()
    model_error: ModelError | None = None

    def interval(self, num_draft_tokens: int, metric: Metric) -> Interval:
        """A metric's mean over replications with its 95 % interval."""
        return mean_interval(self._column(num_draft_tokens, metric))

    def whole_interval(self, num_draft_tokens: int, metric: Metric) -> Interval:
        """A metric of whole runs: its mean over replications with its 95 % interval."""
        return mean_interval(self.whole[num_draft_tokens][:, METRICS.index(metric)])

    def class_interval(self, num_draft_tokens: int, number: int, metric: Metric) -> Interval:
        """A metric of a class: its mean over replications with its 95 % interval."""
        return mean_interval(self.classes[num_draft_tokens][:, number, CLASS_METRICS.index(metric)])

    def keeps_up(self, num_draft_tokens: int) -> Verdict:
        """Whether an arm serves the rate offered, as far as its runs show."""
        return verdict(self.balance[num_draft_tokens])

    def speedup(self) -> Interval:
        """Output tokens/s with speculation over without, same load, paired."""
        treated, plain = (self._column(k, THROUGHPUT) for k in (self.num_draft_tokens, 0))
        return paired_speedup_interval(treated, plain)

    def _column(self, num_draft_tokens: int, metric: Metric) -> Floats:
        return self.values[num_draft_tokens][:, METRICS.index(metric)]


@dataclass(frozen=True)
class _Found:
    """What is kept of one run: its METRICS of the whole and of the steady part, and what a result says besides."""

    whole: list[float]
    steady: list[float] | None
    classes: list[list[float]]
    whole_classes: list[list[float]]
    share: float
    balance: Balance
    reached: Reach


def simulate_load(
    inputs: Inputs,
    *,
    check: bool = False,
    progress: Progress = lambda share: None,
    folders: Folders = lambda k, replication: None,
    keep_rounds: bool | None = None,
) -> LoadResult:
    """Run the scenario's own load, without speculation and with the policy's draft length.

    Replications come one after the other, each in both arms. An interruption (Ctrl-C) ends them; what was finished in
    both arms is the result, which says how many are missing.

    Args:
        inputs: the scenario and what it refers to.
        check: whether each run is checked for what must hold of all, see ``analysis.invariants``.
        progress: is told of shares of the work.
        folders: where the rows of each run are written as they come; nowhere by default.
        keep_rounds: whether the rounds of replication 0 are recorded, however many; by default unless they are many.

    Raises:
        InfeasibleError: before anything is simulated, when a request could never be served.
        BrokenRunError: when ``check`` finds a mistake of the engine.
        KeyboardInterrupt: before a replication was finished.
    """
    scenario, simulation = inputs.scenario, simulation_of(inputs)
    number = simulation.num_requests
    drafted = scenario.speculation.policy.num_draft_tokens
    arms, replications = tuple(dict.fromkeys((0, drafted))), scenario.run.replications
    for k in arms:
        for replication in range(replications):
            simulation.lengths_checked(number, k, replication, scenario.workload.load)
    found: list[dict[int, _Found]] = []
    records: dict[int, RunRecords] = {}
    for replication in range(replications):
        try:
            runs = {}
            for k in arms:
                if k == 0 and found and _repeats(scenario):
                    runs[0] = found[0][0]
                    progress(1 / (len(arms) * replications))
                    continue
                run = simulation.run(
                    scenario.workload.load,
                    num_draft_tokens=k,
                    num_requests=number,
                    replication=replication,
                    policy=scenario.speculation.policy if k else None,
                    keep_rounds=keep_rounds if replication == 0 else None,
                    spill=folders(k, replication),
                )
                if check:
                    _check(run, simulation.kv_pools(k), k, replication)
                records.setdefault(k, run)
                runs[k] = _found(simulation, run, k)
                progress(1 / (len(arms) * replications))
        except KeyboardInterrupt:
            if not found:
                raise
            break
        found.append(runs)
    return _result(simulation, arms, found, records)


def _repeats(scenario: Scenario) -> bool:
    """Whether nothing is left to chance without speculation: the same requests at the same times, on one replica."""
    workload = scenario.workload
    return isinstance(workload.load, Replay) and workload.shared_prefix is None and scenario.fleet is None


def _found(simulation: Simulation, run: RunRecords, num_draft_tokens: int) -> _Found:
    scenario, window = simulation.inputs.scenario, steady_window(run.requests)
    server, number = _server(simulation, num_draft_tokens), len(scenario.workload.mixture)
    sent = None if window is None else sent_within(run.requests, window)
    if sent is not None and not sent.any():
        window = None
    requests, whole = run.requests, RunView(run, server=server)
    of_classes = [[RunView(run, part, server, one) for one in range(number)] for part in (None, window)]
    whole_classes, classes = ([[metric.value(one) for metric in CLASS_METRICS] for one in part] for part in of_classes)
    steady = None if window is None else RunView(run, window, server, gaps=whole.gaps)
    return _Found(
        whole=[metric.value(whole) for metric in METRICS],
        steady=None if steady is None else [metric.value(steady) for metric in METRICS],
        classes=classes,
        whole_classes=whole_classes,
        share=0.0 if sent is None else float(sent.mean()),
        balance=balance(requests),
        reached=simulation.reach(run.steps),
    )


def _server(simulation: Simulation, num_draft_tokens: int) -> Server:
    scenario = simulation.inputs.scenario
    limits = request_limits(scenario.plan, scenario.slo)
    return Server(
        limits=LatencyLimits(**limits) if limits else None,
        kv_tokens=np.array(simulation.kv_pools(num_draft_tokens)),
        bandwidth=np.array(simulation.bandwidths),
        num_devices=simulation.num_devices,
    )


def _result(
    simulation: Simulation, arms: tuple[int, ...], found: list[dict[int, _Found]], records: dict[int, RunRecords]
) -> LoadResult:
    """Of the replications that were finished; whole runs throughout where one has no steady part."""
    scenario = simulation.inputs.scenario
    every = [run for runs in found for run in runs.values()]
    has_steady = all(run.steady is not None for run in every)
    whole = {k: np.array([runs[k].whole for runs in found]) for k in arms}
    steady = {k: np.array([runs[k].steady for runs in found], np.float64) for k in arms} if has_steady else {}
    classes = {
        k: np.array([runs[k].classes if has_steady else runs[k].whole_classes for runs in found])
        for k in arms
        if scenario.workload.mixture
    }
    return LoadResult(
        num_draft_tokens=scenario.speculation.policy.num_draft_tokens,
        values=steady or whole,
        whole=whole,
        classes=classes,
        steady_share={k: float(np.mean([runs[k].share for runs in found])) for k in arms} if has_steady else None,
        records=records,
        balance={k: tuple(runs[k].balance for runs in found) for k in arms},
        extrapolation=simulation.extrapolation(farthest(run.reached for run in every)),
        left_out=sum(trace.left_out for trace in simulation.traffic.traces.values()),
        missing=scenario.run.replications - len(found),
        in_trace=simulation.traffic.num_replayed,
        notes=tuple(_notes(simulation.inputs, records[0].requests)),
        model_error=error_of(simulation.inputs, "speedup"),
    )


def _notes(inputs: Inputs, requests: RequestRecords) -> Iterator[str]:
    drafted = inputs.scenario.speculation.policy.num_draft_tokens
    yield from held_acceptance(inputs.scenario.speculation, drafted)
    if drafted:
        yield from beyond_positions(inputs, int((requests.prompt_tokens + requests.output_tokens).max()))


def _check(run: RunRecords, kv_pools: list[int], num_draft_tokens: int, replication: int) -> None:
    """Refuse a run that breaks what must hold of all."""
    found = violations_of_all(run, kv_pools)
    if found:
        arm = f"with up to {num_draft_tokens} draft tokens" if num_draft_tokens else "without speculation"
        raise BrokenRunError(f"Replication {replication} {arm} violates invariants", found)
