"""The cells of a map: what the runs of a batch, a context and a draft length add up to."""

from __future__ import annotations

import numpy as np

from specsim.analysis.intervals import Interval, mean_interval, paired_speedup_interval
from specsim.simulation.expected import decode_step
from specsim.simulation.replica import Simulation
from specsim.studies.curve.grid_runs import Runs, speedups
from specsim.studies.map.required import UNKNOWN, required
from specsim.studies.shared.limits import limit_of
from specsim.studies.shared.points import Point


def cell_row(simulation: Simulation, context: int, runs: Runs, point: Point, *, all_run: bool) -> dict[str, object]:
    """A row of the table.

    Args:
        simulation: of requests at the context.
        context: tokens in mid-decode.
        runs: of all points at the context.
        point: the cell's batch and draft length.
        all_run: whether all its requests run at once.
    """
    run, k = runs[point], point.num_draft_tokens
    speedup = paired_speedup_interval(run.tokens_per_s, runs[Point(point.batch, 0)].tokens_per_s)
    row: dict[str, object] = {
        "context": context,
        "batch": point.batch,
        "num_draft_tokens": k,
        **_columns("tokens_per_s", mean_interval(run.tokens_per_s)),
        **_columns("speedup", speedup),
        "closed_form_speedup": _expected(simulation, context, point) if all_run else np.nan,
        "mean_running_batch": float(run.running_batch.mean()),
        "all_run": all_run,
        "limit": limit_of(point, run),
    }
    if k == 0:
        return row
    speculation = simulation.inputs.scenario.speculation
    needed = required(run.acceptance_length, speedups(runs, point), k, speculation)
    if not all_run:  # batches are not equal then
        needed = UNKNOWN
    return row | {
        **_columns("acceptance_length", mean_interval(run.acceptance_length)),
        **_columns("required_tokens", needed.tokens),
        **_columns("required_overlap", needed.overlap),
    }


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _expected(simulation: Simulation, context: int, point: Point) -> float:
    """The closed form's speedup."""
    drafted, plain = (decode_step(simulation, point.batch, k, context) for k in (point.num_draft_tokens, 0))
    return drafted.tokens_per_s / plain.tokens_per_s
