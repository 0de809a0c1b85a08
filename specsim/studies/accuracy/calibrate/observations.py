"""Measured rows as observations that a profile can be fitted to: what calibration may see of them, and no more.

Of single steps it may see those marked calibration. Of serving points it may see every figure without speculation, and
of those with speculation the ones marked calibration. In a table that marks none, everything.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from specsim.analysis.metrics import reach
from specsim.analysis.run_metrics import CLIENT_METRICS
from specsim.analysis.run_view import RunView
from specsim.forward import Reach, farthest
from specsim.inputs.checkpoints.quantisation import formats
from specsim.inputs.measured.measurements import LATENCIES, Located, Metric
from specsim.inputs.measured.steps import LocatedStep, Step
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import PRECISIONS, ProductPrecision
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs, load_scenario
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.calibrate.replay import RecordedRun, record
from specsim.studies.accuracy.calibrate.run import Observation
from specsim.studies.accuracy.validate.measured import (
    BASE,
    Arm,
    arm,
    arm_inputs,
    deployment_overrides,
    drafter_overrides,
)
from specsim.studies.accuracy.validate.steps import step_reach, step_seconds
from specsim.studies.shared.points import Progress


class Seen(NamedTuple):
    """An observation, and what it was made of.

    Attributes:
        observation: the figure.
        inputs: of one of its runs.
        speculating: whether it says something of speculation.
        reach: how far its steps went.
    """

    observation: Observation
    inputs: Inputs
    speculating: bool
    reach: Reach


def precisions_of(inputs: Inputs) -> Iterator[ProductPrecision]:
    """Of the target's quantised products, as far as a profile has figures for them."""
    used = {form.kernels for form in formats(inputs.target_quantisation)}
    yield from (precision for precision in PRECISIONS if precision in used)


class _Under:
    """A scenario under one engine profile after another; what a profile needs is built once."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._engine: Engine | None = None
        self._simulation: Simulation | None = None

    def simulation(self, engine: Engine) -> Simulation:
        if self._simulation is None or engine is not self._engine:
            self._engine = engine
            self._simulation = Simulation(dataclasses.replace(self.inputs, engine=engine))
        return self._simulation


def step_observations(rows: Sequence[LocatedStep], scenario: str | None, start: str | None = None) -> Iterator[Seen]:
    """The steps that calibration may see.

    Args:
        rows: of one table.
        scenario: what they are laid over.
        start: the profile to start from in place of the rows' own.
    """
    scenarios: dict[tuple[str, ...], _Under] = {}
    marked = any(row.split == "calibration" for _, row in rows)
    for line, row in rows:
        if marked and row.split != "calibration":
            continue
        drafter = drafter_overrides(row, speculating=row.num_draft_tokens > 0)
        overrides = (*deployment_overrides(row), *drafter, *_starting(start))
        if overrides not in scenarios:
            scenarios[overrides] = _Under(load_scenario(scenario or BASE, overrides))
        under = scenarios[overrides]
        found = Observation(f"step on line {line}", row.ms, _step_prediction(under, row))
        yield Seen(found, under.inputs, row.num_draft_tokens > 0, step_reach(row))


def _starting(profile: str | None) -> tuple[str, ...]:
    return () if profile is None else (f"deployment.engine={json.dumps(profile)}",)


def _step_prediction(under: _Under, row: Step) -> Callable[[Engine], float]:
    return lambda engine: 1e3 * step_seconds(under.simulation(engine), row)


def serving_observations(
    rows: Sequence[Located],
    scenario: str | None,
    start: str | None = None,
    progress: Progress = lambda share: None,
) -> Iterator[Seen]:
    """The figures that calibration may see; each run is simulated once. Arguments as for ``step_observations``."""
    usable = [row for _, row in rows if row.counted]
    marked = any(row.split == "calibration" for row in usable)
    figures: dict[tuple[tuple[Arm, ...], Metric], float] = {}
    for row in usable:
        seen = not marked or row.split == "calibration"
        plain, speculating = arm(row, speculating=False), arm(row, speculating=True)
        if row.baseline is not None:
            figures.setdefault(((plain,), row.metric), row.baseline)
        if seen and row.with_speculation is not None:
            figures.setdefault(((speculating,), row.metric), row.with_speculation)
        elif seen and row.speedup is not None and row.num_draft_tokens:
            figures.setdefault(((plain, speculating), row.metric), row.speedup)
    runs = dict.fromkeys(chosen for arms, _ in figures for chosen in arms)
    recorded: dict[Arm, tuple[_Under, RecordedRun]] = {}
    for chosen in runs:
        inputs = arm_inputs(scenario or BASE, chosen._replace(overrides=(*chosen.overrides, *_starting(start))))
        recorded[chosen] = _Under(inputs), record(Simulation(inputs), chosen.num_draft_tokens)
        progress(1 / len(runs))
    for (arms, metric), measured in figures.items():
        if all(chosen in recorded for chosen in arms):
            name = f"{metric} at {', '.join(_load(recorded[chosen][0].inputs, chosen) for chosen in arms)}"
            predict = _serving_prediction([(*recorded[chosen], chosen) for chosen in arms], metric)
            last, reached = arms[-1], farthest(reach(recorded[chosen][1].records.steps) for chosen in arms)
            observation, inputs = Observation(name, measured, predict), recorded[last][0].inputs
            yield Seen(observation, inputs, last.num_draft_tokens > 0, reached)


def _load(inputs: Inputs, chosen: Arm) -> str:
    load = inputs.scenario.workload.load
    return f"{load.concurrency if isinstance(load, ClosedLoop) else ''} in flight, K = {chosen.num_draft_tokens}"


def _serving_prediction(runs: Sequence[tuple[_Under, RecordedRun, Arm]], metric: Metric) -> Callable[[Engine], float]:
    """The metric of a single run, or how many times better the second of two is."""

    def value(engine: Engine, under: _Under, run: RecordedRun, chosen: Arm) -> float:
        timed = run.timed(under.simulation(engine).step_cost(chosen.num_draft_tokens > 0))
        return CLIENT_METRICS[metric].value(RunView(timed))

    def predict(engine: Engine) -> float:
        values = [value(engine, *run) for run in runs]
        if len(values) == 1:
            return values[0]
        ratio = values[1] / values[0]
        return 1 / ratio if metric in LATENCIES else ratio

    return predict
