"""The arms of a comparison may stand in one row or in two."""

import pytest

from specsim.inputs.measured.serving_tables import read_measurements

HEADER = (
    "sweep,drafter,load_kind,load,num_requests,num_draft_tokens,metric,baseline,with_speculation,speedup,"
    "baseline_max_num_seqs,repeat"
)
SPECULATING = "s,eagle3,concurrency,8,64,3,tpot_ms,,5,,,"


@pytest.fixture
def rows(tmp_path):
    def read(*lines):
        (tmp_path / "table.csv").write_text("\n".join([HEADER, *lines]) + "\n")
        return [row for _, row in read_measurements(tmp_path / "table.csv")]

    return read


def test_a_run_without_speculation_is_the_baseline_of_every_draft_length(rows):
    five = SPECULATING.replace(",3,tpot", ",5,tpot").replace(",5,,,", ",4,,,")
    *drafted, plain = rows(SPECULATING, five, "s,,concurrency,8,64,0,tpot_ms,10,,,128,")
    assert [row.measured_speedup for row in drafted] == [2, 2.5]
    assert {row.baseline_max_num_seqs for row in drafted} == {128}, "the limits are those of the run"
    assert plain.measured_speedup is None


@pytest.mark.parametrize(
    "other",
    [
        "s,,concurrency,4,64,0,tpot_ms,10,,,,",
        "s,,concurrency,8,32,0,tpot_ms,10,,,,",
        "s,,concurrency,8,64,0,e2e_ms,10,,,,",
        "s,,concurrency,8,64,0,tpot_ms,10,,,,2",
        "t,,concurrency,8,64,0,tpot_ms,10,,,,",
    ],
)
def test_a_run_that_differs_is_nobodys_baseline(rows, other):
    drafted, _ = rows(SPECULATING, other)
    assert drafted.baseline is None


def test_what_a_row_says_itself_stays(rows):
    own, ratio, _ = rows(
        SPECULATING.replace("tpot_ms,,5", "tpot_ms,20,5"),
        SPECULATING.replace(",3,tpot_ms,,5,,", ",5,tpot_ms,,,1.5,"),
        "s,,concurrency,8,64,0,tpot_ms,10,,,128,",
    )
    assert (own.baseline, own.baseline_max_num_seqs) == (20, None)
    assert (ratio.baseline, ratio.measured_speedup) == (None, 1.5)
