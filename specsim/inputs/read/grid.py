"""A grid of values of a scenario's fields; every combination is a cell. Knows no field."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError, model_validator

from specsim.errors import InputError, Problem
from specsim.inputs.models.base import Input
from specsim.inputs.read import catalogue, documents, problems

MOST_CELLS = 1_000_000
"""More would not fit into memory as a table, and take weeks."""
REPLICATIONS = "run.replications"

Values = Annotated[tuple[Any, ...], Field(min_length=1)]
Fields = dict[str, Values]


class Grid(Input):
    """A scenario, and which of its fields take which values."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Names the output folder."""
    description: str = ""
    scenario: str
    """Catalogue name (`specsim list scenarios`) or path of the scenario file that every cell changes."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Values that every cell has, by path in the scenario, such as `workload.num_requests: 512`; set before those that
    vary."""
    fields: Fields = Field(default_factory=dict)
    """Lists of values by path in the scenario, such as `workload.load.concurrency: [1, 8, 64]`; every combination is a
    cell, the last field changing fastest."""
    together: tuple[Annotated[Fields, Field(min_length=1)], ...] = ()
    """Groups of fields whose lists are as long as each other: the first values make one choice, the second ones
    another. Groups combine with `fields` and with each other."""
    replications: Annotated[int, Field(ge=2, strict=True)] | None = None
    """Of each cell; by default the scenario's `run.replications`."""

    @model_validator(mode="after")
    def _each_path_once(self) -> Grid:
        paths = [*self.set, *self.paths, *([REPLICATIONS] if self.replications else [])]
        wrong = [path for path in paths if not all(path.split("."))]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not a path; write keys joined by points: workload.load.concurrency")
        twice = [path for path, number in Counter(paths).items() if number > 1]
        if twice:
            raise ValueError(f"{twice[0]} is given twice; keep one")
        inside = [(a, b) for a in self.paths for b in paths if b.startswith(f"{a}.")]
        if inside:
            a, b = inside[0]
            raise ValueError(f"{a} varies, and {b} is inside it; write that into the values of {a}")
        return self

    @model_validator(mode="after")
    def _something_varies(self) -> Grid:
        if not self.paths:
            raise ValueError("nothing varies; write for example fields: {workload.load.concurrency: [1, 8, 64]}")
        for group in self.together:
            lengths = {path: len(values) for path, values in group.items()}
            if len(set(lengths.values())) > 1:
                found = ", ".join(f"{path} {length}" for path, length in lengths.items())
                raise ValueError(f"lists of a group in 'together' must be equally long; there are {found}")
        for path, values in self.fields.items():
            texts = [as_text(value) for value in values]
            if len(set(texts)) < len(texts):
                raise ValueError(f"{path} has a value twice; keep one")
        return self

    @property
    def paths(self) -> list[str]:
        """Paths of all fields that vary, in the order of the file."""
        return [*self.fields, *(path for group in self.together for path in group)]

    @property
    def size(self) -> int:
        """Number of cells."""
        lengths = [len(values) for values in self.fields.values()]
        return math.prod([*lengths, *(len(next(iter(group.values()))) for group in self.together)])

    def cells(self) -> Iterator[dict[str, Any]]:
        """For each cell, in order: path of each field that varies → its value."""
        axes: list[list[tuple[tuple[str, Any], ...]]]
        axes = [[((path, value),) for value in values] for path, values in self.fields.items()]
        axes += [
            [tuple(zip(group, values, strict=True)) for values in zip(*group.values(), strict=True)]
            for group in self.together
        ]
        for chosen in itertools.product(*axes):
            yield dict(itertools.chain.from_iterable(chosen))

    @property
    def fixed(self) -> dict[str, Any]:
        """Path → value of the fields that are the same in all cells."""
        return self.set | ({REPLICATIONS: self.replications} if self.replications else {})


class GridFile(NamedTuple):
    """A grid and the file it was read from."""

    grid: Grid
    path: Path


def read_grid(reference: str) -> GridFile:
    """A grid by catalogue name or path.

    Raises:
        InputError: listing every problem in the file, or that it has too many cells.
    """
    path = catalogue.find("grid", reference, [Path.cwd()], where="grid", path="")
    try:
        grid = Grid.model_validate(documents.read_mapping(path))
    except ValidationError as error:
        found = problems.from_validation(error, Grid)
        raise InputError(Problem(str(path), p.path, p.value, p.remedy) for p in found) from None
    if grid.size > MOST_CELLS:
        remedy = f"more than {MOST_CELLS:,} cells; leave out values, or cut the grid into several"
        raise InputError([Problem(str(path), "fields", f"{grid.size:,} cells", remedy)])
    return GridFile(grid, path)


def as_text(value: Any) -> str:
    """A value as it stands in tables and messages: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def described(cell: Mapping[str, Any]) -> str:
    """A cell in words: ``workload.load.concurrency 8, deployment.device h200``."""
    return ", ".join(f"{path} {as_text(value)}" for path, value in cell.items())
