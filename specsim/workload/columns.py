"""Named columns of a file; every bad cell is reported at once.

Knows nothing of what the columns mean: the caller gives the parser of each cell and the remedy for bad ones.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from specsim.errors import InputError, Problem, invalid
from specsim.inputs.read.documents import read_lines

MAX_PROBLEMS = 10
"""Problems listed one by one; a file in the wrong format has one in every cell, and a count serves better."""

Cells = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """How to read one column.

    Attributes:
        parse: a cell (text, or in JSON any value) → value; raises ValueError when it cannot.
        remedy: what to write instead.
        ascending: True when a value may not be less than the one above it.
        optional: True when a file may do without the column.
    """

    parse: Callable[[Any], Any]
    remedy: str
    ascending: bool = False
    optional: bool = False


class Rows(NamedTuple):
    """The rows of a file.

    Attributes:
        lines: number of each row's line in the file, from 1.
        values: column → its values, in the file's order; without optional columns that the file lacks.
        left_out: number of rows skipped.
    """

    lines: list[int]
    values: dict[str, list[Any]]
    left_out: int


def whole_number(text: str) -> int:
    """A plain non-negative whole number; no sign, point, exponent or digit group.

    Raises:
        ValueError: it is anything else, or longer than 9 digits.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise ValueError(text)
    return int(text)


def at_least_one(text: str) -> int:
    """A plain positive whole number.

    Raises:
        ValueError: it is anything else.
    """
    if (number := whole_number(text)) < 1:
        raise ValueError(text)
    return number


def read_columns(
    path: Path, columns: Mapping[str, Column], left_out: Callable[[Cells], bool] = lambda cells: False
) -> Rows:
    """The named columns of a CSV file; other columns, blank lines and ``#`` lines are skipped.

    Args:
        path: of the file.
        columns: to read.
        left_out: whether to skip a row unread.

    Raises:
        InputError: the file cannot be read, lacks a column, has no rows, or holds cells that cannot be parsed; all of
            these at once, with line and column, up to MAX_PROBLEMS and a count of the rest.
    """
    lines = ((number, cells_of(line)) for number, line in numbered_lines(path))
    first, names = next(lines, (0, []))
    header = [name.strip() for name in names]
    refuse_other_separators(path, first, header)
    missing = [name for name, column in columns.items() if name not in header and not column.optional]
    if missing:
        found = f"this file has: {', '.join(header)[:200]}" if header else "this file is empty"
        remedy = f"this column is missing from the first line; {found}"
        raise InputError(Problem(str(path), name, "", remedy) for name in missing)
    twice = [name for name in columns if header.count(name) > 1]
    if twice:
        remedy = "stands in the first line more than once; keep one of the columns"
        raise InputError(Problem(str(path), f"line {first}", repr(name), remedy) for name in twice)
    present = {name: column for name, column in columns.items() if name in header}
    places = {name: header.index(name) for name in present}
    wide: list[Problem] = []

    def rows() -> Iterator[tuple[int, Cells]]:
        for line, cells in lines:
            if any(cell.strip() for cell in cells[len(header) :]):
                remedy = (
                    f"the first line names {len(header)}; take out what is too much, or put text in quotation marks"
                )
                wide.append(Problem(str(path), f"line {line}", f"{len(cells)} cells", remedy))
            else:
                yield line, {name: cells[place].strip() if place < len(cells) else "" for name, place in places.items()}

    return _parsed(
        path, rows(), present, left_out, "a header without rows", "write at least one line below the header", wide
    )


def refuse_other_separators(path: Path, line: int, header: Sequence[str]) -> None:
    """Refuse a header that is a single cell because its separators are not commas.

    Raises:
        InputError: names the separator found.
    """
    marks = {";": "semicolons", "\t": "tabs", "|": "bars"}
    found = [name for mark, name in marks.items() if mark in "".join(header)]
    if len(header) == 1 and found:
        remedy = f"cells are separated by {found[0]}; separate them by commas"
        raise InputError([Problem(str(path), f"line {line}", repr(header[0])[:80], remedy)])


def read_objects(path: Path, columns: Mapping[str, Column]) -> Rows:
    """The named fields of a JSON Lines file, one object per line; other fields and blank lines are skipped.

    Raises:
        InputError: as for ``read_columns``.
    """
    rows = ((number, object_of(line)) for number, line in numbered_lines(path))
    return _parsed(path, rows, columns, lambda cells: False, "no rows", "write one JSON object a line")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, text) of every line that is neither blank nor a comment.

    Raises:
        InputError: the file cannot be read.
    """
    numbered = enumerate(read_lines(path), start=1)
    return ((number, line) for number, line in numbered if line.strip() and not line.startswith("#"))


def cells_of(line: str) -> list[str]:
    """The cells of one line. Line by line, so that a stray quotation mark affects only its own line."""
    try:
        return next(csv.reader([line]))
    except csv.Error:
        return []


def object_of(line: str) -> Cells:
    """The fields of a line in JSON; none where it holds no object."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _parsed(
    path: Path,
    rows: Iterable[tuple[int, Cells]],
    columns: Mapping[str, Column],
    left_out: Callable[[Cells], bool],
    empty: str,
    remedy: str,
    others: Sequence[Problem] = (),
) -> Rows:
    """Every row's values, or every problem; row by row, so that only the values of a large file are kept.

    Args:
        path: of the file, for messages.
        rows: number of each line, and its cells.
        columns: how to read them.
        left_out: whether to skip a row.
        empty, remedy: what a file without rows is, and what to do about it.
        others: problems of lines that are not rows, known once all have been read.
    """
    found = Rows([], {name: [] for name in columns}, 0)
    passed_over, problems = 0, list[Problem]()
    for line, cells in rows:
        if left_out(cells):
            passed_over += 1
            continue
        found.lines.append(line)
        for name, column in columns.items():
            values, cell = found.values[name], cells.get(name, "")
            try:
                value = column.parse(cell)
                if column.ascending and values and value < values[-1]:
                    raise ValueError(cell)
                values.append(value)
            except ValueError:
                problems.append(Problem(str(path), f"line {line}, {name}", repr(cell)[:80], column.remedy))
    if problems or others:
        raise InputError(capped(path, [*problems, *others]))
    if not found.lines and not passed_over:
        raise invalid(str(path), "", empty, remedy)
    if not found.lines:
        raise InputError([Problem(str(path), "", "", f"all {passed_over} rows are left out; give a file with others")])
    return found._replace(left_out=passed_over)


def capped(path: Path, problems: list[Problem]) -> list[Problem]:
    """The first MAX_PROBLEMS problems, and a count of the rest."""
    rest = len(problems) - MAX_PROBLEMS
    more = [Problem(str(path), "", "", f"and {rest} more problems like these")] if rest > 0 else []
    return problems[:MAX_PROBLEMS] + more
