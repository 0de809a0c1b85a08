"""What a user sees of a run, wherever it is started from."""

import os
import subprocess
import sys

import pytest

SMALL = (
    *("--set", "curve.batches=[1,4]"),
    *("--set", "curve.num_draft_tokens=[3]"),
    *("--set", "curve.replications=2"),
    *("--set", "run.replications=2"),
    *("--set", "workload.num_requests=8", "--set", "workload.load.concurrency=4"),
    *("--set", "workload.lengths.output_tokens=16"),
)
DEMO = "llama3.1-8b-h100-eagle3"


@pytest.mark.slow
def test_the_answer_comes_first(command, tmp_path):
    code, out, err = command("curve", DEMO, *SMALL, "--jobs", "1", "--out", tmp_path / "new")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("With 3 draft tokens speculation pays at every batch simulated, 1 to 4: ")
    assert lines[-1] == f"written to {tmp_path / 'new'}/"
    assert (tmp_path / "new" / "answer.txt").read_text().splitlines()[0] == lines[0]


def test_simulate_answers_first(command, tmp_path):
    code, out, err = command("simulate", DEMO, *SMALL, "--out", tmp_path / "new")
    assert (code, err) == (0, "")
    assert out.startswith("At 4 concurrent requests, 3 draft tokens change output ")


@pytest.mark.slow
@pytest.mark.parametrize(("job", "suffix"), [("curve", ""), ("simulate", "-simulate")])
def test_without_out_the_scenario_names_the_folder(command, tmp_path, monkeypatch, job, suffix):
    monkeypatch.chdir(tmp_path)
    assert command(job, DEMO, *SMALL, "--set", "name=mine", *(["--jobs", "1"] if not suffix else [])).code == 0
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == [f"mine{suffix}"]


@pytest.mark.slow
def test_with_force_a_shorter_result_leaves_no_file_of_the_longer_one(command, tmp_path):
    folder = tmp_path / "new"
    for length in (3, 5):
        policy = f"speculation.policy.num_draft_tokens={length}"
        assert command("simulate", DEMO, *SMALL, "--set", policy, "--out", folder, "--force").code == 0
        tables = {file.name for file in folder.glob("*.csv")}
        assert tables == {f"{kind}-{k}.csv" for kind in ("requests", "steps") for k in (0, length)}


@pytest.mark.slow
def test_names_of_any_letters(command, tmp_path):
    file = tmp_path / "größe [x] 多" / "мой.yaml"
    file.parent.mkdir()
    file.write_text("extends: llama3.1-8b-h100-eagle3\n", encoding="utf-8")
    described = ("--set", "description=Größe γ [bold] $\\frac$")
    code, out, err = command("curve", file, *SMALL, *described, "--jobs", "1", "--out", file.parent / "out")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"written to {file.parent / 'out'}/"
    assert r"Größe γ [bold] $\frac$" in (file.parent / "out" / "scenario.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_as_a_module_and_into_a_pipe_that_closes(tmp_path):
    command = f"{sys.executable} -m specsim theory | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.slow
def test_a_terminal_without_greek_letters(tmp_path):
    plain = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "COLUMNS": "40", "TERM": "dumb"}
    arguments = [sys.executable, "-m", "specsim", "theory", "--alpha", "0.8", "--gamma", "4"]
    done = subprocess.run(arguments, capture_output=True, timeout=60, cwd=tmp_path, env=plain)
    assert done.returncode == 0, done.stderr
    assert "2.80" in done.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("job", ["curve", "simulate", "decide", "plan", "map", "sensitivity", "cost"])
def test_what_a_result_is_made_from_is_not_replaced(command, tmp_path, job):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(f"extends: {DEMO}\nname: mine\n")
    code, out, err = command(job, scenario, "--out", tmp_path, "--force")
    assert (code, out) == (2, "")
    assert "holds scenario.yaml, an input that would be overwritten; name another folder with --out" in err
    assert scenario.read_text().startswith("extends: ")
