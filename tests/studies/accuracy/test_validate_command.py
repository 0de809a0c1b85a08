"""``specsim validate`` on small tables: the answer first, and its files."""

import json
import re
from datetime import date

import pandas as pd
import pytest

import specsim

DEMO = "llama3.1-8b-h100-eagle3"
TABLE = """\
# a comment
sweep,load_kind,load,num_requests,prompt_tokens,output_tokens,num_draft_tokens,metric,baseline,with_speculation,drafter
mine,concurrency,1,2,20,16,2,output_tokens_per_s,150,250,eagle3
mine,concurrency,8,16,20,16,2,output_tokens_per_s,1000,900,eagle3
mine,concurrency,1,2,20,16,4,output_tokens_per_s,150,240,eagle3
mine,concurrency,8,16,20,16,4,output_tokens_per_s,1000,800,eagle3
"""
STEPS = """\
measured,mode,requests,query_tokens,context,num_draft_tokens,ms
step,graph,8,1,100,,7
step,eager,8,4,103,3,10
"""


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE)
    (tmp_path / "trace.csv").write_text(STEPS)
    return tmp_path


@pytest.mark.slow
def test_the_answer_comes_first(command, tables):
    options = ("--measurements", tables / "mine.csv", "--scenario", DEMO, "--jobs", "1", "--quick")
    code, out, err = command("validate", *options)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert re.match(
        r"Predicted speedups are \d+\.\d% off on average \(bias [+-]\d+\.\d%\) over 4 points of 1 sweep;", lines[0]
    )
    assert lines[1].startswith("Break-even: ")
    assert "of 2 curves that measured a crossing of 1.0" in lines[1]
    assert lines[2].startswith("Best draft length: right, or within 2% of the best measured speedup, at ")


@pytest.mark.slow
def test_its_files(command, tables):
    out = tables / "new"
    options = ("--measurements", tables / "mine.csv", "--steps", tables / "trace.csv", "--scenario", DEMO)
    code, printed, _ = command("validate", *options, "--jobs", "1", "--out", out)
    assert code == 0
    written = {file.name for file in out.iterdir()}
    assert written == {
        *("accuracy.md", "accuracy.csv", "accuracy.png", "accuracy.svg", "accuracy_steps.csv"),
        *("answer.txt", "manifest.json"),
    }
    page = (out / "accuracy.md").read_text()
    assert f"on {date.today().isoformat()}, specsim {specsim.__version__}, from mine, trace." in page
    assert f"- {printed.splitlines()[0]}" in page
    points = pd.read_csv(out / "accuracy.csv")
    assert len(points) == 4
    ratio = points["predicted_with_speculation"] / points["predicted_baseline"]
    assert points["predicted_speedup"].tolist() == pytest.approx(ratio.tolist(), rel=1e-8)
    error = ratio / points["measured_speedup"] - 1
    assert points["error_speedup"].tolist() == pytest.approx(error.tolist(), rel=1e-6)
    steps = pd.read_csv(out / "accuracy_steps.csv")
    assert steps["error"].tolist() == pytest.approx((steps["predicted_ms"] / steps["measured_ms"] - 1).tolist())
    assert (out / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    described = json.loads((out / "manifest.json").read_text())["columns"]
    assert [column["name"] for column in described["accuracy.csv"]] == points.columns.tolist()
    assert [column["name"] for column in described["accuracy_steps.csv"]] == steps.columns.tolist()
    assert all(column["description"] for columns in described.values() for column in columns)


def test_steps_alone_simulate_nothing(command, tables, monkeypatch):
    def nothing_runs(*args, **kwargs):
        raise AssertionError("something was simulated")

    monkeypatch.setattr("specsim.simulation.replica.serve_closed_loop", nothing_runs)
    code, out, err = command("validate", "--steps", tables / "trace.csv", "--scenario", DEMO, "--out", tables / "new")
    assert (code, err) == (0, "")
    assert out.startswith("Steps of trace: median error ")
    due = {"accuracy.md", "accuracy_steps.csv", "answer.txt", "manifest.json"}
    assert {file.name for file in (tables / "new").iterdir()} == due


def test_a_shipped_table_of_steps_by_name(command):
    code, out, _ = command("validate", "--steps", "h100-llama-3.1-8b-batch-by-k")
    assert code == 0
    assert re.match(r"Steps of h100-llama-3\.1-8b-batch-by-k: median error \d+\.\d%, largest [+-]\d+% over 23\.", out)


@pytest.mark.slow
def test_rows_that_cannot_be_simulated_are_listed(command, tables):
    table = TABLE.replace("eagle3", "").replace(",drafter", ",use_drafter")
    other = "other,concurrency,4,8,20,16,2,output_tokens_per_s,500,600,{kind: telepathy}\n"
    (tables / "mine.csv").write_text(table + other)
    options = ("--measurements", tables / "mine.csv", "--scenario", DEMO, "--jobs", "1", "--quick")
    code, out, _ = command("validate", *options)
    assert code == 0
    assert "Not simulated in full: 1 of 5 rows" in out
    assert "other (1)" in out
    assert "write one of" in out


@pytest.mark.slow
def test_figures_far_slower_than_predicted_are_named(command, tables):
    """No physics forbids them; microseconds where milliseconds are due look like that."""
    (tables / "mine.csv").write_text(TABLE.replace("2,output_tokens_per_s,150,250", "2,output_tokens_per_s,0.15,250"))
    (tables / "trace.csv").write_text(STEPS.replace(",7\n", ",7000\n"))
    options = ("--measurements", tables / "mine.csv", "--steps", tables / "trace.csv", "--scenario", DEMO)
    code, out, _ = command("validate", *options, "--jobs", "1", "--quick")
    assert code == 0
    assert "More than 20 times off, so check the unit (ms, tokens/s): line 3." in out
    assert "More than 20 times off, so check the unit (ms, tokens/s): line 2 of trace." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--measurements", "no-such-table"), "known: a100-llama-3.1-8b-eagle3-runs, published"),
        (("--steps", "no-such.csv"), "no such file"),
        (("--measurements", "{tables}/mine.csv"), "no row can be simulated: no device profile (use_device)"),
        (("--steps", "{tables}/trace.csv"), "no step can be priced: no use_device"),
        (("--measurements", "{tables}/mine.csv", "--scenario", "no-such-scenario"), "no scenario of that name"),
    ],
)
def test_what_has_to_be_corrected(command, tables, arguments, message):
    code, out, err = command("validate", *(argument.format(tables=tables) for argument in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_brackets_in_names_are_no_markup(command, tables):
    (tables / "mine.csv").write_text(TABLE.replace("mine,", '"[bold]a[/x]",'))
    (tables / "[slash] trace.csv").write_text(STEPS)
    options = ("--measurements", tables / "mine.csv", "--steps", tables / "[slash] trace.csv", "--scenario", DEMO)
    code, out, err = command("validate", *options, "--jobs", "1", "--quick")
    assert (code, err) == (0, "")
    assert "│ [bold]a[/x] " in out
    assert "[slash] trace" in out


def test_editors_of_other_systems(command, tables):
    """A byte-order mark, and lines that end as on Windows."""
    (tables / "trace.csv").write_bytes(b"\xef\xbb\xbf" + STEPS.replace("\n", "\r\n").encode())
    code, out, err = command("validate", "--steps", tables / "trace.csv", "--scenario", DEMO)
    assert (code, err) == (0, "")
    assert "over 2." in out


def test_results_are_not_overwritten_unasked(command, tables):
    out = tables / "new"
    out.mkdir()
    (out / "accuracy.csv").write_text("mine")
    code, _, err = command("validate", "--steps", tables / "trace.csv", "--scenario", DEMO, "--out", out)
    assert code == 2
    assert "--force" in err
    assert (out / "accuracy.csv").read_text() == "mine"


def test_operators_without_their_tables(command, monkeypatch):
    monkeypatch.setattr("specsim.inputs.measured.operator_tables.find_spec", lambda name: None)
    code, out, err = command("validate", "--operators")
    assert (code, out) == (2, "")
    assert "pip install 'specsim-llm[operators]'" in err
    assert "Traceback" not in err
