"""``specsim plan``: what it asks for, what it leaves, and what it refuses."""

import json
import re

import pandas as pd
import pytest
import yaml

from specsim.studies.plan import run as planner

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
PERIODS = "[{duration: 10 s, rate: 200 requests/s}, {duration: 20 s, rate: 2000 requests/s}]"
SMALL = (
    *("--set", "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}"),
    *("--set", "plan={width: 0.2, seeds: 3, min_requests: 300}"),
    *("--set", "speculation.policy.num_draft_tokens=2"),
    *("--num-draft-tokens", "2", "--slo", "ttft:100 e2e.p90:300", "--jobs", "1"),
)


def test_it_answers_and_leaves_its_files(command, tmp_path):
    load = f"workload.load={{kind: rate_profile, periods: {PERIODS}}}"
    code, out, err = command("plan", DEMO, *SMALL, "--set", load, "--price", "2.5", "--out", tmp_path / "new")
    assert code == 0
    assert err == ""
    headline = out.splitlines()[0]
    assert headline.startswith("A replica of 1 × NVIDIA H100 SXM5 80 GB serves ")
    assert " within TTFT p99 of 100 ms and E2E p90 of 300 ms; " in headline
    assert "at the peak" in out
    assert "per million output tokens" in out
    folder = tmp_path / "new"
    assert {path.name for path in folder.iterdir()} == {
        *("answer.txt", "manifest.json", "plan.csv", "plan.json", "plan.png", "plan.svg"),
        *("provenance.json", "replicas.csv", "scenario.yaml"),
    }
    found, table = json.loads((folder / "plan.json").read_text()), pd.read_csv(folder / "plan.csv")
    assert [arm["name"] for arm in found["arms"]] == ["none", "static 2"]
    assert table["requests_per_s"].tolist() == pytest.approx([arm["requests_per_s"] for arm in found["arms"]])
    series = pd.read_csv(folder / "replicas.csv")
    assert series["requests_per_s"].tolist() == [200, 2000]
    best = next(arm for arm in found["arms"] if arm["name"] == found["best"])
    assert series["replicas"].tolist() == best["serving"]["replicas"]
    plan = yaml.safe_load((folder / "scenario.yaml").read_text())["plan"]
    assert plan["slo"] == {"ttft": {"p99": "100 ms"}, "e2e": {"p90": "300 ms"}}
    assert plan["price_per_gpu_hour"] == 2.5


def test_the_resolved_scenario_gives_the_same_table(command, tmp_path):
    for name, arguments in (("one", (DEMO, *SMALL)), ("two", (tmp_path / "one" / "scenario.yaml", "--jobs", "1"))):
        assert command("plan", *arguments, "--out", tmp_path / name).code == 0
    assert (tmp_path / "one" / "plan.csv").read_bytes() == (tmp_path / "two" / "plan.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--slo", "tft:200 tpot:20 itl.p100:3"),
            ["unknown latency; known are ttft, tpot, itl, e2e", "write for example itl.p50, itl.p95 or itl.p99.9"],
        ),
        (("--slo", "ttft:20 m"), ["'m'", "unknown latency"]),
        (
            ("--slo", "ttft.p99.9:200", "--set", "plan.min_requests=500"),
            ["p99.9 needs runs of at least 1,000 requests"],
        ),
        (("--slo", "ttft:fast tpot:-1 e2e:"), ["'ttft:fast'", "'tpot:-1'", "'e2e:'", "time above 0"]),
        (("--slo", "ttft:nan"), ["time above 0"]),
        (("--slo", "ttft:200", "--slo", "ttft.p99:300"), ["given twice"]),
        (("--slo", " "), ["gives no limit"]),
        (("--slo", "ttft.p50:300 ttft.p99:200"), ["--slo: ttft", "p50 of 300 ms never binds"]),
        (("--slo", "ttft:300 e2e:200"), ["--slo", "ttft.p99 of 300 ms never binds"]),
        (("--rate", "fast"), ["--rate", "not a number with a unit"]),
        (("--price", "-1"), ["--price", "greater than 0"]),
        (("--policies", "dynamic"), ["--policies", "'static', 'goodput', 'per_request', 'confidence' or 'oracle'"]),
        (("--num-draft-tokens", "3,x"), ["--num-draft-tokens is 'x'", "whole number"]),
        (("--num-draft-tokens", "3,1"), ["--num-draft-tokens", "must ascend"]),
        (("--set", "slo={}"), ["has no limit; add --slo"]),
        (("--policies", ""), ["--policies", "has an empty entry"]),
        (
            ("--slo", "foo:1", "--rate", "abc", "--price", "-3", "--policies", "foo", "--num-draft-tokens", "x"),
            ["(5 problems)", "'foo:1'", "--rate is 'abc'", "--price is -3", "--policies", "--num-draft-tokens is 'x'"],
        ),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_simulated(command, tmp_path, arguments, said):
    code, out, err = command("plan", DEMO, *arguments, "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    for words in said:
        assert words in err
    assert not list(tmp_path.iterdir())


def test_limits_below_the_floor_are_answered_with_it(command, tmp_path):
    code, out, err = command("plan", DEMO, *SMALL, "--slo", "tpot:0.1", "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "tpot p99 is 0.1 ms: even an empty system takes " in err
    assert "weights" in err
    assert not list(tmp_path.iterdir())


def test_an_interruption_leaves_the_arms_that_are_finished(command, tmp_path, monkeypatch):
    measure, done = planner.measure_arm, []

    def interrupted(*arguments):
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return measure(*arguments)

    monkeypatch.setattr(planner, "measure_arm", interrupted)
    code, out, err = command("plan", DEMO, *SMALL, "--out", tmp_path / "new")
    assert (code, err.splitlines()[-1]) == (130, "interrupted; 1 of 2 arms missing")
    assert "Interrupted; not measured: static 2." in out
    assert json.loads((tmp_path / "new" / "plan.json").read_text())["missing"] == ["static 2"]


@pytest.mark.parametrize(
    ("slo", "said"),
    [
        ("e2e:300", r"not measured: without speculation \(one run met the limits at [\d.]+ requests/s\), static 2"),
        ("tpot:0.1", r"no rate meets the limits: without speculation; not measured: static 2"),
    ],
)
def test_before_an_arm_meets_limits_an_interruption_tells_of_runs(command, tmp_path, monkeypatch, caplog, slo, said):
    def interrupted(inputs, arm, told):
        if arm.policy:
            raise KeyboardInterrupt
        found = measure(inputs, arm, told)
        if found.capacity.bound:
            raise KeyboardInterrupt
        return found

    measure = planner.measure_arm
    monkeypatch.setattr(planner, "measure_arm", interrupted)
    code, out, err = command("plan", DEMO, *SMALL, "--slo", slo, "--out", tmp_path / "new")
    assert (code, out, err) == (130, "", "interrupted; nothing was written\n")
    assert re.search(said, caplog.text)
    assert not list(tmp_path.iterdir())


def test_a_quick_look_says_so_and_asks_for_less(command, tmp_path, monkeypatch):
    asked = []
    measure = planner.measure_arm

    def watched(inputs, *arguments):
        asked.append((inputs.scenario.plan.width, inputs.scenario.plan.seeds))
        return measure(inputs, *arguments)

    monkeypatch.setattr(planner, "measure_arm", watched)
    settings = ("--set", "plan={min_requests: 300}", "--quick", "--jobs", "1")
    lengths = ("--set", "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}")
    code, out, _ = command(
        "plan", DEMO, *lengths, *settings, "--num-draft-tokens", "2", "--slo", "e2e:300", "--out", tmp_path / "new"
    )
    assert code == 0
    assert set(asked) == {(0.2, 4)}
    assert "A quick look: few seeds and a wide bound; leave out --quick for a plan." in out
