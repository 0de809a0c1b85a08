"""``specsim compare``: what it answers and leaves, what it refuses, and what an interruption keeps."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from specsim.studies.compare import run as planner

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
BOTH = (DEMO, "--variant", "h200: deployment.device=h200")
SMALL = (
    *("--set", "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}"),
    *("--set", "curve={replications: 2, requests_per_slot: 3}", "--batches", "1,16"),
    *("--set", "plan={width: 0.5, seeds: 3, min_requests: 100, most_requests: 400}", "--jobs", "1"),
)
LIMITS = ("--slo", "ttft:100")
FILES = {"answer.txt", "compare.csv", "manifest.json", "pareto.png", "pareto.svg", "provenance.json"}


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def asked(command, tmp_path):
    """Runs a small comparison and gives its outcome and its folder."""

    def run(*arguments):
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        return command("compare", *arguments, *SMALL, "--out", folder), folder

    return run


def test_within_limits_it_says_who_is_cheapest_as_plan_does(asked, command, tmp_path):
    costs = ("--rate", "560 requests/s", "--price", "h100-sxm=2.5", "--price", "h200=3.5")
    (code, out, err), folder = asked(*BOTH, *LIMITS, *costs)
    assert code == 0, err
    assert out.startswith("Cheapest for 560 requests/s within TTFT p99 of 100 ms: llama3.1-8b-h100-eagle3 without spec")
    assert "; runner-up h200 without speculation takes " in out.splitlines()[0]
    assert out.splitlines()[1].startswith("Frontier of tokens/s/user and tokens/s/GPU: h200 with 3 draft tokens at ")
    assert "All use the same requests and random numbers, so differences are paired" in out
    assert "Beware" not in out
    scenarios = {f"scenario-{name}.yaml" for name in (DEMO, "h200")}
    assert {path.name for path in folder.iterdir()} == FILES | scenarios | {"plans.csv"}
    described = json.loads((folder / "manifest.json").read_text())["columns"]
    for name in ("compare.csv", "plans.csv"):
        assert [column["name"] for column in described[name]] == list(pd.read_csv(folder / name))
    assert set(json.loads((folder / "provenance.json").read_text())) == {DEMO, "h200"}
    written = yaml.safe_load((folder / "scenario-h200.yaml").read_text())
    assert (written["name"], written["deployment"]["device"]) == ("h200", "h200")
    assert written["plan"]["price_per_gpu_hour"] == 3.5
    # a row of plans.csv ends with what specsim plan writes for the scenario, byte for byte
    planned = command(
        "plan", folder / "scenario-h200.yaml", "--num-draft-tokens", "3", "--jobs", "1", "--out", tmp_path / "plan"
    )
    assert planned.code == 0
    rows = [line for line in (folder / "plans.csv").read_text().splitlines() if line.startswith("h200,")]
    expected = (tmp_path / "plan" / "plan.csv").read_text().splitlines()[1:]
    assert len(rows) == len(expected) == 2
    assert all(row.endswith(f",{line}") for row, line in zip(rows, expected, strict=True))


def test_what_is_written_is_compared_again_with_the_same_bytes_whatever_the_jobs(asked, command, tmp_path):
    (code, out, err), folder = asked(*BOTH, "--set", "slo={}")
    assert code == 0, err
    assert "No latency limits, so no costs" in out
    assert {path.name for path in folder.iterdir()} == FILES | {f"scenario-{name}.yaml" for name in (DEMO, "h200")}
    scenarios = [folder / f"scenario-{name}.yaml" for name in (DEMO, "h200")]
    assert command("compare", *scenarios, "--jobs", "2", "--out", tmp_path / "again").code == 0
    one, other = read(folder), read(tmp_path / "again")
    assert {name for name in one if one[name] != other[name]} == {"provenance.json"}  # which names the files read
    table = pd.read_csv(folder / "compare.csv")
    assert len(table) == 2 * 2 * 2
    np.testing.assert_allclose(table["tokens_per_s"], table["gpus"] * table["tokens_per_s_per_gpu"])


def test_draft_lengths_beside_the_own_policy(asked):
    (code, _, err), folder = asked(*BOTH, "--set", "slo={}", "--num-draft-tokens", "1,5")
    assert code == 0, err
    table = pd.read_csv(folder / "compare.csv")
    assert table.groupby("scenario")["num_draft_tokens"].unique().map(list).tolist() == [[0, 3, 1, 5]] * 2


def test_without_prices_devices_are_not_ranked_by_cost(asked):
    (code, out, err), _ = asked(*BOTH, *LIMITS)
    assert code == 0, err
    assert out.startswith("Most output tokens/s per GPU within TTFT p99 of 100 ms: ")
    assert "Devices differ and cannot be ranked by cost without prices of a GPU-hour (--price h100-sxm=2.5" in out
    assert "No rate to serve is given, so GPUs and dollars an hour are not computed" in out


def test_who_cannot_run_or_meet_the_limits_is_named_with_the_reason(asked):
    slow = "slow: deployment.device=l40s"
    model = "{kind: draft_model, model: llama-3.2-1b}"
    large = f"large: deployment.target=llama-3.1-70b speculation.drafter={model}"
    (code, out, err), folder = asked(DEMO, "--variant", slow, "--variant", large, "--slo", "tpot:12 ttft:1000")
    assert code == 0, err
    assert "; no other measured scenario meets them." in out.splitlines()[0]
    assert "slow cannot meet tpot p99 of 12 ms: even an empty system takes " in out
    assert "large can never run: " in out
    assert "Caution: the scenarios also differ in target model (llama-3.1-8b: " in out
    assert set(pd.read_csv(folder / "compare.csv")["scenario"]) == {DEMO, "slow"}


def test_a_fleet_counts_all_its_devices(asked):
    fleet = "fleet: fleet={replicas: 2, router: {kind: round_robin}}"
    (code, out, err), folder = asked(DEMO, "--variant", fleet, *LIMITS, "--rate", "560 requests/s")
    assert code == 0, err
    assert out.startswith("Fewest GPUs for 560 requests/s within TTFT p99 of 100 ms: ")
    assert "fleet: Batches count the whole fleet, tokens/s/GPU all its devices." in out
    assert pd.read_csv(folder / "compare.csv").groupby("scenario")["gpus"].first().to_dict() == {DEMO: 1, "fleet": 2}
    plans = pd.read_csv(folder / "plans.csv").set_index(["scenario", "policy"])
    assert plans.loc[("fleet", "none"), "gpus"] == 2 * plans.loc[("fleet", "none"), "replicas_peak"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((DEMO,), ["is the only one; name another to compare it with, or add a variant of it"]),
        ((DEMO, DEMO), [f"name is '{DEMO}': is the name of 2 of those compared"]),
        ((DEMO, "nowhere"), ["no scenario of that name"]),
        ((*BOTH, "--variant", "x"), ["--variant is 'x': begins with a name"]),
        ((*BOTH, "--variant", "x: device=h100"), ["--variant x: device is 'h100': unknown key"]),
        ((*BOTH, "--slo", "tft:1", "--price", "cheap"), ["unknown latency", "--price is 'cheap'"]),
        ((*BOTH, "--price", "h100-sxm5=2"), ["no scenario compared has that device; they have h100-sxm, h200"]),
        ((*BOTH, "--price", "h100-sxm=2"), ["others have a price but h200 (h200) has none; add --price h200=2.5"]),
        ((*BOTH, "--rate", "400 r"), ["--rate", "unknown unit"]),
        ((*BOTH, "--num-draft-tokens", "0"), ["--num-draft-tokens is '0'", "whole number above 0"]),
        ((*BOTH, "--set", "slo={}", "--rate", "4 requests/s"), ["--rate: needs latency limits"]),
        ((*BOTH, "--set", "slo={}", "--price", "3"), ["--price: needs latency limits"]),
        (
            (DEMO, "--variant", "b: plan.slo={ttft: {p99: 1 s}}"),
            ["comparing needs one set of limits", "ttft.p99:500, tpot.p99:25 in llama3.1-8b", "ttft.p99:1000 in b"],
        ),
        ((DEMO, "--variant", "b: slo=null"), ["slo"]),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_simulated(command, tmp_path, arguments, said):
    code, out, err = command("compare", *arguments, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    for words in said:
        assert words in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("batches", ["8,1", "0", "x", "", "1]"])
def test_batches_that_are_none(command, tmp_path, batches):
    code, out, err = command("compare", *BOTH, "--batches", batches, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "--batches" in err


def test_where_none_meets_the_limits_nothing_is_written(asked):
    (code, out, err), folder = asked(*BOTH, "--slo", "tpot:0.1")
    assert (code, out) == (2, "")
    assert "h200: tpot p99 is 0.1 ms: even an empty system takes " in err
    assert not folder.exists()


def test_inputs_are_not_replaced(command, tmp_path):
    for name in "ab":
        (tmp_path / f"scenario-{name}.yaml").write_text(f"extends: {DEMO}\nname: {name}\n")
    files = [tmp_path / f"scenario-{name}.yaml" for name in "ab"]
    before = read(tmp_path)
    code, _, err = command("compare", *files, *SMALL, "--out", tmp_path, "--force")
    assert code == 2
    assert "holds scenario-a.yaml, scenario-b.yaml, an input that would be overwritten" in err
    assert read(tmp_path) == before


def test_an_interruption_leaves_the_scenarios_that_are_finished(command, tmp_path, monkeypatch):
    run, calls = planner.run_point, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(planner, "run_point", interrupted)
    arguments = (*BOTH, "--set", "slo={}", *SMALL)
    code, out, err = command("compare", *arguments, "--out", tmp_path / "new")
    assert (code, err.splitlines()[-1]) == (130, "interrupted; 1 of 2 scenarios missing")
    assert "Interrupted; not measured: h200." in out
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES | {f"scenario-{DEMO}.yaml"}
    calls.extend([None] * 6)
    code, _, err = command("compare", *arguments, "--out", tmp_path / "none")
    assert (code, err) == (130, "interrupted; nothing was written\n")
    assert not (tmp_path / "none").exists()
