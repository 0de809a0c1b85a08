"""``specsim sweep``: tables whose bytes depend on the grid alone, whatever was interrupted, kept or run elsewhere."""

import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from specsim.analysis.run_metrics import METRICS
from specsim.studies.simulate.run import simulate_load
from specsim.studies.sweep import cells

pytestmark = pytest.mark.slow

GRID = """
name: test
scenario: llama3.1-8b-h100-eagle3
set: {{workload.num_requests: {requests}, workload.lengths.output_tokens: 8}}
fields:
  workload.load.concurrency: [2, 4, 8]
  speculation.policy.num_draft_tokens: [1, 3]
replications: 2
"""
TABLES = {"runs.csv", "summary.csv"}
FILES = TABLES | {"answer.txt", "manifest.json", "grid.yaml", "provenance.json", "sweep.png", "sweep.svg"}


@pytest.fixture
def grid(tmp_path):
    file = tmp_path / "grid.yaml"
    file.write_text(GRID.format(requests=16))
    return file


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def start(*arguments):
    command = [sys.executable, "-m", "specsim", "sweep", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_cells(folder, number):
    deadline = time.monotonic() + 300  # compiling comes first where nothing is kept
    while len(list(folder.glob("cells/*.cell"))) < number and time.monotonic() < deadline:
        time.sleep(0.01)


def test_tables_are_tidy(command, grid, tmp_path):
    code, out, err = command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new")
    assert (code, err) == (0, "")
    assert out.startswith(
        "Speculation pays in 2 of 6 cells and is undecided in 4 (intervals include 1): output throughput is 1."
    )
    assert "± and [ , ] are 95 % intervals over 2 replications of each cell, paired by seed.\n" in out
    assert set(files_in(tmp_path / "new")) == FILES
    runs, summary = (pd.read_csv(tmp_path / "new" / name) for name in ("runs.csv", "summary.csv"))
    assert len(runs) == 6 * 2 * 2
    assert len(summary) == 6 * 2
    fields = ["workload.load.concurrency", "speculation.policy.num_draft_tokens"]
    assert list(runs.columns[:6]) == ["cell", *fields, "arm", "num_draft_tokens", "replication"]
    assert not runs.duplicated(["cell", "arm", "replication"]).any()
    for metric in METRICS:
        means = runs.groupby(["cell", "num_draft_tokens"])[metric.label].mean().to_numpy()
        np.testing.assert_allclose(means, summary[metric.label], rtol=1e-8)  # tables carry ten digits
    paired = runs.pivot(index=["cell", "replication"], columns="arm", values="output tokens/s")
    by_hand = (paired["with"] / paired["without"]).groupby("cell").agg(lambda ratio: ratio.prod() ** (1 / len(ratio)))
    drafted = summary[summary["arm"] == "with"].set_index("cell")
    np.testing.assert_allclose(drafted["speedup"], by_hand, rtol=1e-8)
    assert summary[summary["arm"] == "without"]["speedup"].isna().all()
    assert runs["error"].isna().all()


def test_a_repeated_sweep_is_free_and_the_same(command, grid, tmp_path, monkeypatch):
    assert command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new").code == 0
    first = files_in(tmp_path / "new")
    monkeypatch.setattr(cells, "simulate_load", None)
    code, out, _ = command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new")
    assert code == 0
    assert "6 cells reused, 0 simulated" in out
    assert files_in(tmp_path / "new") == first


def test_killed_in_the_middle_it_goes_on_and_gives_the_same(command, tmp_path):
    grid = tmp_path / "grid.yaml"
    grid.write_text(GRID.format(requests=600))
    killed = tmp_path / "killed"
    process = start(grid, "--jobs", "1", "--out", killed)
    wait_for_cells(killed, 2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    left = len(list(killed.glob("cells/*.cell")))
    assert 2 <= left < 6
    assert not files_in(killed)
    (killed / "cells" / ".half-written-1").write_text("anything")
    code, out, _ = command("sweep", grid, "--jobs", "1", "--out", killed)
    assert code == 0
    assert f"{left} cells reused, {6 - left} simulated" in out
    assert command("sweep", grid, "--jobs", "1", "--out", tmp_path / "whole").code == 0
    assert files_in(killed) == files_in(tmp_path / "whole")


def test_two_processes_give_the_same_and_an_interruption_says_what_is_missing(command, tmp_path):
    grid = tmp_path / "grid.yaml"
    grid.write_text(GRID.format(requests=600).replace("[1, 3]", "[1, 2, 3, 4, 5]"))
    process = start(grid, "--jobs", "2", "--out", tmp_path / "two")
    wait_for_cells(tmp_path / "two", 3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: workers hear it too
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    missing = 15 - len(list(tmp_path.glob("two/cells/*.cell")))
    assert f"interrupted; {missing} of 15 cells missing; run again to continue\n" in err
    assert f"{missing} cells of 15 have no result:" in out
    partial = pd.read_csv(tmp_path / "two" / "runs.csv")
    assert (partial["error"] == "not simulated: interrupted").sum() == missing
    process = start(grid, "--jobs", "2", "--out", tmp_path / "two")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert command("sweep", grid, "--jobs", "1", "--out", tmp_path / "one").code == 0
    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")


@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_a_cluster_gives_the_same(command, grid, tmp_path, backend):
    if find_spec(backend) is None:
        pytest.skip(f"needs {backend}, which is not installed (extra: {backend}; make test-backends installs it)")
    process = start(grid, "--backend", backend, "--jobs", "2", "--out", tmp_path / backend)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert command("sweep", grid, "--jobs", "1", "--out", tmp_path / "here").code == 0
    assert files_in(tmp_path / backend) == files_in(tmp_path / "here")


def test_a_running_cluster_is_used(grid, tmp_path):
    if find_spec("dask") is None:
        pytest.skip("needs dask, which is not installed (extra: dask; make test-backends installs it)")
    script = (
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        input()\n"
    )
    file = tmp_path / "cluster.py"
    file.write_text(script)
    cluster = subprocess.Popen([sys.executable, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        address = cluster.stdout.readline().strip()
        process = start(grid, "--backend", "dask", "--address", address, "--out", tmp_path / "new")
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "0 cells reused, 6 simulated" in out
    finally:
        cluster.communicate("\n", timeout=60)


def test_failed_cells_are_listed_and_the_exit_code_is_1(command, grid, tmp_path, monkeypatch):
    def breaks(inputs):
        if inputs.scenario.workload.load.concurrency == 4:
            raise RuntimeError("out of luck")
        return simulate_load(inputs)

    monkeypatch.setattr(cells, "simulate_load", breaks)
    code, out, _ = command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new")
    assert code == 1
    assert "2 cells of 6 have no result:" in out
    assert "num_draft_tokens 1 and 1 more: RuntimeError: out of luck" in out
    for name, rows in (("runs.csv", 4 * 4 + 2), ("summary.csv", 4 * 2 + 2)):
        table = pd.read_csv(tmp_path / "new" / name)
        assert len(table) == rows
        failed = table[table["error"].notna()]
        assert failed["workload.load.concurrency"].tolist() == [4, 4]
        assert failed["error"].unique().tolist() == ["RuntimeError: out of luck"]
        assert failed["output tokens/s"].isna().all()


def test_where_every_cell_fails_the_tables_say_so(command, grid, tmp_path):
    grid.write_text(grid.read_text().replace("output_tokens: 8", "prompt_tokens: 10000000"))
    code, out, _ = command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new")
    assert code == 1
    assert out.startswith("None of 6 cells has a result.")
    assert len(pd.read_csv(tmp_path / "new" / "summary.csv")) == 6


def test_where_a_rate_is_offered_latencies_are_compared(command, grid, tmp_path):
    """Throughput is what is offered, with and without."""
    load = "workload.load: [{kind: poisson, rate: 2 requests/s}, {kind: poisson, rate: 4 requests/s}]"
    grid.write_text(grid.read_text().replace("workload.load.concurrency: [2, 4, 8]", load))
    code, out, err = command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new")
    assert (code, err) == (0, "")
    assert "median TPOT without over with speculation is 1." in out.splitlines()[0]
    summary = pd.read_csv(tmp_path / "new" / "summary.csv")
    runs = pd.read_csv(tmp_path / "new" / "runs.csv").pivot(
        index=["cell", "replication"], columns="arm", values="TPOT p50 [ms]"
    )
    by_hand = np.exp(np.log(runs["without"] / runs["with"]).groupby("cell").mean())
    drafted = summary[summary["arm"] == "with"]
    np.testing.assert_allclose(drafted["TPOT speedup"], by_hand, rtol=1e-8)
    assert (drafted["TPOT speedup"] > 1.2).all()
    assert (drafted["speedup"] < 1.2).all()
    assert summary["rate is met"].all()


def test_parquet_holds_the_same(command, grid, tmp_path):
    pytest.importorskip("pyarrow", reason="needs pyarrow, which is not installed (extra: parquet)")
    for form in ("csv", "parquet"):
        assert command("sweep", grid, "--jobs", "1", "--format", form, "--out", tmp_path / form).code == 0
    for name in ("runs", "summary"):
        one = pd.read_csv(tmp_path / "csv" / f"{name}.csv")
        other = pd.read_parquet(tmp_path / "parquet" / f"{name}.parquet")
        assert list(one.columns) == list(other.columns)
        numbers = other.select_dtypes("number").columns
        assert len(numbers) > len(METRICS)
        pd.testing.assert_frame_equal(one[numbers], other[numbers], check_dtype=False, rtol=1e-9)


def test_results_of_something_else_are_not_overwritten(command, grid, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "summary.csv").write_text("mine")
    code, _, err = command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new")
    assert code == 2
    assert "exists already; add --force" in err
    assert (tmp_path / "new" / "summary.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cells", "/etc/passwd"], "--cells is '/etc/passwd': is a file; name a folder"),
        (
            ["--cells", "/proc/x"],
            "--cells is '/proc/x': cannot be written, since '/proc' is not writable; name another",
        ),
        (["--cells", ""], "--cells is '': is empty; name a folder, or leave it out"),
        (["--backend", "threads"], "--backend is 'threads': unknown; write loky, ray, dask"),
        (["--address", "tcp://here:1"], "--address is 'tcp://here:1': names a cluster; add --backend"),
        (["--set", "workload.load.concurrency=1"], "--set workload.load.concurrency: workload.load.concurrency varies"),
    ],
)
def test_options_that_cannot_be(command, grid, tmp_path, arguments, said):
    code, out, err = command("sweep", grid, *arguments, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "new").exists()


def test_every_mistake_among_the_options_is_told(command, grid, tmp_path):
    options = ("--backend", "spark", "--format", "xlsx", "--cells", "/etc/passwd", "--out", grid)
    code, out, err = command("sweep", "no-such-grid", *options)
    assert (code, out) == (2, "")
    assert "(5 problems)" in err
    assert all(f"{option} is " in err for option in options[::2])
    assert "no-such-grid" in err


def test_where_every_cell_is_invalid_nothing_is_written(command, grid, tmp_path):
    grid.write_text(grid.read_text().replace("[2, 4, 8]", "[0, -1]"))
    code, out, err = command("sweep", grid, "--skip-invalid", "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "workload.load.concurrency is 0, -1" in err
    assert "--skip-invalid" not in err
    assert not (tmp_path / "new").exists()


def test_an_interruption_before_a_cell_is_finished_writes_nothing(command, grid, tmp_path, monkeypatch):
    def interrupted(inputs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(cells, "simulate_load", interrupted)
        code, out, err = command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new")
    assert (code, out) == (130, "")
    assert err.endswith("interrupted; nothing was written\n")
    assert not (tmp_path / "new").exists()
    assert command("sweep", grid, "--jobs", "1", "--out", tmp_path / "new").code == 0


def test_an_extra_that_is_missing_is_named(command, grid, monkeypatch):
    from specsim.studies.shared import executors

    monkeypatch.setattr(executors, "find_spec", lambda package: None)
    code, _, err = command("sweep", grid, "--backend", "ray")
    assert code == 2
    assert "--backend is 'ray': is not installed; install specsim-llm[ray], or leave it out" in err


@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_a_cluster_that_does_not_answer_is_named(grid, tmp_path, backend):
    if find_spec(backend) is None:
        pytest.skip(f"needs {backend}, which is not installed (extra: {backend}; make test-backends installs it)")
    with socket.socket() as taken:  # bound and not listened to, so that nobody answers
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        process = start(grid, "--backend", backend, "--address", address, "--out", tmp_path / "new")
        _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith(f"  --address is '{address}': no {backend} cluster answers: ")
    assert not list(tmp_path.glob("new/*"))
