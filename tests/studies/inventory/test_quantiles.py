"""A trace becomes a table, and a scenario uses the table."""

import pytest

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"
DEMO = "llama3.1-8b-h100-eagle3"


@pytest.fixture
def trace(tmp_path):
    rows = [f"2023-11-16 18:15:{i % 60:02},{20 + i},{30 - i % 20}" for i in range(60)]
    file = tmp_path / "trace.csv"
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    return file


def test_a_scenario_uses_the_table(command, trace, tmp_path):
    table = tmp_path / "table.csv"
    code, out, err = command("quantiles", trace, "--out", table, "--note", "our traffic", "--note", "May\nJune")
    assert (code, err) == (0, "")
    assert out.startswith("60 requests summarised in ")
    assert table.read_text().splitlines()[:4] == [
        *("# our traffic", "# May", "# June"),
        "bin,level,prompt_tokens,output_tokens",
    ]
    lengths = f"workload.lengths={{kind: quantiles, table: '{table}'}}"
    values = ("workload.num_requests=30", "workload.load.concurrency=4", "run.replications=2")
    small = (*(part for value in values for part in ("--set", value)), "--out", tmp_path / "out")
    code, out, err = command("simulate", DEMO, "--set", lengths, *small)
    assert code == 0, err
    prompts = [int(line.split(",")[4]) for line in (tmp_path / "out" / "requests-0.csv").read_text().splitlines()[1:]]
    assert 20 <= min(prompts) <= max(prompts) <= 79
    assert "our traffic May June" in (tmp_path / "out" / "provenance.json").read_text()


def test_a_trace_of_few_requests(command, trace, tmp_path):
    trace.write_text("\n".join(trace.read_text().splitlines()[:4]) + "\n")
    code, out, _ = command("quantiles", trace, "--out", tmp_path / "table.csv")
    assert code == 0
    assert out.startswith("3 requests summarised in ")


def test_a_table_is_not_overwritten_unasked(command, trace, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("mine")
    code, out, err = command("quantiles", trace, "--out", table)
    assert (code, out) == (2, "")
    assert "--force" in err
    assert table.read_text() == "mine"
    assert command("quantiles", trace, "--out", table, "--force").code == 0
    assert table.read_text().startswith("bin,level,")


@pytest.mark.parametrize("place", ["no/such/table.csv", "trace.csv/table.csv", "."])
def test_where_no_table_can_be(command, trace, tmp_path, place):
    code, out, err = command("quantiles", trace, "--out", tmp_path / place, "--force")
    assert (code, out) == (2, "")
    assert "cannot be written" in err
    assert [file.name for file in tmp_path.iterdir()] == ["trace.csv"]


def test_a_trace_with_mistakes(command, trace, tmp_path):
    trace.write_text(f"{HEADER}\nyesterday,0,many\n")
    code, _, err = command("quantiles", trace, "--out", tmp_path / "table.csv")
    assert code == 2
    assert err.splitlines()[0].endswith("(3 problems):")
    assert not (tmp_path / "table.csv").exists()
