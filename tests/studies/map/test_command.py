"""``specsim map``: what it answers and leaves, and what it refuses."""

import pandas as pd
import pytest
import yaml

from specsim.studies.shared import points

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "map.replications=2", "--set", "curve.min_requests=8", "--set", "curve.requests_per_slot=3"),
    *("--contexts", "64,256", "--batches", "2,512", "--num-draft-tokens", "3", "--jobs", "1"),
)
LOOKUPS = "speculation.drafter={kind: ngram, found: 0.6, host_time_per_step: 1 ms, host_time_per_sequence: 1 us}"
MODEL = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
FILES = {
    *("answer.txt", "breakeven.csv", "map.csv", "map.png", "map.svg"),
    *("manifest.json", "provenance.json", "scenario.yaml"),
}


def test_it_answers_and_leaves_its_files(command, tmp_path):
    code, out, err = command("map", DEMO, *SMALL, "--out", tmp_path / "new")
    assert code == 0
    assert err == ""
    answer, best, needed, cell = out.splitlines()[:4]
    assert answer.startswith("At 64 tokens of context speculation with 3 draft tokens pays up to batch ")
    assert "; at 256 tokens it pays up to batch " in answer
    assert best == (
        "Best number of draft tokens by batch: at 64 tokens 3 at 2; none at 512, and at 256 tokens 3 at 2; none at 512."
    )
    assert "pays from 1." in needed
    assert "tokens per verify on (α ≥ 0." in needed
    assert cell.startswith("Each cell is a closed loop of that many requests. Each request decodes 32 to 128 tokens")
    assert out.splitlines()[-1] == f"written to {tmp_path / 'new'}/"
    folder = tmp_path / "new"
    assert {path.name for path in folder.iterdir()} == FILES
    table, found = pd.read_csv(folder / "map.csv"), pd.read_csv(folder / "breakeven.csv")
    grid = table[table["batch"].isin([2, 512])]
    assert len(grid) == 8
    assert set(table["num_draft_tokens"]) == {0, 3}
    assert (table.loc[table["num_draft_tokens"] == 0, "speedup"] == 1).all()
    assert found["context"].tolist() == [64, 256]
    assert found["verdict"].tolist() == ["crosses"] * 2
    assert (found["batch_low"] <= found["batch"]).all()
    assert (found["batch"] <= found["batch_high"]).all()
    stated = yaml.safe_load((folder / "scenario.yaml").read_text())["map"]
    assert stated == {"contexts": [64, 256], "batches": [2, 512], "num_draft_tokens": [3], "replications": 2}
    assert out.startswith((folder / "answer.txt").read_text().splitlines()[0])


def test_the_resolved_scenario_gives_the_same_bytes_in_other_processes(command, tmp_path):
    for name, arguments in (("one", (DEMO, *SMALL)), ("two", (tmp_path / "one" / "scenario.yaml", "--jobs", "2"))):
        assert command("map", *arguments, "--out", tmp_path / name).code == 0
    one, two = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir() if file.name != "provenance.json"}
        for name in ("one", "two")
    )
    assert one == two


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--contexts", "512,200000"), ["--contexts is 200000: the target takes 131072 positions", "131060 or less"]),
        (("--contexts", "16,512"), ["--contexts is 16: is too short", "write 48 or more"]),
        (
            ("--contexts", "16,200000"),
            ["(2 problems)", "--contexts is 16", "--contexts is 200000"],
        ),
        (("--contexts", "512,256"), ["--contexts is [512, 256]: must ascend"]),
        (("--contexts", "512,512"), ["--contexts", "each value once"]),
        (("--contexts", "2k,512", "--batches", "1,x"), ["--contexts is '2k'", "--batches is 'x'", "whole number"]),
        (("--contexts", ""), ["--contexts is ''"]),
        (("--batches", "0,4"), ["--batches is '0': must be a whole number above 0"]),
        (("--batches", "1,100000"), ["--batches", "less than or equal to 65536"]),
        (("--num-draft-tokens", "1,99"), ["--num-draft-tokens", "less than or equal to 64"]),
        (("--set", "map.replications=1"), ["map.replications", "greater than or equal to 2"]),
        (("--set", "map=[1]"), ["map"]),
        (
            ("--contexts", "512,130000", "--set", "deployment.device=a100-sxm-40gb", "--set", MODEL),
            ["--contexts is 130000: the KV pool holds", "fewer than the longest request"],
        ),
        (("--set", "deployment.target=llama-3.1-405b", "--set", "speculation.drafter={kind: ngram, host_time_per_step: "
          "1 ms, host_time_per_sequence: 1 us}"), ["the weights need"]),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_said_before_anything_is_simulated(command, tmp_path, arguments, said):
    code, out, err = command("map", DEMO, *arguments, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    for words in said:
        assert words in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("scenario", "arguments", "said"),
    [
        ("llama3.1-8b-4xh100-fleet", (), "fleet: a map is that of one replica"),
        ("llama3.1-8b-4xh100-disaggregated", (), "fleet: a map is that of one replica"),
        (
            "llama3.1-8b-h100-eagle3-tree",
            ("--num-draft-tokens", "9"),
            "--num-draft-tokens is [9]: the tree has 5 levels",
        ),
    ],
)
def test_scenarios_that_have_no_such_map(command, tmp_path, scenario, arguments, said):
    code, out, err = command("map", scenario, *arguments, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert said in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("scenario", "arguments"),
    [
        ("llama3.1-8b-4xh100-fleet", ("--set", "fleet=null")),
        ("llama3.1-8b-h100-eagle3-tree", ("--num-draft-tokens", "2", "--set", "speculation.policy.num_draft_tokens=2")),
        ("azure-conversation-h100-eagle3", ("--set", "workload.load={kind: poisson, rate: 4 requests/s}")),
        (DEMO, ("--set", "speculation.policy.num_draft_tokens=0")),
        (DEMO, ("--set", LOOKUPS)),
        (DEMO, ("--set", "speculation.policy={kind: goodput, num_draft_tokens: 3}")),
    ],
)
def test_scenarios_of_other_kinds(command, tmp_path, scenario, arguments):
    small = (*SMALL[:6], "--contexts", "256", "--batches", "4", "--num-draft-tokens", "3", "--jobs", "1")
    code, out, err = command("map", scenario, *small, *arguments, "--out", tmp_path / "new")
    assert code == 0, err
    assert "speculation with" in out
    assert (tmp_path / "new" / "map.png").exists()


def test_an_interruption_leaves_the_contexts_that_are_finished(command, tmp_path, monkeypatch):
    run, calls = points.run_point, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len({call[0].scenario.workload.lengths for call in calls}) > 1:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(points, "run_point", interrupted)
    code, out, err = command("map", DEMO, *SMALL, "--out", tmp_path / "new")
    assert (code, err.splitlines()[-1]) == (130, "interrupted; 1 of 2 contexts are missing: 256 tokens")
    assert out.splitlines()[1] == "Interrupted: 1 of 2 contexts are missing: 256 tokens."
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES - {"map.png", "map.svg"}
    assert set(pd.read_csv(tmp_path / "new" / "map.csv")["context"]) == {64}


def test_an_interruption_before_any_is_finished_leaves_nothing(command, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(points, "run_point", interrupted)
    code, _, err = command("map", DEMO, *SMALL, "--out", tmp_path / "new")
    assert (code, err) == (130, "interrupted; nothing was written\n")
    assert not list(tmp_path.iterdir())


def test_an_earlier_result_stays_unless_it_is_forced(command, tmp_path):
    (tmp_path / "map.csv").write_text("mine")
    code, _, err = command("map", DEMO, *SMALL, "--out", tmp_path)
    assert code == 2
    assert "add --force" in err
    assert (tmp_path / "map.csv").read_text() == "mine"
