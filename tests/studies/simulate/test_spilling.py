"""Rows that go to disk while a run goes on leave the results that rows in memory leave."""

import pytest

from specsim.engine import run
from specsim.engine.record import Recorder

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "run.replications=3"),
    *("--set", "workload.num_requests=24", "--set", "workload.load.concurrency=4"),
    *("--set", "workload.lengths={kind: uniform, prompt: [5, 50], output: [4, 40]}"),
    "--rounds",
)


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_results_are_the_same_byte_for_byte(command, tmp_path, monkeypatch, form):
    """With logs of two steps that are written away each time, and with rows held until the end."""
    if form == "parquet":
        pytest.importorskip("pyarrow")
    taken, take = [], Recorder.take

    def counted(self, replica):
        taken.append(self)
        take(self, replica)

    with monkeypatch.context() as patch:
        patch.setattr("specsim.studies.simulate.single_runs.run_folders", lambda scratch: lambda k, replication: None)
        assert command("simulate", DEMO, *SMALL, "--format", form, "--out", tmp_path / "held").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(run, "LOG_STEPS", 2)
        patch.setattr(Recorder, "take", counted)
        assert command("simulate", DEMO, *SMALL, "--format", form, "--out", tmp_path / "spilt").code == 0
    assert len(taken) > 100
    held, spilt = files(tmp_path / "held"), files(tmp_path / "spilt")
    assert held == spilt
    assert {f"{kind}-3.{form}" for kind in ("requests", "steps", "rounds")} < set(spilt)
    assert {path.name for path in tmp_path.iterdir()} == {"held", "spilt"}  # nothing of the scratch is left


def test_rows_in_files_are_not_held_in_memory(monkeypatch, tmp_path):
    from specsim.inputs.read.scenario import load_scenario
    from specsim.simulation.replica import Simulation

    inputs = load_scenario(DEMO)
    load = inputs.scenario.workload.load
    kept = Simulation(inputs).run(load, num_draft_tokens=3, num_requests=32, replication=0, spill=tmp_path)
    for column in (kept.steps.start, kept.steps.parts, kept.steps.used, kept.steps.num_emitted, kept.rounds.step):
        assert not column.flags.owndata
        assert not column.flags.writeable
    rows = len(kept.steps.start)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    rounds = 7 * 8 * len(kept.rounds.step)
    assert sizes == {"spans": 16 * rows, "parts": 56 * rows, "used": 24 * rows, "counts": 64 * rows, "rounds": rounds}
