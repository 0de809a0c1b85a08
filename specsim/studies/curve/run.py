"""Throughput and speedup against batch: every point simulated, paired by replication, with intervals and crossings."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from specsim.analysis.crossings import Crossings, crossings_of_band
from specsim.analysis.intervals import mean_interval, paired_speedup_interval
from specsim.arrays import Floats
from specsim.costs.extrapolation import Extrapolation
from specsim.forward import farthest
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.expected import LENGTH_SAMPLE, decode_step, free_verify_batch, mean_context
from specsim.simulation.fleet import simulation_of
from specsim.simulation.in_flight import num_drawn
from specsim.simulation.replica import Simulation
from specsim.studies.curve.grid_runs import Runs, crossings_of, deciding, run_curve
from specsim.studies.curve.waiting import Binding, binding_limits
from specsim.studies.shared.limits import CAPS, limit_of
from specsim.studies.shared.model_error import ModelError, error_of
from specsim.studies.shared.notes import input_notes, run_length_notes
from specsim.studies.shared.points import Point, Progress, num_requests

NUM_CLOSED_FORM_BATCHES = 80


@dataclass(frozen=True)
class CurveResult:
    """A simulated curve.

    Attributes:
        batches: the grid asked for.
        points: one row per batch and draft length; the columns are the keys of ``_row``. Besides the grid it holds,
            for some draft lengths, batches right at their crossings.
        closed_form: closed_form_speedup by draft length at enough batches to draw its bends, as far as it applies.
        crossings: draft length → where its speedup passes 1.0.
        free_batch: draft length → largest batch whose verify is free, see ``expected.free_verify_batch``; of a fleet of
            equal replicas all together, and of none where they differ.
        notes: what the inputs leave open, in sentences.
        run_lengths: which runs were made longer, and which still drift, in sentences.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
        missing: points of the grid that an interruption left out; there are no crossings then.
        interrupted: whether anything was left out, such as batches nearer to a crossing.
        waiting: which limits keep requests waiting, and at which batches.
        model_error: of speedups; None of the textbook device.
        throughputs: output tokens/s of each point's replications [replications]; entry r of every point shares its
            requests and random numbers.
    """

    batches: tuple[int, ...]
    points: pd.DataFrame
    closed_form: pd.DataFrame
    crossings: dict[int, Crossings]
    free_batch: dict[int, int | None]
    notes: tuple[str, ...] = ()
    run_lengths: tuple[str, ...] = ()
    extrapolation: Extrapolation | None = None
    missing: tuple[Point, ...] = ()
    interrupted: bool = False
    waiting: tuple[Binding, ...] = ()
    model_error: ModelError | None = None
    throughputs: Mapping[Point, Floats] = field(default_factory=dict)

    def model_crossings(self, num_draft_tokens: int) -> Crossings | None:
        """Where the band of the model's error around the mean speedup passes 1.0; None without a model's error."""
        if self.model_error is None:
            return None
        rows = self.points[self.points["num_draft_tokens"] == num_draft_tokens].sort_values("batch")
        rows = rows[rows["batch"].isin(self.running)]
        mean, half = np.log(rows["speedup"].to_numpy(dtype=np.float64)), self.model_error.half_width
        return crossings_of_band(rows["batch"].to_numpy(dtype=np.float64), mean, mean - half, mean + half)

    @property
    def running_limit(self) -> float | None:
        """Requests that run at once however many are in flight, as memory and the engine allow; None where all do."""
        return _running_limit(self.points)

    @property
    def running(self) -> list[int]:
        """Batches, besides the grid those at crossings, whose requests all run at once, whatever is drafted."""
        waiting = set(self.points.loc[self.points["limit"].isin(CAPS), "batch"])
        return sorted(set(self.points["batch"]) - waiting)

    @property
    def averaged(self) -> tuple[int, ...]:
        """Batches of the grid that averages are over: those that run at once; all where none does."""
        return tuple(batch for batch in self.batches if batch in self.running) or self.batches

    def best_draft_lengths(self) -> pd.Series[int]:
        """Batch of the grid → the draft length with the highest mean throughput; 0 where none pays."""
        grid = self.points[self.points["batch"].isin(self.batches)]
        return grid.pivot(index="batch", columns="num_draft_tokens", values="tokens_per_s").idxmax(axis=1).astype(int)


def simulate_curve(
    inputs: Inputs,
    *,
    jobs: int | None = None,
    progress: Progress = lambda share: None,
    refine: bool = True,
) -> CurveResult:
    """Run every point of the scenario's curve; the result does not depend on ``jobs``.

    An interruption (Ctrl-C) ends it; the points finished by then are the result, which says what is missing.

    Args:
        inputs: the scenario and what it refers to.
        jobs: processes; None for one per processor.
        progress: told of finished work.
        refine: whether batches right at the crossings are run besides the grid.

    Raises:
        InfeasibleError: before anything is simulated, when some request could never be served.
        KeyboardInterrupt: before any speedup was known.
    """
    curve, simulation = inputs.scenario.curve, simulation_of(inputs)
    draft_lengths = inputs.scenario.compared_draft_lengths
    points = [Point(batch, k) for batch in curve.batches for k in (0, *draft_lengths)]
    for k in (0, *draft_lengths):
        for replication in range(curve.replications):  # more requests begin with those of smaller batches
            simulation.lengths_checked(num_drawn(num_requests(inputs, curve.batches[-1])), k, replication)
    found = run_curve(inputs, points, draft_lengths, jobs or os.cpu_count() or 1, progress, refine=refine)
    return replace(_result(simulation, found.runs, found.missing), interrupted=found.interrupted)


def _result(simulation: Simulation, runs: Runs, missing: tuple[Point, ...]) -> CurveResult:
    scenario = simulation.inputs.scenario
    context = mean_context(simulation)
    points = pd.DataFrame([_row(simulation, runs, point, context) for point in sorted(runs)])
    closed_form = _closed_form(simulation, context)
    largest = _largest_closed_form_batch(simulation, points)
    crossings = {} if missing else {k: crossings_of(k, runs) for k in scenario.compared_draft_lengths}
    asked = scenario.speculation.policy.num_draft_tokens
    return CurveResult(
        batches=scenario.curve.batches,
        points=points.assign(closed_form_speedup=points["closed_form_speedup"].where(points["batch"] <= largest)),
        closed_form=closed_form[closed_form["batch"] <= largest],
        crossings=crossings,
        free_batch=_free_batches(simulation),
        notes=tuple(input_notes(simulation)),
        run_lengths=tuple(run_length_notes(simulation.inputs, runs.items())),
        extrapolation=simulation.extrapolation(farthest(deciding(asked, runs, crossings))),
        missing=missing,
        waiting=tuple(binding_limits(simulation, points)),
        model_error=error_of(simulation.inputs, "speedup"),
        throughputs={point: found.tokens_per_s for point, found in runs.items()},
    )


def _equal_replicas(simulation: Simulation) -> int:
    """Among how many replicas a batch is divided evenly; 0 where they differ, so that no closed form knows how."""
    fleet = simulation.inputs.scenario.fleet
    if fleet is None:
        return 1
    return fleet.num_replicas if fleet.alike else 0


def _free_batches(simulation: Simulation) -> dict[int, int | None]:
    replicas = _equal_replicas(simulation)
    own = {k: free_verify_batch(simulation, k) for k in simulation.inputs.scenario.compared_draft_lengths}
    return {k: batch and batch * replicas for k, batch in own.items()} if replicas else {}


def _largest_closed_form_batch(simulation: Simulation, points: pd.DataFrame) -> float:
    """Up to which batch the closed form applies.

    It knows decoding only, so it applies nowhere where prompts outweigh outputs; and beyond what runs at once no batch
    of that size exists.
    """
    lengths = simulation.lengths(LENGTH_SAMPLE, replication=0)
    if _equal_replicas(simulation) == 0:
        return 0.0
    if not simulation.inputs.scenario.workload.decode_only and lengths.prompt.mean() > lengths.output.mean():
        return 0.0
    limit = _running_limit(points)
    return math.inf if limit is None else limit


def _running_limit(points: pd.DataFrame) -> float | None:
    capped = points[points["limit"] != ""]
    return None if capped.empty else float(capped["mean_running_batch"].max())


def _closed_form(simulation: Simulation, context: int) -> pd.DataFrame:
    curve = simulation.inputs.scenario.curve
    batches = np.unique(np.geomspace(curve.batches[0], curve.batches[-1], NUM_CLOSED_FORM_BATCHES).round())
    rows = [
        {"batch": int(batch), "num_draft_tokens": k, "closed_form_speedup": _expected(simulation, batch, k, context)}
        for batch in batches.astype(np.int64)
        for k in simulation.inputs.scenario.compared_draft_lengths
    ]
    return pd.DataFrame(rows)


def _expected(simulation: Simulation, batch: int, num_draft_tokens: int, context: int) -> float:
    """The closed form's speedup: output tokens/s at equal batch, decode only; a fleet's, of each replica's share."""
    batch = max(1, round(batch / max(1, _equal_replicas(simulation))))
    drafted, plain = (decode_step(simulation, batch, k, context) for k in (num_draft_tokens, 0))
    return drafted.tokens_per_s / plain.tokens_per_s


def _model_ends(inputs: Inputs, speedup: float) -> dict[str, float]:
    """Columns of the model's interval of a speedup; none of the textbook device."""
    error = error_of(inputs, "speedup")
    return dict(zip(("speedup_model_low", "speedup_model_high"), error.around(speedup), strict=True)) if error else {}


def _row(simulation: Simulation, runs: Runs, point: Point, context: int) -> dict[str, object]:
    run, baseline = runs[point], runs[Point(point.batch, 0)]
    throughput = mean_interval(run.tokens_per_s)
    speedup = paired_speedup_interval(run.tokens_per_s, baseline.tokens_per_s)
    return {
        "batch": point.batch,
        "num_draft_tokens": point.num_draft_tokens,
        "tokens_per_s": throughput.estimate,
        "tokens_per_s_low": throughput.low,
        "tokens_per_s_high": throughput.high,
        "speedup": speedup.estimate,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        **_model_ends(simulation.inputs, speedup.estimate),
        "closed_form_speedup": _expected(simulation, point.batch, point.num_draft_tokens, context),
        "acceptance_length": float(np.mean(run.acceptance_length)),
        "mean_running_batch": float(np.mean(run.running_batch)),
        "limit": limit_of(point, run),
        "ttft_p50_s": float(np.mean(run.ttft_p50)),
        "tpot_p50_s": float(np.mean(run.tpot_p50)),
    }
