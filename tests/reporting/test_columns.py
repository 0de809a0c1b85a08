"""A column is defined once, and file, terminal and data dictionary agree."""

import pandas as pd
import pytest

from specsim.analysis.intervals import Interval
from specsim.reporting.columns import Column, FrameTable, Table, shown, with_ends
from specsim.units import plural

ROWS = [("a[b]", 1.5), ("c", 2.5)]
TABLE = Table(
    rows=ROWS,
    columns=[
        Column("name", lambda row: row[0], "", "what it is called", head="name", cell=lambda row: row[0], left=True),
        shown("doubled", lambda row: f"{2 * row[1]:g}"),
        *with_ends("gain", lambda row: Interval(row[1], 1.0, 3.0, 0.95, 3) if row[1] < 2 else None, "how much", "s"),
    ],
    file="x.csv",
    bold=lambda row: row[0] == "c",
)


def test_the_file_has_the_columns_that_have_values():
    frame = TABLE.frame()
    assert list(frame) == ["name", "gain", "gain_low", "gain_high"]
    assert frame.iloc[0].tolist() == ["a[b]", 1.5, 1.0, 3.0]
    assert frame.iloc[1].isna().tolist() == [False, True, True, True]


def test_the_dictionary_has_the_columns_of_the_file():
    assert [entry["name"] for entry in TABLE.dictionary()] == list(TABLE.frame())
    assert TABLE.dictionary()[1] == {"name": "gain", "unit": "s", "description": "how much"}


def test_the_terminal_has_the_columns_that_have_cells():
    grid = TABLE.shown()
    assert [column.header for column in grid.columns] == ["name", "doubled"]
    assert [column.justify for column in grid.columns] == ["left", "right"]
    assert list(grid.columns[0].cells) == [r"a\[b]", "c"]  # brackets of the user's are no markup
    assert [row.style for row in grid.rows] == [None, "bold"]


def test_nothing_is_shown_without_rows_or_heads():
    assert Table([], TABLE.columns).shown() is None
    assert Table(ROWS, TABLE.columns[2:]).shown() is None
    assert list(Table([], TABLE.columns).frame()) == list(TABLE.frame())


def test_every_column_of_a_frame_is_described():
    with pytest.raises(ValueError, match=r"x\.csv: not described: b"):
        FrameTable(pd.DataFrame({"a": [1], "b": [2]}), {"a": ("", "one")}, "x.csv")


def test_a_page_has_the_columns_of_the_terminal_and_bars_do_not_break_it():
    table = Table([("a|b", 1)], [shown("name", lambda row: row[0]), shown("n", lambda row: str(row[1]))])
    assert table.markdown() == "| name | n |\n| --- | --- |\n| a/b | 1 |"
    assert table.markdown(("what", "how many")).startswith("| what | how many |\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [((1, "cell"), "1 cell"), ((0, "cell"), "0 cells"), ((2000, "batch", "batches"), "2,000 batches")],
)
def test_numbers_with_their_nouns(words, said):
    assert plural(*words) == said
