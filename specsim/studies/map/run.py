"""Where speculation pays, over batch and context: a curve at each context, of requests that only decode."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from specsim.analysis.crossings import Crossings
from specsim.costs.extrapolation import Extrapolation
from specsim.errors import InfeasibleError, Problem, raise_if_any
from specsim.forward import farthest
from specsim.inputs.models.lengths import FixedLengths
from specsim.inputs.read.scenario import Inputs
from specsim.simulation.replica import Simulation
from specsim.studies.curve.grid_runs import Runs, crossings_of, deciding, run_curve
from specsim.studies.map import grid
from specsim.studies.map.cells import cell_row
from specsim.studies.shared.limits import running
from specsim.studies.shared.model_error import error_of
from specsim.studies.shared.notes import input_notes, run_length_notes
from specsim.studies.shared.points import Point, PointRuns, Progress


@dataclass(frozen=True)
class MapResult:
    """A simulated map.

    Attributes:
        batches: the grid asked for.
        num_draft_tokens: lengths compared with no speculation.
        featured: the one that the answer is about: the policy's; where that is none, the one that gains most overall.
        lengths: context → what requests at it are like, of those that were simulated.
        cells: a row for each context, batch and draft length; the columns are the keys of ``cell_row``. Of batches that
            do not run at once it holds the first alone; besides the grid, for some contexts, batches right at the
            featured length's break-even.
        crossings: context and draft length → where the speedup passes 1.0, among batches that run at once; none of a
            context at which no batch does.
        notes: what the inputs leave open, in sentences.
        extrapolation: what lay beyond the ranges that the figures used were measured over.
        missing: contexts that an interruption left out.
        interrupted: whether anything was left out, and be it batches nearer to a break-even.
    """

    batches: tuple[int, ...]
    num_draft_tokens: tuple[int, ...]
    featured: int
    lengths: Mapping[int, FixedLengths]
    cells: pd.DataFrame
    crossings: Mapping[tuple[int, int], Crossings]
    notes: tuple[str, ...] = ()
    extrapolation: Extrapolation | None = None
    missing: tuple[int, ...] = ()
    interrupted: bool = False

    @property
    def contexts(self) -> tuple[int, ...]:
        """Those that were simulated."""
        return tuple(self.lengths)

    @property
    def decided(self) -> tuple[int, ...]:
        """Contexts at which all requests of some batch of the grid run at once."""
        running = self.cells[self.cells["all_run"] & self.cells["batch"].isin(self.batches)]["context"]
        return tuple(context for context in self.lengths if (running == context).any())

    def best_draft_lengths(self, context: int) -> pd.Series[int]:
        """Batch of the grid → the length with the highest mean throughput, 0 for none, where all requests run."""
        cells = self.cells[(self.cells["context"] == context) & self.cells["batch"].isin(self.batches)]
        rates = cells[cells["all_run"]].pivot(index="batch", columns="num_draft_tokens", values="tokens_per_s")
        return rates.idxmax(axis=1).astype(int)

    def largest_running(self, context: int) -> int:
        """The largest batch of the grid at which all requests run at once at a context that is decided."""
        cells = self.cells[(self.cells["context"] == context) & self.cells["batch"].isin(self.batches)]
        return int(cells.loc[cells["all_run"], "batch"].max())


def simulate_map(inputs: Inputs, *, jobs: int | None = None, progress: Progress = lambda share: None) -> MapResult:
    """Run the scenario's map, one context after the other; the result does not depend on ``jobs``.

    An interruption (Ctrl-C) ends it; the contexts finished by then are the result, which says what is missing.

    Args:
        inputs: the scenario and what it refers to.
        jobs: processes; None for one per processor.
        progress: told of finished work.

    Raises:
        InputError: of a scenario that has no map, or no such context.
        InfeasibleError: before anything is simulated, when some request could never be served; after it, when at no
            context all requests of some batch run at once.
        KeyboardInterrupt: before any context was finished.
    """
    raise_if_any(_no_map(inputs))
    contexts, batches = grid.chosen_contexts(inputs), grid.chosen_batches(inputs.scenario)
    lengths = grid.draft_lengths(inputs.scenario)
    asked = inputs.scenario.speculation.policy.num_draft_tokens
    runs: dict[int, Runs] = {}
    interrupted = False
    try:
        for context in contexts:
            here = grid.at_context(inputs, context, batches)
            found = run_curve(
                here,
                [Point(batch, k) for batch in grid.worth_running(inputs, context, batches) for k in (0, *lengths)],
                [asked] if asked else lengths,
                jobs or os.cpu_count() or 1,
                lambda share: progress(share / len(contexts)),
            )
            interrupted = found.interrupted
            if not found.missing:
                runs[context] = found.runs
            if interrupted:
                break
    except KeyboardInterrupt:
        interrupted = True
    if not runs:
        raise KeyboardInterrupt
    if not any(map(running, runs.values())):
        raise InfeasibleError([_none_run(inputs, batches, runs)])
    return _result(inputs, batches, contexts, runs, interrupted=interrupted)


def _no_map(inputs: Inputs) -> Iterator[Problem]:
    """Scenarios whose cells would be another scenario's."""
    where, scenario = str(inputs.files["scenario"]), inputs.scenario
    if scenario.fleet is not None:
        remedy = (
            "a map is that of one replica, whose batch is known; leave it out ('fleet: null' where it comes from a "
            "scenario that this one extends), and let map.batches be one replica's"
        )
        yield Problem(where, "fleet", "", remedy)
    if scenario.workload.domains:
        remedy = (
            "the requests of a map have fixed lengths, and no trace that gives their domains; give the domains as "
            "classes of workload.mixture, each with its share and acceptance"
        )
        yield Problem(where, "workload.domains", "", remedy)


def _none_run(inputs: Inputs, batches: Sequence[int], runs: Mapping[int, Runs]) -> Problem:
    """That the smallest batch is more than run at once, even at the shortest context."""
    smallest, shortest = batches[0], min(runs)
    at_once = min(found.running_batch.mean() for point, found in runs[shortest].items() if point.batch == smallest)
    remedy = (
        f"of the smallest, {at_once:.0f} requests run at once at {shortest} tokens of context and no more at longer "
        "ones, as memory and the engine's limits allow; write smaller batches (--batches), or shorter contexts "
        "(--contexts)"
    )
    return Problem(str(inputs.files["scenario"]), "map.batches", str(list(batches)), remedy)


def _result(
    inputs: Inputs, batches: Sequence[int], contexts: Sequence[int], runs: Mapping[int, Runs], *, interrupted: bool
) -> MapResult:
    simulations = {context: Simulation(grid.at_context(inputs, context, batches)) for context in runs}
    compared = grid.draft_lengths(inputs.scenario)
    cells = pd.DataFrame(
        [
            cell_row(simulations[context], context, found, point, all_run=point in running(found))
            for context, found in runs.items()
            for point in sorted(found)
        ]
    )
    # steps of cells in which requests wait may compute again what had to make room, and no figure is drawn from them
    shown = {context: running(found) for context, found in runs.items() if running(found)}
    crossings = {(context, k): crossings_of(k, found) for context, found in shown.items() for k in compared}
    asked = inputs.scenario.speculation.policy.num_draft_tokens
    reached = [
        reach
        for context, found in shown.items()
        for reach in deciding(asked, found, {k: crossings[context, k] for k in compared})
    ]
    longest = simulations[max(runs)]
    return MapResult(
        batches=tuple(batches),
        num_draft_tokens=compared,
        featured=asked or _gains_most(cells),
        lengths={context: grid.lengths_at(inputs, context) for context in runs},
        cells=cells,
        crossings=crossings,
        notes=(
            *([error.sentence] if (error := error_of(inputs, "speedup")) else []),
            *_notes(inputs),
            *run_length_notes(inputs, _points(shown)),
            *input_notes(longest),
        ),
        extrapolation=longest.extrapolation(farthest(reached)),
        missing=tuple(context for context in contexts if context not in runs),
        interrupted=interrupted,
    )


def _points(runs: Mapping[int, Runs]) -> list[tuple[Point, PointRuns]]:
    return [one for found in runs.values() for one in found.items()]


def _gains_most(cells: pd.DataFrame) -> int:
    """The length whose speedup is highest on average, over cells in which all requests run."""
    drafted = cells[cells["all_run"] & (cells["num_draft_tokens"] > 0)]
    gains = np.log(drafted["speedup"]).groupby(drafted["num_draft_tokens"]).mean()
    return int(gains.idxmax())


def _notes(inputs: Inputs) -> Iterator[str]:
    if inputs.scenario.deployment.prefix_caching:
        yield "Prompts share no prefixes here: each is in the cache already, for itself."
