"""``specsim simulate --check --trace``: runs are checked and shown, and a broken one leaves no result."""

import json

import pandas as pd
import pytest

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "run.replications=2"),
    *("--set", "workload.num_requests=8", "--set", "workload.load.concurrency=4"),
    *("--set", "workload.lengths.output_tokens=16"),
)


def test_runs_are_checked_and_shown(command, tmp_path):
    trace = tmp_path / "trace.json"
    code, out, err = command("simulate", DEMO, *SMALL, "--check", "--trace", trace, "--out", tmp_path / "new")
    assert (code, err) == (0, "")
    assert out.splitlines()[-3:] == [
        "checked: all 4 runs keep every invariant",
        f"trace of replication 0 with 3 draft tokens, complete: {trace}; open it in ui.perfetto.dev",
        f"written to {tmp_path / 'new'}/",
    ]
    steps = [event for event in json.loads(trace.read_text())["traceEvents"] if event["pid"] == 1]
    assert sum(event["ph"] == "X" for event in steps) == len(pd.read_csv(tmp_path / "new" / "steps-3.csv"))


def test_neither_is_done_unasked(command, tmp_path, monkeypatch):
    monkeypatch.setattr("specsim.studies.simulate.run.violations_of_all", lambda *_: ["checked"])
    code, out, _ = command("simulate", DEMO, *SMALL, "--out", tmp_path / "new")
    assert code == 0
    assert "checked" not in out
    assert "trace" not in out


def test_a_broken_run_is_a_mistake_of_the_simulator(command, tmp_path, monkeypatch):
    monkeypatch.setattr("specsim.studies.simulate.run.violations_of_all", lambda *_: ["step 3: computes no token"])
    trace = tmp_path / "trace.json"
    code, out, err = command("simulate", DEMO, *SMALL, "--check", "--trace", trace, "--out", tmp_path / "new")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "specsim: a simulator bug; nothing was written. Replication 0 without speculation violates invariants:",
        "  step 3: computes no token",
    ]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "force", "told"),
    [("", False, "is a folder"), ("trace.json", False, "--force"), ("no/t.json", True, "cannot")],
)
def test_a_trace_that_cannot_be_written_is_refused_before_anything_runs(
    command, tmp_path, monkeypatch, place, force, told
):
    monkeypatch.setattr("specsim.studies.simulate.run.simulation_of", None)
    (tmp_path / "trace.json").write_text("mine")
    arguments = ("--trace", tmp_path / place, "--out", tmp_path / "new", *["--force"] * force)
    code, out, err = command("simulate", DEMO, *SMALL, *arguments)
    assert (code, out) == (2, "")
    assert "--trace is" in err
    assert told in err
    assert (tmp_path / "trace.json").read_text() == "mine"


def test_requests_have_their_latencies(command, tmp_path):
    assert command("simulate", DEMO, *SMALL, "--out", tmp_path / "new").code == 0
    table, close = (
        pd.read_csv(tmp_path / "new" / "requests-3.csv"),
        {"check_names": False, "check_dtype": False, "atol": 1e-9},
    )
    latencies = ["queue_s", "ttft_s", "tpot_s", "e2e_s"]
    accepted = [f"accepted_{number}" for number in range(4)]
    assert table.columns[-10:].tolist() == [*latencies, "tokens_per_s", "acceptance_length", *accepted]
    pd.testing.assert_series_equal(table.tokens_per_s, 1 / table.tpot_s, check_names=False)
    verifies = table[accepted].sum(axis=1)
    received = sum((1 + number) * table[name] for number, name in enumerate(accepted))
    pd.testing.assert_series_equal(table.acceptance_length, received / verifies, check_names=False)
    assert (received >= 15).all()  # all but the first token come from verifies, and the last may yield more
    pd.testing.assert_series_equal(table.queue_s, table.admitted - table.arrival, **close)
    pd.testing.assert_series_equal(table.ttft_s + 15 * table.tpot_s, table.e2e_s, **close)
    pd.testing.assert_series_equal(table.e2e_s, table.finish - table.arrival, **close)
