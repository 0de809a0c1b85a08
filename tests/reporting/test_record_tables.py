"""Tables in blocks are the tables in one."""

import numpy as np
import pandas as pd
import pytest

from specsim.errors import InputError
from specsim.reporting import record_tables as tables
from specsim.reporting.record_tables import columns_writer, table_format

COLUMNS = {
    "count": np.arange(10),
    "strided": np.arange(20.0).reshape(10, 2)[:, 1] / 3,
    "missing": np.where(np.arange(10) % 3, 1e-7, np.nan),
    "from_prompt": np.arange(10) % 2 == 0,
}


@pytest.mark.parametrize("rows", [0, 1, 3, 10])
def test_csv_is_the_same_in_blocks_of_any_size(tmp_path, monkeypatch, rows):
    columns = {name: column[:rows] for name, column in COLUMNS.items()}
    pd.DataFrame(columns).to_csv(tmp_path / "whole", index=False, float_format="%.10g")
    monkeypatch.setattr(tables, "BLOCK", 3)
    columns_writer(columns, "csv")(tmp_path / "blocks")
    assert (tmp_path / "blocks").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("rows", [0, 1, 3, 10])
def test_parquet_holds_what_was_given_to_the_bit(tmp_path, monkeypatch, rows):
    pytest.importorskip("pyarrow")
    columns = {name: column[:rows] for name, column in COLUMNS.items()}
    monkeypatch.setattr(tables, "BLOCK", 3)
    columns_writer(columns, "parquet")(tmp_path / "blocks.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "blocks.parquet"), pd.DataFrame(columns))


def test_a_format_that_cannot_be_written_is_refused(monkeypatch):
    assert table_format("csv") == "csv"
    with pytest.raises(InputError, match="write csv or parquet"):
        table_format("xlsx")
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"install specsim-llm\[parquet\]"):
        table_format("parquet")


def test_numbers_are_written_as_pandas_writes_them(tmp_path):
    columns = {
        "float": np.array([0.1, 1 / 3, 1e-12, 1e22, -0.0, 3.0, 123456789.123456, np.nan, np.inf]),
        "int": np.arange(9),
        "small": np.arange(9, dtype=np.int32),
        "bool": np.arange(9) % 2 == 0,
    }
    columns_writer(columns, "csv")(tmp_path / "ours.csv")
    pd.DataFrame(columns).to_csv(tmp_path / "pandas.csv", index=False, float_format="%.10g", lineterminator="\n")
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "pandas.csv").read_bytes()
