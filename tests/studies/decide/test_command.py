"""``specsim decide``: an answer with its files, the same bytes again, and bad input refused before any work."""

import json
import shlex

import pytest
import yaml

from specsim.studies.shared import points

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    *("--set", "workload.lengths={kind: fixed, prompt_tokens: 16, output_tokens: 32}"),
    *("--set", "curve={batches: [1, 512], num_draft_tokens: [5], replications: 3, requests_per_slot: 3}"),
    *("--set", "speculation.policy.num_draft_tokens=5", "--jobs", "1"),
)
FILES = {
    *("answer.txt", "curve.csv", "fixed_lengths.csv", "manifest.json", "provenance.json", "scenario.yaml"),
    *("decision.png", "decision.svg", "schedule.csv", "sglang.txt", "tensorrt-llm.yaml", "vllm.txt"),
}


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "provenance.json"}


def test_an_answer_and_its_files(command, tmp_path):
    code, out, _ = command("decide", DEMO, *SMALL, "--checkpoint", "org/head", "--out", tmp_path / "a")
    assert code == 0
    assert out.startswith("Set 5 draft tokens up to batch ")
    assert {path.name for path in (tmp_path / "a").iterdir()} == FILES
    flag, text = shlex.split((tmp_path / "a" / "vllm.txt").read_text())
    assert flag == "--speculative-config"
    table = json.loads(text)["num_speculative_tokens_per_batch_size"]
    (last,) = yaml.safe_load((tmp_path / "a" / "tensorrt-llm.yaml").read_text())["speculative_config"][
        "draft_len_schedule"
    ]
    assert table == {f"1-{last}": 5, f"{last + 1}-1024": 0}
    assert text.replace("\n", "") in out
    assert command("decide", DEMO, *SMALL, "--checkpoint", "org/head", "--out", tmp_path / "b").code == 0
    assert read(tmp_path / "a") == read(tmp_path / "b")


def test_a_scenario_takes_what_was_written(command, tmp_path):
    """vLLM's table goes back into a scenario as it stands."""
    assert command("decide", DEMO, *SMALL, "--out", tmp_path / "a").code == 0
    config = json.loads(shlex.split((tmp_path / "a" / "vllm.txt").read_text())[1])
    policy = {"kind": "schedule"} | {key: value for key, value in config.items() if key.endswith("per_batch_size")}
    settings = ("--set", f"speculation.policy={json.dumps(policy)}", "--set", "workload.num_requests=32")
    small = (
        "--set",
        "workload.lengths={kind: fixed, prompt_tokens: 16, output_tokens: 32}",
        "--set",
        "run.replications=2",
    )
    assert command("simulate", DEMO, *settings, *small, "--out", tmp_path / "b").code == 0


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("llama3.1-8b-4xh100-fleet", "engine settings are those of one replica; leave it out ('fleet: null'"),
        ("llama3.1-8b-h100-eagle3-tree", "engines' tables hold draft lengths of chains; take the tree out"),
    ],
)
def test_what_engines_have_no_tables_for(command, tmp_path, scenario, said):
    code, out, err = command("decide", scenario, "--out", tmp_path / "a")
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "a").exists()


def test_a_checkpoint_that_nothing_loads(command, tmp_path):
    code, _, err = command("decide", "qwen3.5-35b-a3b-h200-mtp", "--checkpoint", "org/x", "--out", tmp_path / "a")
    assert code == 2
    assert "--checkpoint: engines load no checkpoint for a drafter of kind mtp; leave it out" in err


def test_the_remedy_for_a_fleet_works(command, tmp_path):
    code, _, err = command("decide", "llama3.1-8b-4xh100-fleet", "--set", "fleet=null", *SMALL, "--out", tmp_path / "a")
    assert code == 0, err


def test_an_interruption_leaves_nothing(command, tmp_path, monkeypatch):
    run, calls = points.run_point, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(points, "run_point", interrupted)
    code, _, err = command("decide", DEMO, *SMALL, "--out", tmp_path / "a")
    assert code == 130
    assert "interrupted; nothing was written" in err
    assert not (tmp_path / "a").exists()


def test_a_checkpoint_without_a_name(command, tmp_path):
    code, _, err = command("decide", DEMO, "--checkpoint", " ", "--out", tmp_path / "a")
    assert code == 2
    assert "--checkpoint is ' ': is empty; name the checkpoint that you serve, or leave it out" in err
