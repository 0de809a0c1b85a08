"""``specsim optimize``: an answer with its files, which plan to the same, and what it refuses."""

import json
import shlex

import pandas as pd
import pytest
import yaml

from specsim.studies.optimize import finalists, proposals, short_runs

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
QUICK = (
    *("--set", "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}"),
    *("--set", "plan={width: 0.2, seeds: 3, min_requests: 300}"),
    *("--slo", "ttft:100 e2e.p90:300"),
)
SMALL = (
    *QUICK,
    *("--tensor-parallel", "1,3", "--max-num-seqs", "8,32", "--token-budget", "512"),
    *("--num-draft-tokens", "2", "--policies", "none,static"),
)
FILES = {
    *("answer.txt", "engine.yaml", "optimize.csv", "optimize.json", "optimize.png", "optimize.svg"),
    *("manifest.json", "provenance.json", "scenario.yaml", "vllm.txt"),
}


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A search among four combinations, two of which are measured as a plan does."""
    import sys

    from specsim.cli.main import main

    out = tmp_path_factory.mktemp("optimize") / "found"
    before = sys.argv
    sys.argv = ["specsim", "optimize", DEMO, *SMALL, "--set", "optimize.finalists=2", "--price", "3.6", "--jobs", "1"]
    sys.argv += ["--checkpoint", "org/head", "--out", str(out)]
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    assert not stop.value.code
    return out


def test_it_answers_and_leaves_its_files(folder):
    assert {path.name for path in folder.iterdir()} == FILES
    answer = (folder / "answer.txt").read_text()
    assert answer.startswith("Cheapest within TTFT p99 of 100 ms and E2E p90 of 300 ms: TP 1, ")
    assert "4 of 8 combinations can run; short runs measured all 4." in answer
    assert "Left out 4 combinations: TP 3: deployment.tensor_parallel is 3: " in answer
    assert "Figures of the 3 finalists, including the scenario as it stands, come from the seeds of specsim" in answer
    found, table = json.loads((folder / "optimize.json").read_text()), pd.read_csv(folder / "optimize.csv")
    assert table["fidelity"].value_counts().to_dict() == {"final": 3, "short": 4, "none": 4}
    assert (table.loc[table["fidelity"] == "none", "state"] == "left out").all()
    best = found["finalists"][0]
    devices = best["tensor_parallel"] / (best["requests_per_s"] * 16) * 1e6
    assert best["gpu_seconds_per_million_tokens"] == pytest.approx(devices)
    assert best["dollars_per_million_tokens"] == pytest.approx(devices / 1000)  # 3.6 $ an hour


def test_what_to_paste_says_what_was_found(folder):
    best = json.loads((folder / "optimize.json").read_text())["finalists"][0]
    words = shlex.split((folder / "vllm.txt").read_text().splitlines()[-1])
    flags = dict(zip(words[::2], words[1::2], strict=True))
    assert flags["--tensor-parallel-size"] == str(best["tensor_parallel"])
    assert flags["--max-num-seqs"] == str(best["max_num_seqs"])
    assert flags["--max-num-batched-tokens"] == str(best["token_budget"])
    if best["num_draft_tokens"]:
        config = json.loads(flags["--speculative-config"])
        assert config == {"method": "eagle3", "model": "org/head", "num_speculative_tokens": best["num_draft_tokens"]}


def test_planning_the_scenario_that_it_leaves_gives_the_same_bound(folder, command, tmp_path):
    best = json.loads((folder / "optimize.json").read_text())["finalists"][0]
    assert yaml.safe_load((folder / "scenario.yaml").read_text())["deployment"]["engine"] == "engine.yaml"
    assert command("plan", folder / "scenario.yaml", "--jobs", "1", "--out", tmp_path / "plan").code == 0
    plan = json.loads((tmp_path / "plan" / "plan.json").read_text())
    [arm] = [arm for arm in plan["arms"] if (arm["num_draft_tokens"]) == best["num_draft_tokens"]][:1]
    assert arm["requests_per_s"] == best["requests_per_s"]
    assert arm["rates_by_seed"] == best["rates_by_seed"]


def test_the_same_bytes_whatever_the_processes(command, tmp_path):
    pytest.importorskip("optuna")
    for jobs in (1, 2):
        arguments = (*SMALL, "--max-num-seqs", "8,12,16,24,32", "--trials", "4", "--set", "optimize.finalists=2")
        assert command("optimize", DEMO, *arguments, "--jobs", jobs, "--out", tmp_path / str(jobs)).code == 0
    one, two = (read(tmp_path / jobs) for jobs in ("1", "2"))
    assert json.loads(one["optimize.json"])["proposed_by_optuna"]
    assert one == two


def test_without_a_price_costs_are_gpu_seconds(command, tmp_path):
    space = ("--tensor-parallel", "1", "--max-num-seqs", "8", "--token-budget", "512", "--policies", "none")
    code, out, _ = command("optimize", DEMO, *QUICK, *space, "--jobs", "1", "--out", tmp_path / "new")
    assert code == 0
    assert "GPU-seconds per million output tokens" in out.splitlines()[0]
    assert "No price is given, so costs are GPU-seconds; give the price of a GPU-hour with --price." in out
    assert "is not among the combinations and costs less" in out.splitlines()[0]
    assert "--speculative-config" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tensor-parallel", "0"), ["--tensor-parallel is '0'", "whole number above 0"]),
        (("--tensor-parallel", "-2"), ["--tensor-parallel is '-2'", "whole number"]),
        (("--tensor-parallel", "1,2,2"), ["--tensor-parallel", "each value once"]),
        (("--max-num-seqs", "64,x,", "--token-budget", "y"), ["is 'x'", "has an empty entry", "--token-budget is 'y'"]),
        (("--max-num-seqs", "65536"), ["--max-num-seqs", "less than or equal to 65535"]),
        (("--token-budget", "8192,2048"), ["--token-budget", "must ascend"]),
        (("--policies", "none,magic"), ["--policies", "'none'", "'schedule'", "'static'"]),
        (("--policies", "none,none"), ["--policies", "twice"]),
        (("--trials", "0"), ["--trials is 0", "greater than or equal to 1"]),
        (("--num-draft-tokens", "0"), ["--num-draft-tokens is '0'", "whole number above 0"]),
        (("--slo", "tft:3", "--price", "-1", "--trials", "0"), ["unknown latency", "--price", "--trials"]),
        (("--set", "slo={}"), ["has no limit; add --slo"]),
        (("--tensor-parallel", "3,5"), ["TP 3: ", "TP 5: ", "can never run"]),
        (("--max-num-seqs", "1024", "--token-budget", "512"), ["token budget 512 is less than max_num_seqs 1024"]),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_simulated(command, tmp_path, arguments, said):
    code, out, err = command("optimize", DEMO, *arguments, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    for words in said:
        assert words in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("scenario", "said"),
    [("llama3.1-8b-4xh100-fleet", "fleet: "), ("llama3.1-8b-h100-eagle3-tree", "speculation.tree: ")],
)
def test_fleets_and_trees_are_refused(command, tmp_path, scenario, said):
    code, out, err = command("optimize", scenario, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert said in err


def test_a_large_space_without_optuna_says_what_to_install(command, tmp_path, monkeypatch):
    monkeypatch.setattr(proposals, "find_spec", lambda name: None)
    code, out, err = command("optimize", DEMO, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "needs optuna, which is not installed; install specsim-llm[optimize]" in err


def after(monkeypatch, owner, calls):
    measure, done = owner.measure_or_say, []

    def interrupted(*arguments):
        if len(done) == calls:
            raise KeyboardInterrupt
        done.append(1)
        return measure(*arguments)

    monkeypatch.setattr(owner, "measure_or_say", interrupted)


def test_an_interrupted_search_leaves_its_trials(command, tmp_path, monkeypatch):
    after(monkeypatch, short_runs, 2)
    arguments = (*SMALL, "--set", "optimize.finalists=2", "--jobs", "1", "--out", tmp_path / "new")
    code, out, err = command("optimize", DEMO, *arguments)
    assert (code, err.splitlines()[-1]) == (130, "interrupted; 2 trials and 0 finalists were finished")
    assert out.startswith("Interrupted before the finalists were measured: the cheapest of 2 short runs so far is")
    table = pd.read_csv(tmp_path / "new" / "optimize.csv")
    assert (table["fidelity"] == "short").sum() == 2
    assert not (tmp_path / "new" / "scenario.yaml").exists()


def test_interrupted_finals_leave_those_that_are_finished(command, tmp_path, monkeypatch):
    after(monkeypatch, finalists, 1)
    arguments = (*SMALL, "--set", "optimize.finalists=2", "--jobs", "1", "--out", tmp_path / "new")
    code, out, err = command("optimize", DEMO, *arguments)
    assert (code, err.splitlines()[-1]) == (130, "interrupted; 4 trials and 1 finalist were finished")
    assert "Interrupted: combinations not measured may be cheaper." in out
    assert (tmp_path / "new" / "scenario.yaml").exists()


def test_before_anything_is_finished_nothing_is_written(command, tmp_path, monkeypatch):
    after(monkeypatch, short_runs, 0)
    arguments = (*SMALL, "--set", "optimize.finalists=2", "--jobs", "1", "--out", tmp_path / "new")
    code, _, err = command("optimize", DEMO, *arguments)
    assert (code, err) == (130, "interrupted; nothing was written\n")
    assert not list(tmp_path.iterdir())


def test_the_scenario_and_profile_that_it_left_are_not_written_over(folder, command):
    before = read(folder)
    code, _, err = command("optimize", folder / "scenario.yaml", "--out", folder, "--force")
    assert code == 2
    assert "engine.yaml" in err
    assert "an input that would be overwritten" in err
    assert read(folder) == before
