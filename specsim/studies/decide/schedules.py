"""A table of draft lengths by batch, from simulated throughputs: as few ranges as noise and model allow.

Knows numbers only: no scenario, no engine, no simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from specsim.analysis.intervals import paired_speedup_interval
from specsim.inputs.models.schedule import SchedulePolicy, ScheduleRow
from specsim.studies.shared.points import Point

Throughputs = Mapping[Point, NDArray[np.float64]]
"""Output tokens/s of each point's replications [replications]; entry r of every point shares requests and uniforms."""


def schedule_of(
    throughputs: Throughputs, batches: Sequence[int], draft_lengths: Sequence[int], step_error: float = 0.0
) -> SchedulePolicy:
    """The schedule with the fewest ranges that at no batch drafts clearly worse than the best length.

    A length is drafted where its speedup's 95 % interval lies above 1, and 0 where no length's does. Of those that pay,
    all are as good as the best whose ratio to it has 1 in its interval, or lies within the model's error; neighbours
    that share such a length are one range. With a model's error its shortest is drafted, otherwise its best. Between
    ranges the table changes where the straight lines through the logarithms of both throughputs cross.

    Args:
        throughputs: of every batch with every draft length and without any; batches between two of those given, at
            which both lengths were simulated, are used where ranges meet.
        batches: rising.
        draft_lengths: the lengths to choose from.
        step_error: of the model, of the logarithm of the ratio between lengths one token apart; it grows with the
            square root of their distance, as ``analysis.model_error.steps_between`` has it.
    """
    as_good = [_as_good_as_the_best(throughputs, batch, draft_lengths, step_error) for batch in batches]
    ends = _fewest_runs(as_good)
    runs = [range(start, end) for start, end in pairwise((0, *ends))]
    chosen = _shortest if step_error else _best
    lengths = [chosen(throughputs, [batches[i] for i in run], [as_good[i] for i in run]) for run in runs]
    lasts = [
        _last_batch(throughputs, (batches[run[-1]], batches[run[-1] + 1]), change)
        for run, change in zip(runs, pairwise(lengths), strict=False)
    ]
    starts = [1, *(last + 1 for last in lasts)]
    rows = zip(starts, [*lasts, None], lengths, strict=True)
    table = tuple(ScheduleRow(batch=(first, last), num_draft_tokens=length) for first, last, length in rows)
    return SchedulePolicy(kind="schedule", table=table)


def draft_length_at(schedule: SchedulePolicy, batch: int) -> int:
    """What a schedule without contexts drafts at a batch."""
    return next(
        row.num_draft_tokens
        for row in schedule.rows
        if row.batch[0] <= batch and (row.batch[1] is None or batch <= row.batch[1])
    )


def _as_good_as_the_best(
    throughputs: Throughputs, batch: int, draft_lengths: Sequence[int], step_error: float
) -> frozenset[int]:
    found = {k: throughputs[Point(batch, k)] for k in (0, *draft_lengths)}
    paying = [k for k in draft_lengths if paired_speedup_interval(found[k], found[0]).low > 1]
    if not paying:
        return frozenset({0})
    best = max(paying, key=lambda k: _mean_log(found[k]))
    return frozenset(
        k
        for k in paying
        if paired_speedup_interval(found[best], found[k]).low <= math.exp(step_error * math.sqrt(abs(best - k)))
    )


def _fewest_runs(as_good: Sequence[frozenset[int]]) -> list[int]:
    """Where runs end whose members share a length: each goes on as long as it can, so that there are fewest."""
    ends, common = [], as_good[0]
    for i, lengths in enumerate(as_good):
        if not common & lengths:
            ends.append(i)
            common = lengths
        common &= lengths
    return [*ends, len(as_good)]


def _best(throughputs: Throughputs, batches: Sequence[int], as_good: Sequence[frozenset[int]]) -> int:
    """Of the lengths that all the batches share, the one with the highest throughput; of equals the shortest."""
    common = sorted(frozenset.intersection(*as_good))
    return max(common, key=lambda k: sum(_mean_log(throughputs[Point(batch, k)]) for batch in batches))


def _shortest(throughputs: Throughputs, batches: Sequence[int], as_good: Sequence[frozenset[int]]) -> int:
    """Of the lengths that all the batches share, the shortest."""
    return min(frozenset.intersection(*as_good))


def _last_batch(throughputs: Throughputs, between: tuple[int, int], change: tuple[int, int]) -> int:
    """The last batch at which the first length is the better one of two; the second is it at the end of the span."""
    low, high = between
    first, second = change
    simulated = sorted(
        batch for batch, k in throughputs if k == first and low <= batch <= high and Point(batch, second) in throughputs
    )
    ahead = [_mean_log(throughputs[Point(b, first)]) - _mean_log(throughputs[Point(b, second)]) for b in simulated]
    behind = next((i for i, lead in enumerate(ahead) if lead <= 0), None)
    if behind is None:
        return high - 1
    if behind == 0:
        return low
    (left, right), (lead, lag) = simulated[behind - 1 : behind + 1], ahead[behind - 1 : behind + 1]
    crossing = math.exp(math.log(left) + math.log(right / left) * lead / (lead - lag))
    return min(max(math.floor(crossing), low), high - 1)


def _mean_log(values: NDArray[np.float64]) -> float:
    return float(np.log(values).mean())
