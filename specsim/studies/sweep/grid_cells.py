"""From a grid to the inputs of its cells: each file read once, and what is wrong gathered over all cells."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from specsim.errors import InputError, Problem
from specsim.inputs.read import catalogue, layers
from specsim.inputs.read.grid import GridFile, described
from specsim.inputs.read.overrides import apply, assignment
from specsim.inputs.read.references import Said
from specsim.inputs.read.scenario import Inputs, Kept, load_extended
from specsim.studies.sweep.cells import task_of

MOST_VALUES = 3
"""Of those that one problem is about, how many are named."""


class Cells:
    """Makes inputs of the grid's cells; each file is read once.

    Args:
        grid: the grid.
        overrides: ``path.to.key=value`` assignments that hold in all cells.

    Attributes:
        files: that were read for cells so far, by name.

    Raises:
        InputError: when the scenario cannot be read, or an assignment is none.
    """

    def __init__(self, grid: GridFile, overrides: Sequence[str] = ()) -> None:
        self.grid = grid
        where, beside = str(grid.path), grid.path.parent
        self.path = catalogue.find("scenario", grid.grid.scenario, [beside, Path.cwd()], where=where, path="scenario")
        self.base = layers.read_with_extends(self.path)
        own = Said(where, (beside, Path.cwd()))
        self.said = dict.fromkeys((*grid.grid.paths, *grid.grid.fixed), own)
        problems = [*self._set(grid.grid.fixed), *self._override(overrides)]
        if problems:
            raise InputError(problems)
        self.kept: Kept = {}
        self.files: dict[str, Path] = {"grid": grid.path}

    def _set(self, fixed: Mapping[str, Any]) -> Iterator[Problem]:
        """Puts values into the base; yields what keeps it from that."""
        for path, value in fixed.items():
            try:
                layers.assign(self.base.data, path, value, str(self.grid.path))
            except InputError as error:
                yield from error.problems

    def _override(self, overrides: Sequence[str]) -> Iterator[Problem]:
        """Puts overrides into the base; yields what keeps it from that."""
        for item in overrides:
            try:
                option = assignment(item)
                apply(option, self.base.data)
            except InputError as error:
                yield from error.problems
                continue
            yield from _swept(option.path, self.grid)
            self.said[option.path] = Said(option.name, (Path.cwd(),))

    def inputs(self, values: Mapping[str, Any]) -> Inputs:
        """Of a cell.

        Raises:
            InputError: listing every problem.
        """
        data = copy.deepcopy(self.base.data)
        for path, value in values.items():
            layers.assign(data, path, copy.deepcopy(value), str(self.grid.path))
        found = load_extended(self.path, self.base._replace(data=data), self.said, self.kept)
        self.files |= {_name(name, file): file for name, file in found.files.items()}
        return found


def _name(name: str, file: Path) -> str:
    return name if name == "scenario" or name.startswith("extends ") else f"{name} {file.name}"


def _swept(key: str, grid: GridFile) -> Iterator[Problem]:
    """The problem with an override of what varies: it would change nothing, or what distinguishes cells."""
    for path in grid.grid.paths:
        if path == key or path.startswith(f"{key}.") or key.startswith(f"{path}."):
            yield Problem(f"--set {key}", "", "", f"{path} varies in {grid.path}; leave this out, or change the grid")


def check(cells: Cells) -> tuple[dict[int, str], dict[int, InputError]]:
    """By number of the cell, the key of its result or why it is no scenario."""
    keys, invalid = {}, {}
    for i, values in enumerate(cells.grid.grid.cells()):
        try:
            keys[i] = task_of(cells.inputs(values)).key
        except InputError as error:
            invalid[i] = error
    return keys, invalid


def problems_of(invalid: Mapping[int, InputError], grid: GridFile, looked_at: int) -> list[Problem]:
    """Each problem once, with its values and the cells that have it.

    Args:
        invalid: number of a cell → what is wrong with it.
        grid: that they are of.
        looked_at: how many cells were.
    """
    every: dict[tuple[str, str, str], dict[int, str]] = {}
    for i, error in invalid.items():
        for problem in error.problems:
            every.setdefault((problem.where, problem.path, problem.remedy), {})[i] = problem.value
    wanted = {min(cells) for cells in every.values()}
    first = {i: described(values) for i, values in enumerate(grid.grid.cells()) if i in wanted}
    found = []
    for (where, path, remedy), values in every.items():
        some = f"in {len(values):,} of {looked_at:,} cells, the first with {first[min(values)]}"
        without = "; --skip-invalid leaves them out" if len(invalid) < looked_at else ""
        which = "in every cell" if len(values) == looked_at else f"{some}{without}"
        found.append(Problem(where, path, _some(values.values()), f"{remedy} ({which})"))
    return found


def _some(values: Iterable[str]) -> str:
    different = [value for value in dict.fromkeys(values) if value]
    return ", ".join(different[:MOST_VALUES]) + (", …" if len(different) > MOST_VALUES else "")
