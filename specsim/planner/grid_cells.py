"""From a grid to the inputs of its cells: each file read once, and what is wrong gathered over all cells."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from specsim.errors import InputError, Problem
from specsim.planner.cells import task_of
from specsim.schema import catalogue, layers
from specsim.schema.grid import GridFile, described
from specsim.schema.load import Inputs, Kept, Said, load_extended

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
        for path, value in grid.grid.fixed.items():
            layers.assign(self.base.data, path, value, where)
        for item in overrides:
            key = layers.override(self.base.data, item)
            _refuse_swept(key, grid)
            self.said[key] = Said(f"--set {key}", (Path.cwd(),))
        self.kept: Kept = {}
        self.files: dict[str, Path] = {"grid": grid.path}

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


def _refuse_swept(key: str, grid: GridFile) -> None:
    """Refuse an override of what varies: it would change nothing, or what cells are told apart by."""
    for path in grid.grid.paths:
        if f"{path}.".startswith(f"{key}.") or key.startswith(f"{path}."):
            remedy = f"{path} varies in {grid.path}; leave this out, or change the grid"
            raise InputError([Problem(f"--set {key}", "", "", remedy)])


def check(cells: Cells) -> tuple[dict[int, str], dict[int, InputError]]:
    """By number of the cell, the key of its result or why it is no scenario."""
    keys, invalid = {}, {}
    for i, values in enumerate(cells.grid.grid.cells()):
        try:
            keys[i] = task_of(cells.inputs(values)).key
        except InputError as error:
            invalid[i] = error
    return keys, invalid


def problems_of(invalid: Mapping[int, InputError], grid: GridFile) -> list[Problem]:
    """Each problem once, with its values and the cells that have it."""
    every: dict[tuple[str, str, str], dict[int, str]] = {}
    for i, error in invalid.items():
        for problem in error.problems:
            every.setdefault((problem.where, problem.path, problem.remedy), {})[i] = problem.value
    wanted = {min(cells) for cells in every.values()}
    first = {i: described(values) for i, values in enumerate(grid.grid.cells()) if i in wanted}
    return [
        Problem(where, path, _some(found.values()), f"{remedy} ({_which(len(found), first[min(found)], grid)})")
        for (where, path, remedy), found in every.items()
    ]


def _some(values: Iterable[str]) -> str:
    different = [value for value in dict.fromkeys(values) if value]
    return ", ".join(different[:MOST_VALUES]) + (", …" if len(different) > MOST_VALUES else "")


def _which(number: int, first: str, grid: GridFile) -> str:
    if number == grid.grid.size:
        return "in every cell"
    return f"in {number:,} of {grid.grid.size:,} cells, the first with {first}; --skip-invalid leaves them out"
