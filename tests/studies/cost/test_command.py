"""One step on the command line: the answer first, a folder only where asked for, and what it refuses."""

import json

import pandas as pd
import pytest

from specsim.inputs.read import catalogue

DEMO = "llama3.1-8b-h100-eagle3"


def test_the_answer_comes_first(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("cost", DEMO, "--batch", "1,8,64", "--num-draft-tokens", "0,3")
    assert (code, err) == (0, "")
    assert out.startswith(
        "At batch 64 a step with 3 draft tokens takes 12.7 ms, 1.51 × one without (so it pays from 1.51 tokens per "
        "verify on), and yields 159 "
    )
    assert "420,496 tokens instead of 440,116" in out.splitlines()[1]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names("scenario"))
def test_every_scenario_by_its_own_policy(command, name, tmp_path):
    code, out, err = command("cost", name, "--out", tmp_path / "new")
    assert code == 0
    assert len(err.splitlines()) <= 1, "a warning at most, where matrices are smaller or steps larger than measured"
    assert out.splitlines()[-1] == f"written to {tmp_path / 'new'}/"
    assert max(len(line) for line in out.splitlines() if line[:1] in "┏┃┡│└├") <= 120, "the tables fit a terminal"
    table = pd.read_csv(tmp_path / "new" / "cost.csv")
    assert table["batch"].tolist() == [1, 1, 8, 8, 64, 64]
    parts = [f"{part}_s" for part in ("weights", "kv", "compute", "launch", "communication", "draft", "host")]
    # ten digits are written
    assert table[parts].sum(axis=1).to_numpy() == pytest.approx(table["step_s"].to_numpy(), rel=1e-8)


def test_what_is_written(command, tmp_path):
    arguments = ("cost", DEMO, "--batch", "4", "--num-draft-tokens", "0", "--out", tmp_path)
    assert command(*arguments).code == 0
    due = {*("answer.txt", "cost.csv", "cost.png", "cost.svg", "memory.csv")}
    due |= {*("manifest.json", "provenance.json", "scenario.yaml")}
    assert {file.name for file in tmp_path.iterdir()} == due
    assert len(pd.read_csv(tmp_path / "memory.csv")) == 1
    described = json.loads((tmp_path / "manifest.json").read_text())["columns"]
    for name, columns in described.items():
        assert [column["name"] for column in columns] == pd.read_csv(tmp_path / name).columns.tolist()
        assert all(column["description"] for column in columns)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert "--force" in err
    assert command(*arguments, "--force").code == 0


def test_every_entry_that_is_none(command):
    code, out, err = command("cost", DEMO, "--batch", "0,8,x,70000", "--num-draft-tokens", "-1,3,2.5,65")
    assert (code, out) == (2, "")
    named = [line.split(":")[0].strip() for line in err.splitlines()[1:]]
    assert named == [
        *("--batch is '0'", "--batch is 'x'", "--batch is '70000'"),
        *("--num-draft-tokens is '-1'", "--num-draft-tokens is '2.5'", "--num-draft-tokens is '65'"),
    ]


@pytest.mark.parametrize("option", [("--context", "0"), ("--prompt-tokens", "-1"), ("--context", "x"), ("--batch",)])
def test_a_command_line_that_makes_no_sense(command, option):
    code, out, err = command("cost", DEMO, *option)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_a_step_beyond_the_engines_budget(command, tmp_path):
    code, out, err = command("cost", DEMO, "--batch", "1000", "--prompt-tokens", "8000", "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "a step has 12000 tokens, and the engine computes 8192 at most" in err
    assert not list(tmp_path.iterdir())


def test_requests_longer_than_the_target_takes(command):
    code, out, err = command("cost", DEMO, "--set", "workload.lengths.prompt_tokens=100000000000")
    assert (code, out) == (2, "")
    assert "the target takes at most 131072 tokens" in err


def test_contexts_that_do_not_fit_together(command):
    code, out, _ = command("cost", DEMO, "--batch", "1,64,512", "--context", "8000")
    assert code == 0
    headline, without, loaded, *_ = out.splitlines()
    assert headline.startswith("At batch 512 a step with 3 draft tokens would take ")
    held = "Batch 64, 512 never runs {}: of requests with 8,000 tokens of context the KV pool holds {}."
    assert without == held.format("without a drafter", 440_116 // 8000)
    assert loaded == held.format("with the drafter", 420_496 // 8003)
    assert "limits concurrency, not memory, for the mean request (356 tokens)" in out, "of others it does"


def test_what_fits_takes_its_time(command):
    headline, second, *_ = command("cost", DEMO, "--batch", "52", "--context", "8000").out.splitlines()
    assert headline.startswith("At batch 52 a step with 3 draft tokens takes ")
    assert second.startswith("The drafter takes 4% of the KV pool")


def test_states_kept_for_rejected_drafts_are_named(command):
    """30 of the 40 layers keep 32 heads of 128 × 128 numbers and 3 columns of 8,192 before the convolution."""
    hybrid = "qwen3.5-35b-a3b-h200-mtp"
    _, memory, *_ = command("cost", hybrid, "--num-draft-tokens", "0,3").out.splitlines()
    state = 30 * (4 * 32 * 128 * 128 + 2 * 3 * 8192) / 2**20
    assert "4 recurrent states of its linear-attention layers" in memory
    assert memory.endswith(f"{4 * state:,.0f} MiB instead of {state:,.0f}.")
    lookup = "speculation.drafter={kind: ngram, host_time_per_step: 0 us, host_time_per_sequence: 0 us}"
    _, memory, *_ = command("cost", hybrid, "--set", lookup).out.splitlines()
    assert memory.startswith("Drafting leaves the KV pool its ")
    assert "4 recurrent states" in memory
    _, memory, *_ = command("cost", DEMO, "--set", lookup).out.splitlines()
    assert memory.startswith("Drafting leaves the KV pool its 440,116 tokens, and a request takes more of them: ")
    assert "recurrent" not in memory


@pytest.mark.parametrize(
    ("lengths", "said"),
    [("0,5", ""), ("6", "position 6 repeats the last"), ("0,5,8", "positions 6 to 8 repeat the last")],
)
def test_drafts_longer_than_the_acceptance_stated(command, lengths, said):
    out = command("cost", DEMO, "--num-draft-tokens", lengths).out
    assert (f"Acceptance is given for 5 positions; {said}" in out) == bool(said)


def test_a_schedule_is_priced_at_each_of_its_lengths(command):
    rows = ("{batch: [1, 8], num_draft_tokens: 5}", "{batch: [9, 64], num_draft_tokens: 2}")
    rows += ("{batch: [65, null], num_draft_tokens: 0}",)
    policy = f"speculation.policy={{kind: schedule, table: [{', '.join(rows)}]}}"
    code, out, _ = command("cost", DEMO, "--batch", "4", "--set", policy)
    assert code == 0
    first = [line.split("│")[2].strip() for line in out.splitlines() if line.startswith("│")]
    assert first[:3] == ["0", "2", "5"]
    assert "steps with fewer" not in out


@pytest.mark.parametrize(("asked", "said"), [((), True), (("--num-draft-tokens", "0,5"), False)])
def test_a_policy_that_finds_out_as_it_goes_is_said_to_draft_less(command, asked, said):
    policy = "speculation.policy={kind: goodput, num_draft_tokens: 5}"
    out = command("cost", DEMO, "--batch", "4", "--set", policy, *asked).out
    sentence = "The policy drafts up to 5 draft tokens by expected goodput, so it runs steps with fewer too"
    assert (sentence in out) is said
