"""Every cell of a grid: resolved and checked, taken from what is kept or simulated, and none of them dropped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from specsim.engine.run import warm_up
from specsim.errors import InputError, Problem
from specsim.inputs.read.grid import GridFile
from specsim.inputs.read.scenario import Inputs
from specsim.studies.shared.executors import LostWorkerError, Workers, spread
from specsim.studies.shared.points import Progress
from specsim.studies.sweep.cell_store import CellStore
from specsim.studies.sweep.cells import CellResult, Failure, Task, outcome_of, run_cell, task_of
from specsim.studies.sweep.grid_cells import Cells, check, problems_of
from specsim.units import plural

ASK = 500
"""A grid of more cells than that is to be meant: it has to be asked for twice."""
SAMPLE = 5
"""Cells that are timed to say how long such a grid takes."""
GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, less whole numbers, lie evenly and repeat nothing: cells timed are not all of one field's value."""
SHORT = 10.0
"""Seconds: what a first cell loads, and others do not, is a second or two; it matters to cells that take less."""


@dataclass(frozen=True)
class Cell:
    """A cell and what became of it.

    Attributes:
        values: path of each field that varies → its value.
        outcome: what it yields, or why it has no result.
        invalid: whether it is no scenario at all.
    """

    values: dict[str, Any]
    outcome: CellResult | Failure
    invalid: bool = False


@dataclass(frozen=True)
class Sweep:
    """A grid swept.

    Attributes:
        grid: that was asked for.
        cells: all of them, in the grid's order.
        files: that the scenarios were read from, by name.
        alike: inputs of cells that differ in what is to be said of their acceptance.
        reused: cells taken from what was kept.
        unreadable: kept cells that could not be read and were simulated again.
        stopped: why cells are missing; empty where none is.
        missing: how many are.
    """

    grid: GridFile
    cells: tuple[Cell, ...]
    files: dict[str, Path]
    alike: tuple[Inputs, ...]
    reused: int
    unreadable: int
    stopped: str
    missing: int

    @property
    def results(self) -> list[tuple[dict[str, Any], CellResult]]:
        """Those that have a result."""
        return [(cell.values, cell.outcome) for cell in self.cells if isinstance(cell.outcome, CellResult)]

    @property
    def failures(self) -> list[tuple[dict[str, Any], Failure]]:
        """Those that have none."""
        return [(cell.values, cell.outcome) for cell in self.cells if isinstance(cell.outcome, Failure)]

    @property
    def failed(self) -> list[Cell]:
        """Cells that were to be simulated and have no result."""
        return [cell for cell in self.cells if isinstance(cell.outcome, Failure) and not cell.invalid]


def sweep(
    grid: GridFile,
    overrides: Sequence[str] = (),
    *,
    kept: Path,
    where: Workers = Workers(),  # noqa: B008, a constant
    yes: bool = False,
    skip_invalid: bool = False,
    progress: Progress = lambda share: None,
) -> Sweep:
    """Simulate every cell that is not kept yet, as ``simulate_load`` does; what comes out does not depend on where.

    An interruption (Ctrl-C) or a lost worker ends it; cells finished by then are kept, and the others have failed.
    Where no cell is finished there is no result: the interruption goes on.

    Args:
        grid: the grid.
        overrides: that hold in all cells.
        kept: the folder of cells simulated; it need not exist.
        where: the workers.
        yes: whether a large grid is meant.
        skip_invalid: whether cells that are no scenarios may be left out of what is simulated.
        progress: told of finished work.

    Raises:
        InputError: before anything is simulated, when cells are no scenarios (all of them, where some may be
            left out), or the grid is large; or when a worker runs other code.
        KeyboardInterrupt: when that ends it before any cell is finished.
    """
    cells, store = Cells(grid, overrides), CellStore(kept)
    if grid.grid.size > ASK and not yes:
        raise _too_large(cells, where)
    keys, invalid = check(cells)
    if invalid and not (skip_invalid and keys):
        raise InputError(problems_of(invalid, grid, grid.grid.size))
    texts = {key: text for key in dict.fromkeys(keys.values()) if (text := _read(store, key)) is not None}
    first_of = {key: i for i, key in reversed(keys.items())}
    missing = [first_of[key] for key in dict.fromkeys(keys.values()) if key not in texts]
    reused, stopped = sum(key in texts for key in keys.values()), ""
    try:
        for key, text in _simulated(cells, missing, where):
            progress(1 / len(missing))
            texts[key] = _kept(store, key, text)
    except KeyboardInterrupt as error:
        stopped = "a worker was lost" if isinstance(error, LostWorkerError) else "interrupted"
        if not texts:
            raise
    return Sweep(
        grid=grid,
        cells=tuple(_cells(grid, keys, invalid, texts, stopped)),
        files=cells.files,
        alike=tuple(cells.alike.values()),
        reused=reused,
        unreadable=store.unreadable,
        stopped=stopped,
        missing=sum(key not in texts for key in keys.values()),
    )


def _read(store: CellStore, key: str) -> str | None:
    """The text kept for a key; None where there is none, or one that is no cell's."""
    text = store.read(key)
    if text is None:
        return None
    try:
        outcome_of(text)
    except (ValueError, TypeError, KeyError, AttributeError):
        store.unreadable += 1
        return None
    return text


def _simulated(cells: Cells, numbers: Sequence[int], where: Workers) -> Iterator[tuple[str, str]]:
    """Keys of these cells with what comes back, as they finish; what travels is made when it is its turn."""
    if not numbers:
        return
    wanted, keys = set(numbers), list[str]()

    def arguments() -> Iterator[tuple[Task]]:
        for i, values in enumerate(cells.grid.grid.cells()):
            if i in wanted:
                task = task_of(cells.inputs(values))
                keys.append(task.key)
                yield (task,)

    warm_up()  # or each process would compile for itself
    for i, text in spread(run_cell, arguments(), where):
        yield keys[i], text


def _kept(store: CellStore, key: str, text: str) -> str:
    """The text, kept unless it is of a failure that need not come again.

    Raises:
        InputError: when a worker runs other code, or it cannot be written.
    """
    outcome = outcome_of(text)
    if isinstance(outcome, Failure) and outcome.stranger:
        remedy = f"{outcome.error}; install the same specsim, numpy and scipy on every machine"
        raise InputError([Problem("--backend", "", "", remedy)])
    if not isinstance(outcome, Failure) or outcome.lasting:
        try:
            store.write(key, text)
        except OSError as error:
            remedy = f"cannot be written ({error.strerror or error}); name another folder with --cells"
            raise InputError([Problem("--cells", "", repr(str(store.folder)), remedy)]) from error
    return text


def _cells(
    grid: GridFile, keys: Mapping[int, str], invalid: Mapping[int, InputError], texts: Mapping[str, str], stopped: str
) -> Iterator[Cell]:
    for i, values in enumerate(grid.grid.cells()):
        if i in invalid:
            yield Cell(values, Failure("; ".join(map(str, invalid[i].problems))), invalid=True)
        elif keys[i] in texts:
            yield Cell(values, outcome_of(texts[keys[i]]))
        else:
            yield Cell(values, Failure(f"not simulated: {stopped}", lasting=False))


def _too_large(cells: Cells, where: Workers) -> InputError:
    """That a grid is large, with how long it takes by a few of its cells; where none is valid, what is wrong."""
    grid, times, invalid = cells.grid.grid, list[_Times](), dict[int, InputError]()
    places = {int(grid.size * ((i + 1) * GOLDEN % 1)) for i in range(SAMPLE)}
    warm_up()
    for i, values in enumerate(grid.cells()):
        if i in places:
            try:
                first = None if times else _timed(cells, values)
                times.append(first if first and first.simulated > SHORT else _timed(cells, values))
            except InputError as error:
                invalid[i] = error
    if not times:
        return InputError(problems_of(invalid, cells.grid, len(invalid)))
    said = [f"{len(values)} of {path}" for path, values in grid.fields.items()]
    said += [f"{len(next(iter(group.values())))} of {' and '.join(group)}" for group in grid.together]
    prepared, simulated = (sum(part) / len(times) for part in zip(*times, strict=True))
    # each is prepared twice by the main process: as all are checked, and while others are simulated
    takes = _duration(grid.size * (prepared + max(prepared, (prepared + simulated) / where.number)))
    processes = plural(where.number, "process", "processes")
    timed = f"take about {takes} in {processes}, by {plural(len(times), 'timed cell')}"
    remedy = f"{' × '.join(said)} {timed}; add --yes to simulate them"
    return InputError([Problem(str(cells.grid.path), "fields", f"{grid.size:,} cells", remedy)])


class _Times(NamedTuple):
    """Seconds that a cell takes: its inputs in the main process, and its simulation in any."""

    prepared: float
    simulated: float


def _timed(cells: Cells, values: Mapping[str, Any]) -> _Times:
    """Simulates a cell.

    Raises:
        InputError: when it is no scenario.
    """
    start = time.perf_counter()
    task = task_of(cells.inputs(values))
    begun = time.perf_counter()
    run_cell(task)
    return _Times(begun - start, time.perf_counter() - begun)


def _duration(seconds: float) -> str:
    """``40 seconds``, ``3.5 minutes``, ``2.1 hours``, ``12 days``."""
    for name, unit in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.2g} {name}"
    return f"{max(seconds, 1):.0f} seconds"
