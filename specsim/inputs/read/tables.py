"""Reads a CSV whose rows are input models, and reports every problem of every row at once. Knows no table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from specsim.errors import InputError, Problem
from specsim.inputs.read import documents, problems
from specsim.units import plural

Row = TypeVar("Row", bound=BaseModel)
SEPARATORS = {";": "semicolons", "\t": "tabs"}


class Contradiction(NamedTuple):
    """A problem with a row whose cells are each valid.

    Attributes:
        column: the cell to correct.
        remedy: what is wrong and what to write instead.
    """

    column: str
    remedy: str


Rule = Callable[[Row], Iterable[Contradiction]]
"""What a row says against itself in one respect. It is put to rows with unreadable cells too, and has nothing to say of
those where it asks for such a cell."""


class Found(NamedTuple, Generic[Row]):
    """A row of the file.

    Attributes:
        line: its number, the first line of the file being 1.
        row: its values; it lacks attributes for cells that cannot be read.
        unread: columns whose cells cannot be read, or are missing.
    """

    line: int
    row: Row
    unread: frozenset[str]


Said = tuple[int, BaseModel, Contradiction]
"""The line of a row, the row, and what is wrong with it."""


class Line(NamedTuple):
    """A line of the file that holds a row.

    Attributes:
        number: of the line.
        cells: column → text, empty cells left out.
        surplus: cells beyond the last column.
    """

    number: int
    cells: dict[str, str]
    surplus: int


def read_rows(
    path: Path,
    model: type[Row],
    rules: Sequence[Rule[Row]],
    between: Callable[[Sequence[Found[Row]]], Iterable[Said]] = lambda rows: (),
) -> tuple[tuple[int, Row], ...]:
    """(line number, row) for every row of a CSV; lines that begin with ``#`` are comments.

    Args:
        path: the file; its header names fields of ``model`` in any order.
        model: what a row holds. Empty cells count as not given.
        rules: contradictions within a row.
        between: contradictions between rows, found from all of them.

    Raises:
        InputError: listing unknown and missing columns, and every problem and every contradiction of every row.
    """
    header, lines, unreadable = _read_lines(path)
    of_header = list(_header_problems(path, header, model))
    missing = {name for name, field in model.model_fields.items() if field.is_required() and name not in header}
    of_lines = unreadable
    rows: list[Found[Row]] = []
    for line in lines:
        if line.surplus:
            remedy = f"has {plural(line.surplus, 'cell')} beyond the last column; quote commas"
            of_lines.append((line.number, _problem(path, line, "", "", remedy)))
        found, complaints = _read_row(path, line, model, missing)
        of_lines += [(line.number, complaint) for complaint in complaints]
        rows.append(found)
    said: list[Said] = [(line, row, what) for line, row, unread in rows for what in _said(rules, row, unread)]
    of_lines += [(line, _contradiction(path, line, row, what)) for line, row, what in [*said, *between(rows)]]
    if not lines and not unreadable:
        of_header.append(Problem(str(path), "", "", "holds no rows; write at least one below the header"))
    if of_header or of_lines:
        raise InputError([*of_header, *(problem for _, problem in sorted(of_lines, key=lambda found: found[0]))])
    return tuple((line, row) for line, row, _ in rows)


def _read_row(path: Path, line: Line, model: type[Row], missing: set[str]) -> tuple[Found[Row], list[Problem]]:
    """A row's valid cells, and the names of the others."""
    try:
        return Found(line.number, model.model_validate(line.cells), frozenset()), []
    except ValidationError as error:
        complaints = list(_row_problems(path, line, model, error, missing))
        unread = frozenset(str(detail["loc"][0]) for detail in error.errors() if detail["loc"])
        readable = {name: cell for name, cell in line.cells.items() if name in model.model_fields}
        kept = {name: cell for name, cell in readable.items() if name not in unread}
        return Found(line.number, _partial(model, kept, unread), unread), complaints


def _partial(model: type[Row], cells: dict[str, str], unread: frozenset[str]) -> Row:
    """A row without the invalid columns: reading one raises AttributeError."""
    row = model.model_construct(**{name: _value(model.model_fields[name], cell) for name, cell in cells.items()})
    for name in unread:
        row.__dict__.pop(name, None)
    return row


def _value(field: FieldInfo, cell: str) -> Any:
    kind: Any = Annotated[field.annotation, field]
    return TypeAdapter[Any](kind).validate_python(cell)


def _said(rules: Sequence[Rule[Row]], row: Row, unread: frozenset[str]) -> Iterator[Contradiction]:
    """Contradictions within a row, by the rules that need only its valid cells."""
    for rule in rules:
        try:
            yield from list(rule(row))
        except AttributeError as error:
            if error.name not in unread:
                raise


def _contradiction(path: Path, line: int, row: BaseModel, what: Contradiction) -> Problem:
    return Problem(str(path), f"line {line}, {what.column}", _cell(row, what.column), what.remedy)


def _cell(row: BaseModel, column: str) -> str:
    """A cell as the file has it, several values separated by blanks."""
    value: Any = getattr(row, column, None)
    if isinstance(value, tuple):
        return repr(" ".join(map(str, value))) if value else ""
    return "" if value is None else repr(value)


def _read_lines(path: Path) -> tuple[Sequence[str], list[Line], list[tuple[int, Problem]]]:
    """(the header, the rows, lines that are not CSV); each row stands on one line."""
    text = documents.read_lines(path)
    kept = [(number, line) for number, line in enumerate(text, start=1) if line.strip() and not line.startswith("#")]
    parsed: list[tuple[int, list[str]]] = []
    unreadable: list[tuple[int, Problem]] = []
    for number, line in kept:
        try:
            parsed.append((number, next(csv.reader([line], strict=True))))
        except csv.Error as error:
            remedy = f"not CSV: {error}; keep each row on one line, and close its quotation marks there"
            unreadable.append((number, Problem(str(path), f"line {number}", "", remedy)))
    if not kept:
        raise InputError([Problem(str(path), "", "", "is empty; write a header of column names and rows below it")])
    if kept[0][0] not in dict(parsed):
        raise InputError([problem for _, problem in unreadable])
    header = [name.strip() for name in parsed[0][1]]
    separator = next((name for mark, name in SEPARATORS.items() if len(header) == 1 and mark in header[0]), None)
    if separator:
        remedy = f"columns are separated by {separator}; write commas, and points in numbers"
        raise InputError([Problem(str(path), "header", "", remedy)])
    lines = []
    for number, cells in parsed[1:]:
        pairs = zip(header, (cell.strip() for cell in cells), strict=False)
        lines.append(Line(number, {name: cell for name, cell in pairs if cell}, max(0, len(cells) - len(header))))
    return header, lines, unreadable


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
