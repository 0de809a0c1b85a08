"""Workers that are killed, disks that are full, names that are too long, files that are none: one message each."""

import os
import signal

import pandas as pd
import pytest

from specsim.studies.shared import executors
from specsim.studies.shared.executors import LostWorkerError, Workers, spread

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "curve.batches=[1, 4]", "--set", "curve.num_draft_tokens=[2]", "--set", "curve.replications=2"),
    *("--set", "workload.lengths.output_tokens=16", "--set", "workload.num_requests=24"),
    *("--set", "workload.load.concurrency=4"),
)
TABLE = """\
sweep,load_kind,load,num_requests,prompt_tokens,output_tokens,num_draft_tokens,metric,baseline,with_speculation
mine,concurrency,1,4,90,16,2,output_tokens_per_s,150,250
mine,concurrency,4,8,90,16,2,output_tokens_per_s,500,700
"""


def killed_by_the_third(i):
    if i == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return i


@pytest.mark.slow
def test_a_killed_worker_is_an_interruption_with_its_cause(caplog):
    found = []
    with pytest.raises(LostWorkerError):
        found.extend(spread(killed_by_the_third, [(i,) for i in range(6)], Workers(jobs=2)))
    assert isinstance(LostWorkerError(), KeyboardInterrupt)
    assert "was ended by the system, most often for want of memory" in caplog.text


@pytest.fixture
def dying(monkeypatch):
    """Makes a module lose its worker after a number of results."""

    def lose(module, number):
        def lost(function, arguments, where):
            for done, (i, one) in enumerate(enumerate(arguments)):
                if done == number:
                    raise LostWorkerError
                yield i, function(*one)

        monkeypatch.setattr(module, "spread", lost)

    return lose


@pytest.mark.slow
def test_of_a_curve_there_is_what_was_finished(command, tmp_path, dying):
    from specsim.studies.shared import points

    dying(points, 3)
    code, _, err = command("curve", DEMO, *SMALL, "--jobs", "1", "--out", tmp_path / "new")
    assert (code, err) == (130, "interrupted; 3 of 6 points missing, at batch 4\n")
    assert len(pd.read_csv(tmp_path / "new" / "curve.csv")) >= 2


@pytest.mark.slow
def test_of_measurements_those_that_were_simulated_are_compared(command, tmp_path, dying):
    from specsim.studies.accuracy.validate import run

    (tmp_path / "table.csv").write_text(TABLE)
    dying(run, 3)
    out = tmp_path / "new"
    tables = ("--measurements", tmp_path / "table.csv", "--scenario", DEMO, "--jobs", "1", "--out", out)
    code, _, err = command("validate", *tables)
    assert (code, err) == (130, "interrupted; 1 of 2 rows not simulated\n")
    rows = pd.read_csv(out / "accuracy.csv")
    assert rows["predicted_speedup"].notna().sum() == 1
    assert "the command was interrupted before it was simulated" in (out / "accuracy.md").read_text()


def test_a_plan_keeps_the_arms_that_were_measured(command, tmp_path, dying):
    from specsim.studies.plan import run

    dying(run, 1)
    lengths = "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}"
    few = ("--set", lengths, "--set", "plan={width: 0.2, seeds: 3, min_requests: 300}", "--slo", "e2e:2 s")
    code, out, err = command("plan", DEMO, *few, "--num-draft-tokens", "2", "--out", tmp_path / "new")
    assert (code, err.splitlines()[-1][:11]) == (130, "interrupted")
    assert "serves" in out
    assert len(pd.read_csv(tmp_path / "new" / "plan.csv")) == 1


LONG = "x" * 300


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", f"/tmp/{LONG}"], "--out is '/tmp/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...': File name too long; name"),
        (["--context", str(10**19)], "--context is 10000000000000000000: contexts go up to 10,000,000 tokens"),
        (["--set", "slo={ttft: 1e9999999999999999999 s}"], "must be finite and not negative"),
        (["--set", "deployment={[a]: 1}"], "a key is a list or a mapping; write a single word"),
    ],
)
def test_bad_values(command, arguments, said):
    code, out, err = command("cost", DEMO, *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_no_table_of_measurements(command):
    code, _, err = command("validate", "--measurements", "")
    assert code == 2
    assert "--measurements is ''" in err


def test_a_sweep_without_the_extra_that_it_needs(command, tmp_path, monkeypatch):
    monkeypatch.setattr("specsim.inputs.measured.operator_tables.find_spec", lambda name: None)
    grid = tmp_path / "grid.yaml"
    grid.write_text(f"scenario: {DEMO}\nname: g\nfields: {{deployment.costs: [roofline, aiconfigurator]}}\n")
    code, _, err = command("sweep", grid, "--out", tmp_path / "new")
    assert code == 2
    assert "pip install 'specsim-llm[operators]'" in err


def test_a_trace_that_cannot_be_written_leaves_the_result(command, tmp_path):
    """The folder of the trace goes while the run does; what was simulated is printed, and lies where it belongs."""
    place = tmp_path / "gone"
    place.mkdir()

    def removed(*_, **__):
        place.rmdir()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("specsim.studies.simulate.single_runs.write_trace", removed)
        options = ("--trace", place / "trace.json", "--out", tmp_path / "new")
        code, out, err = command("simulate", DEMO, *SMALL, "--set", "run.replications=2", *options)
    assert code == 2
    assert "--trace is" in err
    assert f"The result itself is complete, above and in {tmp_path / 'new'}/" in err
    assert "trace of replication" not in out
    assert (tmp_path / "new" / "summary.json").exists()


def test_a_full_disk_says_so_and_keeps_the_earlier_result(command, tmp_path, monkeypatch):
    out = tmp_path / "new"
    assert command("cost", DEMO, "--out", out).code == 0
    before = {file.name: file.read_bytes() for file in out.iterdir()}

    def full(*_, **__):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("pandas.DataFrame.to_csv", full)
    code, _, err = command("cost", DEMO, "--batch", "8", "--out", out, "--force")
    assert code == 2
    assert "cannot be written (No space left on device)" in err
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert [place.name for place in tmp_path.iterdir()] == ["new"]


def test_one_process_is_this_one():
    assert list(executors.spread(killed_by_the_third, [(0,), (1,)], Workers(jobs=1))) == [(0, 0), (1, 1)]
