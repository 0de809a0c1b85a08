"""Reading traces: the real file, and every way in which a file can be wrong."""

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.workload.columns import MAX_PROBLEMS
from specsim.workload.csv_traces import read_azure_trace

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
GOOD = "2023-11-16 18:15:46.6805900,374,44\n"


def read(tmp_path, text):
    path = tmp_path / "trace.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_azure_trace(path)


def problems(tmp_path, text):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert all(problem.where.endswith("trace.csv") for problem in caught.value.problems)
    return caught.value.problems


def test_the_conversation_trace(azure_trace):
    assert azure_trace.arrival.shape == azure_trace.lengths.prompt.shape == azure_trace.lengths.output.shape == (19366,)
    assert azure_trace.arrival[0] == 0
    # 18:15:46.680590 to 18:15:50.995169.
    assert azure_trace.arrival[1] == pytest.approx(4.314579, abs=1e-6)
    assert np.all(np.diff(azure_trace.arrival) >= 0)
    assert (azure_trace.lengths.prompt[1], azure_trace.lengths.output[1]) == (396, 109)
    # As published with the trace: about 1,155 prompt and 211 output tokens on average.
    assert azure_trace.lengths.prompt.mean() == pytest.approx(1154.7, abs=0.05)
    assert azure_trace.lengths.output.mean() == pytest.approx(211.1, abs=0.05)


def test_what_may_vary(tmp_path):
    """Zones, order of columns, further columns, a byte-order mark, Windows line ends, blank lines, quotation marks."""
    text = (
        "\ufeffGeneratedTokens,User,TIMESTAMP,ContextTokens\r\n"
        '44,a,2024-05-10 00:00:00.5+00:00,"374"\r\n\r\n'
        "45,b,2024-05-10 02:00:02+02:00,375"
    )
    trace = read(tmp_path, text)
    np.testing.assert_allclose(trace.arrival, [0, 1.5], atol=1e-6)
    np.testing.assert_array_equal(trace.lengths.prompt, [374, 375])
    np.testing.assert_array_equal(trace.lengths.output, [44, 45])


def test_every_bad_cell_is_named_with_line_column_and_value(tmp_path):
    found = problems(tmp_path, HEADER + GOOD + "yesterday,0,-5\n" + "2023-11-16 18:15:47,1e3,4.5\n" + "\n" + "x\n")
    assert [(problem.path, problem.value) for problem in found] == [
        ("line 3, TIMESTAMP", "'yesterday'"),
        ("line 3, ContextTokens", "'0'"),
        ("line 3, GeneratedTokens", "'-5'"),
        ("line 4, ContextTokens", "'1e3'"),
        ("line 4, GeneratedTokens", "'4.5'"),
        ("line 6, TIMESTAMP", "'x'"),
        ("line 6, ContextTokens", "''"),
        ("line 6, GeneratedTokens", "''"),
    ]
    assert "whole number of tokens" in found[-1].remedy


def test_time_may_not_run_backwards(tmp_path):
    (found,) = problems(tmp_path, HEADER + GOOD + "2023-11-16 18:15:40,1,1\n")
    assert found.path == "line 3, TIMESTAMP"
    assert "not before the line above" in found.remedy


def test_a_stray_quotation_mark_spoils_its_own_line_only(tmp_path):
    found = problems(tmp_path, HEADER + '2023-11-16 18:15:40,"374,44\n' + GOOD)
    assert {problem.path.split(",")[0] for problem in found} == {"line 2"}


def test_a_long_list_is_capped_with_a_count(tmp_path):
    found = problems(tmp_path, HEADER + GOOD.replace("374", "many") * 1000)
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1].remedy == "and 990 more problems like these"


def test_missing_columns_are_all_named_with_what_there_is(tmp_path):
    found = problems(tmp_path, "timestamp,input_length\n1,2\n")
    assert [problem.path for problem in found] == ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]
    assert "timestamp, input_length" in found[0].remedy


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "this file is empty"),
        (HEADER, "without rows"),
        (b"\x1f\x8b\x08\xff\xfe", "is not UTF-8 text"),
        ("a" * 200_000, "missing"),
    ],
)
def test_files_that_hold_no_trace(tmp_path, content, message):
    assert any(message in str(problem) for problem in problems(tmp_path, content))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_azure_trace(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="is a folder, a pipe or a device"):
        read_azure_trace(tmp_path)
