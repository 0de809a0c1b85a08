"""Named columns of a CSV file, every bad cell reported at once.

Knows nothing of what the columns mean: the caller says how a cell becomes a value, and what to write instead if not.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specsim.errors import InputError, Problem, invalid

MAX_PROBLEMS = 10
"""Problems listed one by one; a file in the wrong format has one in every cell, and a count serves better."""


@dataclass(frozen=True)
class Column:
    """How to read one column.

    Attributes:
        parse: text of a cell → value; raises ValueError when it cannot.
        remedy: what to write instead.
        ascending: True when a value may not be less than the one above it.
    """

    parse: Callable[[str], Any]
    remedy: str
    ascending: bool = False


def whole_number(text: str) -> int:
    """A plain non-negative whole number; no sign, point, exponent or digit group."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise ValueError(text)
    return int(text)


def at_least_one(text: str) -> int:
    """A plain positive whole number."""
    if (number := whole_number(text)) < 1:
        raise ValueError(text)
    return number


def read_columns(path: Path, columns: Mapping[str, Column]) -> dict[str, list[Any]]:
    """The values of the named columns, in the file's order; other columns, blank lines and ``#`` lines are skipped.

    Raises:
        InputError: the file cannot be read, lacks a column, has no rows, or holds cells that cannot be parsed; all of
            these at once, with line and column, up to MAX_PROBLEMS and a count of the rest.
    """
    lines = _lines(path)
    header = [name.strip() for name in next(lines, (0, []))[1]]
    missing = [name for name in columns if name not in header]
    if missing:
        found = f"this file has: {', '.join(header)[:200]}" if header else "this file is empty"
        remedy = f"this column is missing from the first line; {found}"
        raise InputError(Problem(str(path), name, "", remedy) for name in missing)
    rows = list(lines)
    if not rows:
        raise invalid(str(path), "", "a header without rows", "write at least one line below the header")
    parsed = {name: _parse_column(path, name, column, header.index(name), rows) for name, column in columns.items()}
    if problems := [problem for _, found in parsed.values() for problem in found]:
        raise InputError(_capped(path, problems))
    return {name: values for name, (values, _) in parsed.items()}


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line number, cells) of every line that is neither blank nor a comment."""
    try:
        # -sig: spreadsheets put a byte-order mark before the first column's name.
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError([Problem(str(path), "", "", "no such file; check the path")]) from None
    except OSError as error:
        raise InputError([Problem(str(path), "", "", f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(str(path), "", "", "is not text in UTF-8; give a CSV file, uncompressed")]) from None
    numbered = enumerate(text.splitlines(), start=1)
    return ((number, _cells(line)) for number, line in numbered if line.strip() and not line.startswith("#"))


def _cells(line: str) -> list[str]:
    """The cells of one line. Line by line, so that a stray quotation mark spoils its own line only."""
    try:
        return next(csv.reader([line]))
    except csv.Error:
        return []


def _parse_column(
    path: Path, name: str, column: Column, index: int, rows: list[tuple[int, list[str]]]
) -> tuple[list[Any], list[tuple[int, Problem]]]:
    """The column's values where they can be parsed, and (line, problem) where they cannot."""
    values: list[Any] = []
    problems: list[tuple[int, Problem]] = []
    for line, cells in rows:
        text = cells[index].strip() if index < len(cells) else ""
        try:
            value = column.parse(text)
            if column.ascending and values and value < values[-1]:
                raise ValueError(text)
            values.append(value)
        except ValueError:
            problems.append((line, Problem(str(path), f"line {line}, {name}", repr(text), column.remedy)))
    return values, problems
    return values


def _capped(path: Path, problems: list[tuple[int, Problem]]) -> list[Problem]:
    """The problems by line, cut off where a count says more than a list."""
    by_line = [problem for _, problem in sorted(problems, key=lambda found: found[0])]
    rest = len(by_line) - MAX_PROBLEMS
    more = [Problem(str(path), "", "", f"and {rest} more problems like these")] if rest > 0 else []
    return by_line[:MAX_PROBLEMS] + more
