"""The runs behind a curve: a grid of batches and draft lengths, and batches right where the speedup passes 1.0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from specsim.analysis.crossings import Crossings, find_crossings
from specsim.arrays import Floats
from specsim.forward import Reach
from specsim.inputs.read.scenario import Inputs
from specsim.studies.shared.limits import running
from specsim.studies.shared.points import Point, PointRuns, Progress, run_all

Runs = dict[Point, PointRuns]
GRID_SHARE = 0.85  # of the work; the rest refines the crossings
REFINEMENTS = 3  # rounds at most; each lands several times nearer
NEAR = 0.02  # a crossing counts as simulated when a batch lies within this fraction of it


class CurveRuns(NamedTuple):
    """What was run.

    Attributes:
        runs: points that have one without speculation beside them.
        missing: points of the grid that an interruption left out.
        interrupted: whether anything was left out, such as batches nearer to a crossing.
    """

    runs: Runs
    missing: tuple[Point, ...]
    interrupted: bool


def run_curve(
    inputs: Inputs,
    points: Sequence[Point],
    refined: Iterable[int],
    jobs: int,
    progress: Progress,
    *,
    refine: bool = True,
) -> CurveRuns:
    """Run the points of a grid, then batches nearer to where it changes whether speculation pays.

    An interruption (Ctrl-C) ends it; the points finished by then are the result.

    Args:
        inputs: the scenario and what it refers to.
        points: of the grid; of each batch one without speculation.
        refined: draft lengths whose crossings are looked at more closely.
        jobs: processes.
        progress: told of finished work.
        refine: whether batches nearer to crossings are run at all.

    Raises:
        KeyboardInterrupt: before any speedup was known.
    """
    runs: Runs = {}
    refined, interrupted = tuple(refined), False
    grid_share = GRID_SHARE if refine else 1.0
    try:  # points are taken in one by one, as they finish
        runs.update(run_all(inputs, points, jobs, lambda share: progress(grid_share * share)))
        for _ in range(REFINEMENTS if refine else 0):
            near = [point for point in _points_at_crossings(refined, runs) if point not in runs]
            runs.update(run_all(inputs, near, jobs, lambda share: progress((1 - GRID_SHARE) / REFINEMENTS * share)))
    except KeyboardInterrupt:
        interrupted, runs = True, _compared(runs)
        if not any(point.num_draft_tokens for point in runs):
            raise
    return CurveRuns(runs, tuple(point for point in points if point not in runs), interrupted)


def _compared(runs: Runs) -> Runs:
    """The points that have one without speculation beside them."""
    return {point: found for point, found in runs.items() if Point(point.batch, 0) in runs}


def _points_at_crossings(draft_lengths: Iterable[int], runs: Runs) -> list[Point]:
    """The points right where a crossing is established but no batch near it has been simulated.

    A crossing that lies on a simulated batch owes next to nothing to the straight line between neighbours.
    """
    missing: dict[Point, None] = {}
    for k in draft_lengths:
        simulated = np.array([point.batch for point in runs if point.num_draft_tokens == k])
        for crossing in crossings_of(k, runs).crossings:
            if crossing.established and np.abs(simulated / crossing.batch - 1).min() > NEAR:
                missing |= dict.fromkeys((Point(round(crossing.batch), 0), Point(round(crossing.batch), k)))
    return list(missing)


def crossings_of(k: int, runs: Runs) -> Crossings:
    """Where the speedup of a draft length passes 1.0, among batches that run at once; nothing is known without any."""
    batches = sorted(point.batch for point in running(runs) if point.num_draft_tokens == k)
    if not batches:
        return Crossings("undecided", (), (), (), ())
    return find_crossings(batches, np.stack([speedups(runs, Point(batch, k)) for batch in batches], axis=1))


def deciding(asked: int, runs: Runs, crossings: Mapping[int, Crossings]) -> Iterator[Reach]:
    """How far those runs went that an answer rests on: up to the last break-even of what is drafted, or all.

    Args:
        asked: the draft length that the answer is about; 0 for all.
        runs: of all points.
        crossings: draft length → where it stops paying; empty where that is not known.
    """
    found = crossings[asked].crossings if asked in crossings else ()
    last = max((round(crossing.batch) for crossing in found if crossing.established), default=None)
    for point, run in runs.items():
        if (last is None or point.batch <= last) and (not asked or point.num_draft_tokens in (0, asked)):
            yield run.reach


def speedups(runs: Runs, point: Point) -> Floats:
    """Paired ratios of output tokens/s at equal concurrency [replications]."""
    return runs[point].tokens_per_s / runs[Point(point.batch, 0)].tokens_per_s
