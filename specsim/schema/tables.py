"""Strict reading of a CSV whose rows are input models: every problem of every row at once. Knows no table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from specsim.errors import InputError, Problem
from specsim.schema import documents, problems

Row = TypeVar("Row", bound=BaseModel)


class Contradiction(NamedTuple):
    """What is wrong with a row although each of its cells can be read.

    Attributes:
        column: the cell to correct.
        remedy: what is wrong and what to write instead.
    """

    column: str
    remedy: str


class Line(NamedTuple):
    """A row of the file.

    Attributes:
        number: of its line, the first line of the file being 1.
        cells: column → text, empty cells left out.
        surplus: cells beyond the last column.
    """

    number: int
    cells: dict[str, str]
    surplus: int


def read_rows(path: Path, model: type[Row]) -> tuple[tuple[int, Row], ...]:
    """(line number, row) for every row of a CSV; lines that begin with ``#`` are comments.

    Args:
        path: the file; its header names fields of ``model`` in any order.
        model: what a row holds. Empty cells count as not given.

    Raises:
        InputError: listing unknown and missing columns, and every problem of every row.
    """
    header, lines = _read_lines(path)
    found = list(_header_problems(path, header, model))
    missing = {name for name, field in model.model_fields.items() if field.is_required() and name not in header}
    rows: list[tuple[int, Row]] = []
    for line in lines:
        if line.surplus:
            found.append(_problem(path, line, "", "", f"has {line.surplus} cells beyond the last column; quote commas"))
        try:
            rows.append((line.number, model.model_validate(line.cells)))
        except ValidationError as error:
            found += _row_problems(path, line, model, error, missing)
    if not lines:
        found.append(Problem(str(path), "", "", "holds no rows; write at least one below the header"))
    if found:
        raise InputError(found)
    return tuple(rows)


def refuse_contradictions(path: Path, found: Iterable[tuple[int, BaseModel, Contradiction]]) -> None:
    """Raise for contradictions, all at once.

    Raises:
        InputError: when there is any.
    """
    listed = [
        Problem(str(path), f"line {number}, {what.column}", _cell(row, what.column), what.remedy)
        for number, row, what in found
    ]
    if listed:
        raise InputError(listed)


def _cell(row: BaseModel, column: str) -> str:
    """A cell as the file has it: several values stand apart by blanks."""
    value: Any = getattr(row, column, None)
    if isinstance(value, tuple):
        return repr(" ".join(map(str, value))) if value else ""
    return "" if value is None else repr(value)


def _read_lines(path: Path) -> tuple[Sequence[str], list[Line]]:
    text = documents.read_text(path).splitlines()
    kept = [(number, line) for number, line in enumerate(text, start=1) if line.strip() and not line.startswith("#")]
    reader = csv.reader((line for _, line in kept), strict=True)
    try:
        parsed = list(reader)
    except csv.Error as error:
        raise InputError(
            [Problem(str(path), f"line {kept[reader.line_num - 1][0]}", "", f"not CSV: {error}")]
        ) from None
    if not parsed:
        raise InputError([Problem(str(path), "", "", "is empty; write a header of column names and rows below it")])
    header = [name.strip() for name in parsed[0]]
    if len(parsed) != len(kept):
        raise InputError([Problem(str(path), "", "", "a cell runs over several lines; keep each row on one line")])
    lines = []
    for (number, _), cells in zip(kept[1:], parsed[1:], strict=True):
        pairs = zip(header, (cell.strip() for cell in cells), strict=False)
        lines.append(Line(number, {name: cell for name, cell in pairs if cell}, max(0, len(cells) - len(header))))
    return header, lines


def _header_problems(path: Path, header: Sequence[str], model: type[BaseModel]) -> Iterator[Problem]:
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            yield Problem(str(path), "header", repr(name), "is written twice; keep one column of that name")
        if name not in model.model_fields:
            yield Problem(str(path), "header", repr(name), problems.unknown_key(name, model))
    for name, field in model.model_fields.items():
        if field.is_required() and name not in header:
            what = " ".join((field.description or "").split())
            yield Problem(str(path), "header", "", f"the column {name!r} is missing; add it ({what})")


def _row_problems(
    path: Path, line: Line, model: type[BaseModel], error: ValidationError, missing: set[str]
) -> Iterator[Problem]:
    """The row's own problems; unknown and missing columns are the header's."""
    for found in problems.from_validation(error, model):
        column = found.path.partition("[")[0].partition(".")[0]
        if column in model.model_fields and column not in missing:
            yield _problem(path, line, column, repr(line.cells[column]) if column in line.cells else "", found.remedy)


def _problem(path: Path, line: Line, column: str, value: str, remedy: str) -> Problem:
    return Problem(str(path), f"line {line.number}, {column}" if column else f"line {line.number}", value, remedy)
