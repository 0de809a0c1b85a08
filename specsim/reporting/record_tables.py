"""Tables of records as files, CSV or Parquet, written block by block so that no more than a block is held as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from specsim.errors import invalid
from specsim.reporting.folders import Writer

Format = Literal["csv", "parquet"]
Columns = Mapping[str, NDArray[Any]]

BLOCK = 2**16
"""Rows that are written at a time; in Parquet, a row group."""


def table_format(name: str) -> Format:
    """The format of that name, before any work is done.

    Raises:
        InputError: when there is none, or what it takes is not installed.
    """
    if name not in ("csv", "parquet"):
        raise invalid("--format", "", name, "unknown; write csv or parquet")
    if name == "parquet" and find_spec("pyarrow") is None:
        remedy = "needs pyarrow, which is not installed; install specsim-llm[parquet], or leave the option out for CSV"
        raise invalid("--format", "", name, remedy)
    return "csv" if name == "csv" else "parquet"


def columns_writer(columns: Columns, form: Format) -> Writer:
    """Writes columns, all equally long: as CSV with ten significant digits, as Parquet as they are."""
    return partial(_write_csv if form == "csv" else _write_parquet, columns)


def _write_csv(columns: Columns, path: Path) -> None:
    """Numbers and flags as pandas would write them (tested), in a third of the time and without loading it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(columns) + "\n")
        for block in _blocks(columns):
            cells = [_cells(column) for column in block.values()]
            line = ",".join(form for form, _ in cells) + "\n"
            file.writelines(map(line.__mod__, zip(*(values for _, values in cells), strict=True)))


def _cells(column: NDArray[Any]) -> tuple[str, list[Any]]:
    """How the values of a column are written, and the values; one that is not known is left empty."""
    if column.dtype.kind != "f":
        return "%s", column.tolist()
    values = column.tolist()
    if not np.isnan(column).any():
        return "%.10g", values
    return "%s", ["" if value != value else f"{value:.10g}" for value in values]


def _write_parquet(columns: Columns, path: Path) -> None:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    writer = None
    try:
        for block in _blocks(columns):
            table = pyarrow.table({name: pyarrow.array(column, from_pandas=True) for name, column in block.items()})
            writer = writer or ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _blocks(columns: Columns) -> Iterator[dict[str, NDArray[Any]]]:
    """The rows, at most BLOCK at a time; once without any where there are none."""
    number = len(next(iter(columns.values())))
    for start in range(0, max(number, 1), BLOCK):
        yield {name: np.ascontiguousarray(column[start : start + BLOCK]) for name, column in columns.items()}
