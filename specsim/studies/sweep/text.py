"""What a person reads of a sweep: where speculation pays, what failed, and a table of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from specsim.analysis.intervals import Interval
from specsim.analysis.run_metrics import THROUGHPUT, Metric
from specsim.reporting.columns import Table, shown
from specsim.reporting.intervals import with_interval
from specsim.studies.simulate.text import rate_is_met
from specsim.studies.sweep.cells import TPOT_P50, CellResult
from specsim.studies.sweep.run import Cell, Sweep
from specsim.studies.sweep.value_labels import Labels
from specsim.units import plural

MOST_ROWS = 48
"""Cells shown on a terminal; all are in the files."""
MOST_FAILURES = 12

Found = tuple[dict[str, Any], Interval]


def sweep_sentences(sweep: Sweep) -> list[str]:
    """The answer, and what it must be read with."""
    return [_answer(sweep), *_intervals(sweep), *_failures(sweep), *_keeping_up(sweep), *_read_with(sweep)]


class Basis(NamedTuple):
    """What arms are compared by.

    Attributes:
        metric: that is shown of both.
        speedup: of a cell.
        words: what the speedup is of.
    """

    metric: Metric
    speedup: Callable[[CellResult], Interval | None]
    words: str


BY_THROUGHPUT = Basis(THROUGHPUT, CellResult.speedup, "output throughput")
BY_LATENCY = Basis(TPOT_P50, CellResult.latency_speedup, "median TPOT without over with speculation")


def basis(sweep: Sweep) -> Basis:
    """Latency where every cell offers a rate, since throughput then is the rate; else throughput."""
    return BY_LATENCY if all(result.open_loop for _, result in sweep.results) else BY_THROUGHPUT


def speedups(sweep: Sweep) -> list[Found]:
    """Of the cells that have one."""
    by = basis(sweep)
    return [(values, speedup) for values, result in sweep.results if (speedup := by.speedup(result))]


def _answer(sweep: Sweep) -> str:
    if not sweep.results:
        return f"None of {_cells(len(sweep.cells))} has a result."
    by, found, labels = basis(sweep), speedups(sweep), Labels(sweep.grid.grid)
    if not found:
        values, result = max(sweep.results, key=lambda one: one[1].arms[0].interval(THROUGHPUT).estimate)
        most = result.arms[0].interval(THROUGHPUT).estimate
        return f"No cell has a speedup; the highest output is {most:,.0f} tokens/s with {labels.cell(values)}."
    ends = (choose(found, key=lambda one: one[1].estimate) for choose in (min, max))
    worst, best = (f"{_times(speedup)} ({labels.cell(values)})" for values, speedup in ends)
    spread = worst if worst == best else f"{worst} to {best}"
    return f"{_verdicts([speedup for _, speedup in found])}: {by.words} is {spread}."


def _verdicts(found: list[Interval]) -> str:
    """In how many cells speculation pays, costs, or is undecided; verdicts of no cell are left out."""
    pays, costs = sum(one.low > 1 for one in found), sum(one.high < 1 for one in found)
    undecided = len(found) - pays - costs
    if len(found) in (pays, costs, undecided):
        what = "pays" if pays else "costs" if costs else "is undecided (intervals include 1)"
        return f"Speculation {what} in {'the one cell' if len(found) == 1 else f'all {_cells(len(found))}'}"
    parts = [f"pays in {pays or 'none'} of {_cells(len(found))}"]
    parts += [f"costs in {costs}"] if costs else []
    parts += [f"is undecided in {undecided} (intervals include 1)"] if undecided else []
    return f"Speculation {', '.join(parts[:-1])} and {parts[-1]}"


def _intervals(sweep: Sweep) -> Iterator[str]:
    """What an interval is one of."""
    numbers = sorted({len(arm.values) for _, result in sweep.results for arm in result.arms.values()})
    if numbers:
        of = (f"{numbers[0]:,} to " if len(numbers) > 1 else "") + plural(numbers[-1], "replication")
        yield f"± and [ , ] are 95 % intervals over {of} of each cell, paired by seed."


def _keeping_up(sweep: Sweep) -> Iterator[str]:
    """In how many cells the rate offered is not met, by arm."""
    behind = {"without": 0, "with": 0}
    for _, result in sweep.results:
        for k, arm in result.arms.items():
            behind["with" if k else "without"] += arm.open_loop and not rate_is_met(arm.sending_share, arm.growth)
    if any(behind.values()):
        yield (
            f"The server does not keep up in {_cells(behind['with'])} with speculation and in {behind['without']:,} "
            "without; latencies there grow as long as requests arrive."
        )


def _cells(number: int) -> str:
    return plural(number, "cell")


def _times(speedup: Interval) -> str:
    return f"{speedup.estimate:.2f}× [{speedup.low:.2f}, {speedup.high:.2f}]"


def _failures(sweep: Sweep) -> Iterator[str]:
    """How many cells have no result, and each with its error; many of a kind are named once."""
    failed = sweep.failures
    if not failed:
        return
    labels = Labels(sweep.grid.grid)
    yield f"{_cells(len(failed))} of {len(sweep.cells):,} {'have' if len(failed) > 1 else 'has'} no result:"
    by_error: dict[str, list[dict[str, Any]]] = {}
    for values, failure in failed:
        by_error.setdefault(failure.error, []).append(values)
    for error, cells in list(by_error.items())[:MOST_FAILURES]:
        others = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
        yield f"  {labels.cell(cells[0])}{others}: {error}"
    if len(by_error) > MOST_FAILURES:
        yield f"  {len(by_error) - MOST_FAILURES:,} other errors are in the tables"


def _read_with(sweep: Sweep) -> Iterator[str]:
    results = [result for _, result in sweep.results]
    short = sum(any(arm.steady_share is None for arm in result.arms.values()) for result in results)
    if short:
        yield f"{_cells(short)} without a steady window (runs too short, or overloaded): figures include ramp and tail."
    beyond = sum(result.beyond for result in results)
    if beyond:
        yield (f"{_cells(beyond)} extrapolated beyond measured ranges; specsim simulate of one says which.")


def kept_sentence(sweep: Sweep, folder: object) -> str:
    """What was simulated now and what was kept; said, and not written, since tables do not depend on it."""
    fresh = len(sweep.cells) - sweep.reused - sweep.missing - sum(cell.invalid for cell in sweep.cells)
    again = f", {sweep.unreadable:,} of them because the cache was unreadable" if sweep.unreadable else ""
    return f"{_cells(sweep.reused)} reused, {fresh:,} simulated{again}; cache: {folder}/"


def sweep_table(sweep: Sweep) -> Table[Cell]:
    """A row per cell, the first ones of many: both arms and the speedup."""
    by, labels, rows = basis(sweep), Labels(sweep.grid.grid), sweep.cells[:MOST_ROWS]
    name = by.metric.label if by is BY_LATENCY else "[tokens/s]"
    cut = f"the first {len(rows)} of {len(sweep.cells):,} cells; all are in the files"
    return Table(
        rows=rows,
        columns=[
            *(
                shown(path.rpartition(".")[2], partial(_label, labels, path), left=True)
                for path in sweep.grid.grid.paths
            ),
            shown(f"without {name}", lambda cell: _arm(cell, by, drafting=False)),
            shown(f"with {name}", lambda cell: _arm(cell, by, drafting=True)),
            shown("speedup", lambda cell: _speedup(cell, by)),
        ],
        caption=cut if len(sweep.cells) > len(rows) else "",
    )


def _label(labels: Labels, path: str, cell: Cell) -> str:
    return labels.of(path, cell.values[path])


def _arm(cell: Cell, by: Basis, *, drafting: bool) -> str:
    if not isinstance(cell.outcome, CellResult) or (drafting and by.speedup(cell.outcome) is None):
        return ""
    return with_interval(cell.outcome.arms[cell.outcome.num_draft_tokens if drafting else 0].interval(by.metric))


def _speedup(cell: Cell, by: Basis) -> str:
    if not isinstance(cell.outcome, CellResult):
        return "no result"
    speedup = by.speedup(cell.outcome)
    return "" if speedup is None else _times(speedup)
