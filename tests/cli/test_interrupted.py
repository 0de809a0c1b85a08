"""Ctrl-C: what is finished is written and readable, what is missing is said, and the exit code is 130."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from specsim.simulation.replica import Simulation
from specsim.studies.shared import points

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "curve.batches=[1, 4]"),
    *("--set", "curve.num_draft_tokens=[2, 3]"),
    *("--set", "curve.replications=2"),
    *("--set", "run.replications=3"),
    *("--set", "workload.num_requests=24", "--set", "workload.load.concurrency=4"),
    *("--set", "workload.lengths.output_tokens=16"),
)


@pytest.fixture
def after(monkeypatch):
    """Interrupts a function's calls after so many; none counts as before the first."""

    def interrupt(owner, name, calls):
        function, done = getattr(owner, name), []

        def counted(*args, **kwargs):
            if len(done) == calls:
                raise KeyboardInterrupt
            done.append(1)
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    return interrupt


@pytest.mark.slow
@pytest.mark.parametrize(("calls", "finished"), [(2, 1), (3, 1), (5, 2)])
def test_of_a_load_the_replications_that_both_arms_finished_are_written(command, tmp_path, after, calls, finished):
    whole = command("simulate", DEMO, *SMALL, "--out", tmp_path / "whole")
    assert whole.code == 0
    after(Simulation, "run", calls)
    code, out, err = command("simulate", DEMO, *SMALL, "--out", tmp_path / "new")
    assert code == 130
    missing = 3 - finished
    assert err == f"interrupted; {missing} of 3 replications missing\n"
    assert out.splitlines()[1].startswith(f"Interrupted: {missing} of 3 replications missing")
    found = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert found["missing_replications"] == missing
    assert found["metrics"]["3"]["output tokens/s"]["n"] == finished
    # replication 0 is the one whose requests and steps are written
    for table in ("requests-0.csv", "requests-3.csv", "steps-3.csv"):
        assert (tmp_path / "new" / table).read_bytes() == (tmp_path / "whole" / table).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "new"}


def test_before_a_replication_is_finished_nothing_is(command, tmp_path, after):
    after(Simulation, "run", 1)
    code, _, err = command("simulate", DEMO, *SMALL, "--out", tmp_path / "new")
    assert (code, err) == (130, "interrupted; nothing was written\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_of_a_curve_the_points_that_are_finished_are_written(command, tmp_path, after):
    """Six points, the most work first: five are finished, of which one has a baseline that is not."""
    assert command("curve", DEMO, *SMALL, "--jobs", "1", "--out", tmp_path / "whole").code == 0
    after(points, "run_point", 5)
    code, out, err = command("curve", DEMO, *SMALL, "--jobs", "1", "--out", tmp_path / "new")
    assert code == 130
    assert err.startswith("interrupted; ")
    assert "of 6 points missing, at batch " in err
    assert out.startswith("Interrupted, no verdict: ")
    files = {path.name for path in (tmp_path / "new").iterdir()}
    assert files == {"curve.csv", "answer.txt", "scenario.yaml", "provenance.json", "manifest.json"}
    whole, found = (
        pd.read_csv(tmp_path / name / "curve.csv").set_index(["batch", "num_draft_tokens"]) for name in ("whole", "new")
    )
    assert 0 < len(found) < 6
    columns = [name for name in found.columns if name != "closed_form_speedup"]  # drawn as far as points go
    pd.testing.assert_frame_equal(found[columns], whole.loc[found.index, columns])


def test_a_curve_whose_grid_is_finished_is_whole_but_for_its_crossings(command, tmp_path, after):
    arguments = (*SMALL, "--set", "curve.batches=[1, 512]", "--set", "curve.num_draft_tokens=[3]")
    after(points, "run_point", 4)
    code, out, err = command("curve", DEMO, *arguments, "--jobs", "1", "--out", tmp_path / "new")
    assert (code, err.splitlines()[-1]) == (130, "interrupted; batches near the crossings missing")
    assert "speculation pays up to batch " in out.splitlines()[0]
    assert "crossings come from the batches below alone" in out
    assert (tmp_path / "new" / "curve.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_it(tmp_path, sent):
    """A real one, Ctrl-C's or a scheduler's, while replications of many requests go on."""
    arguments = [*SMALL, "--set", "workload.num_requests=2000", "--set", "run.replications=500"]
    command = [sys.executable, "-m", "specsim", "simulate", DEMO, *arguments, "--out", str(tmp_path / "new")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300  # compiling comes first where nothing is kept
    while not list(tmp_path.glob(".specsim-*/3-2")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, sent)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert " of 500 replications missing" in err
    assert json.loads((tmp_path / "new" / "summary.json").read_text())["missing_replications"] < 500
