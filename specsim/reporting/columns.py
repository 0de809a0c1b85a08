"""Tables whose columns are defined once, for the file, the terminal and the data dictionary alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from specsim.reporting.folders import Writer, table_writer
from specsim.reporting.record_tables import Columns, Format, columns_writer

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table as RichTable
    from rich.text import Text

    from specsim.analysis.crossings import Crossing
    from specsim.analysis.intervals import Interval

Row = TypeVar("Row")
Read = TypeVar("Read", contravariant=True)
"""Rows that a column can read: one that reads a kind of row reads any narrower kind too."""
Described = Mapping[str, tuple[str, str]]
"""Column name → its unit (empty without one) and what it is."""
LOWER, UPPER = "lower end of the 95 % interval of {}", "upper end of the 95 % interval of {}"


@dataclass(frozen=True)
class Column(Generic[Read]):
    """A column of a file, of the terminal's table, or of both.

    Attributes:
        name: in the file; empty where only the terminal has it.
        value: of a row, what the file holds.
        unit: of the value.
        description: what it is, for the data dictionary.
        head: on the terminal; empty where only the file has it.
        cell: of a row, what the terminal shows: plain text, or a rich ``Text`` with colours.
        left: whether the terminal aligns it left.
        fold: whether long cells are broken over lines instead of cut.
        no_wrap: whether cells stay on one line.
    """

    name: str = ""
    value: Callable[[Read], Any] | None = None
    unit: str = ""
    description: str = ""
    head: str = ""
    cell: Callable[[Read], str | Text] | None = None
    left: bool = False
    fold: bool = False
    no_wrap: bool = False


def shown(
    head: str, cell: Callable[[Row], str | Text], *, left: bool = False, fold: bool = False, no_wrap: bool = False
) -> Column[Row]:
    """A column that only the terminal has."""
    return Column(head=head, cell=cell, left=left, fold=fold, no_wrap=no_wrap)


def filed(columns: Iterable[Column[Row]]) -> list[Column[Row]]:
    """The columns of a file, none of which the terminal shows."""
    return [replace(column, cell=None) for column in columns if column.value]


def with_ends(
    name: str,
    interval: Callable[[Any], Interval | None],
    description: str,
    unit: str = "",
    head: str = "",
    cell: Callable[[Any], str | Text] | None = None,
) -> tuple[Column[Any], ...]:
    """Three columns of a file: an estimate, and the ends of its 95 % interval; NaN where there is none.

    The first may be shown on the terminal too.
    """

    def end(part: str) -> Callable[[Any], float]:
        def value(row: Any) -> float:
            found = interval(row)
            return float("nan") if found is None else float(getattr(found, part))

        return value

    return (
        Column(name, end("estimate"), unit, description, head, cell),
        Column(f"{name}_low", end("low"), unit, LOWER.format(name)),
        Column(f"{name}_high", end("high"), unit, UPPER.format(name)),
    )


def crossing_columns(
    name: str, ends: str, crossing: Callable[[Any], Crossing | None], description: str
) -> tuple[Column[Any], ...]:
    """Three columns of a file: the batch of a crossing and, called ``ends``, its interval; empty without one."""

    def part(which: str) -> Callable[[Any], float | None]:
        return lambda row: getattr(crossing(row), which, None)

    return (
        Column(name, part("batch"), "requests", description),
        Column(f"{ends}_low", part("low"), "requests", LOWER.format(name)),
        Column(f"{ends}_high", part("high"), "requests", UPPER.format(name)),
    )


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows under columns.

    Attributes:
        rows: one value each, of any type that the columns know how to read.
        columns: left to right.
        file: name of the CSV; empty where only the terminal shows it.
        title: on the terminal.
        bold: which rows the terminal sets in bold.
        sections: rows on the terminal before which a line is drawn.
        caption: below it on the terminal.
    """

    rows: Sequence[Row]
    columns: Sequence[Column[Row]]
    file: str = ""
    title: str = ""
    bold: Callable[[Row], bool] = lambda row: False
    sections: Sequence[int] = ()
    caption: str = ""

    def frame(self) -> pd.DataFrame:
        """What the file holds."""
        import pandas as pd

        filed = [column for column in self.columns if column.value]
        return pd.DataFrame(
            [[column.value(row) for column in filed if column.value] for row in self.rows],
            columns=[column.name for column in filed],
        )

    def writer(self) -> Writer:
        """Writes the file."""
        return table_writer(self.frame())

    def dictionary(self) -> list[dict[str, str]]:
        """What each column of the file is."""
        return [entry(column.name, column.unit, column.description) for column in self.columns if column.value]

    def records(self) -> list[dict[str, Any]]:
        """Of each row, the file's columns by name."""
        return [{column.name: column.value(row) for column in self.columns if column.value} for row in self.rows]

    def shown(self) -> RichTable | None:
        """What the terminal shows; None where no column has a head there, or there is no row."""
        from rich.markup import escape
        from rich.table import Table as RichTable

        columns = [column for column in self.columns if column.cell]
        if not columns or not self.rows:
            return None
        table = RichTable(title=escape(self.title) or None, title_justify="left", caption=self.caption or None)
        for column in columns:
            table.add_column(
                escape(column.head),
                justify="left" if column.left else "right",
                overflow="fold" if column.fold else "ellipsis",
                no_wrap=column.no_wrap,
            )
        for i, row in enumerate(self.rows):
            if i in self.sections:
                table.add_section()
            cells = [column.cell(row) for column in columns if column.cell]
            table.add_row(
                *(escape(cell) if isinstance(cell, str) else cell for cell in cells),
                style="bold" if self.bold(row) else None,
            )
        return table

    def markdown(self, heads: Sequence[str] = ()) -> str:
        """What the terminal shows, for a page; with other heads than the terminal's where they are given."""
        columns = [column for column in self.columns if column.cell]
        lines = [heads or [column.head for column in columns], ["---"] * len(columns)]
        lines += [[str(column.cell(row)).replace("|", "/") for column in columns if column.cell] for row in self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class FrameTable:
    """A table of a file that is a data frame already, with what its columns are.

    Raises:
        ValueError: when a column is not described.
    """

    data: pd.DataFrame
    described: Described
    file: str

    def __post_init__(self) -> None:
        unknown = [name for name in self.data.columns if name not in self.described]
        if unknown:
            raise ValueError(f"{self.file}: not described: {', '.join(unknown)}")

    def writer(self) -> Writer:
        """Writes the file."""
        return table_writer(self.data)

    def dictionary(self) -> list[dict[str, str]]:
        """What each column of the file is."""
        return [entry(name, *self.described[name]) for name in self.data.columns]

    def shown(self) -> None:
        """The terminal does not show it."""


@dataclass(frozen=True)
class RecordTable:
    """A long table of a file, as columns of equal length, with what they are.

    Attributes:
        columns: name → values [rows].
        described: of every name, and of others that may be missing.
        name: of the file, without its ending.
        form: csv or parquet.
    """

    columns: Columns
    described: Described
    name: str
    form: Format

    @property
    def file(self) -> str:
        """Name of the file."""
        return f"{self.name}.{self.form}"

    def writer(self) -> Writer:
        """Writes the file."""
        return columns_writer(self.columns, self.form)

    def dictionary(self) -> list[dict[str, str]]:
        """What each column of the file is."""
        return [entry(name, *self.described[name]) for name in self.columns]

    def shown(self) -> None:
        """The terminal does not show it."""


AnyTable = Table[Any] | FrameTable | RecordTable


def interval_described(name: str, unit: str, description: str) -> dict[str, tuple[str, str]]:
    """The entries of an estimate and of the ends of its 95 % interval."""
    return {
        name: (unit, description),
        f"{name}_low": (unit, LOWER.format(name)),
        f"{name}_high": (unit, UPPER.format(name)),
    }


def verdict_colour(row: Any) -> str:
    """Green where the interval of a row's speedup lies above 1, red below, yellow around it."""
    return "green" if row.speedup_low > 1 else "red" if row.speedup_high < 1 else "yellow"


def entry(name: str, unit: str, description: str) -> dict[str, str]:
    """One entry of a data dictionary."""
    return {"name": name, "unit": unit, "description": description}
