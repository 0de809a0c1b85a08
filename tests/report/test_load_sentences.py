"""One load in words and as files."""

import json
import math

import numpy as np
import pytest

from specsim.planner.compare import METRICS, simulate_load
from specsim.report.load import load_answer, load_files, load_table, saturation
from specsim.schema.load import load_scenario

SHORT = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 8}",
    "workload.num_requests=12",
    "workload.load.concurrency=4",
    "run.replications=2",
)


def loaded(*overrides):
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [*SHORT, *overrides])
    return inputs, simulate_load(inputs)


def written(inputs, result, folder):
    for name, write in load_files(inputs, result).items():
        write(folder / name)
    return {file.name: file for file in folder.iterdir()}


def test_closed_loop():
    inputs, result = loaded()
    sentence = load_answer(inputs.scenario, result)
    assert sentence.startswith("At 4 concurrent requests, ramp and tail included, 3 draft tokens change output ")
    assert "median TPOT from " in sentence


def test_poisson():
    inputs, result = loaded("workload.load={kind: poisson, rate: 90 requests/min}")
    assert load_answer(inputs.scenario, result).startswith("At 1.5 requests/s offered, 3 draft tokens change ")


def test_one_draft_token():
    inputs, result = loaded("speculation.policy.num_draft_tokens=1")
    assert " 1 draft token changes " in load_answer(inputs.scenario, result)


def test_without_speculation(tmp_path):
    inputs, result = loaded("speculation.policy.num_draft_tokens=0")
    assert load_answer(inputs.scenario, result).endswith(" output tokens/s without speculation.")
    assert [column.header for column in load_table(inputs.scenario, result).columns] == ["metric", "without"]
    assert {"requests-0.csv", "steps-0.csv"} <= set(written(inputs, result, tmp_path))


def test_drafts_longer_than_the_acceptance_stated(tmp_path):
    inputs, result = loaded("speculation.policy.num_draft_tokens=6")
    said = "Acceptance is stated for 5 positions; position 6 holds the last conditional value."
    assert said in written(inputs, result, tmp_path)["answer.txt"].read_text()


def test_outputs_of_one_token_have_no_time_per_token(tmp_path):
    inputs, result = loaded("workload.lengths.output_tokens=1")
    metrics = list(load_table(inputs.scenario, result).columns[0].cells)
    assert not any("TPOT" in metric or "ITL" in metric for metric in metrics)
    assert "nan" not in load_answer(inputs.scenario, result)
    summary = json.loads(written(inputs, result, tmp_path)["summary.json"].read_text())
    assert summary["metrics"]["3"]["TPOT p50 [ms]"]["estimate"] is None


def test_files(tmp_path):
    inputs, result = loaded()
    files = written(inputs, result, tmp_path)
    summary = json.loads(files["summary.json"].read_text())
    assert set(summary["metrics"]) == {"0", "3"}
    assert set(summary["metrics"]["3"]) == {metric.name for metric in METRICS}
    assert all(math.isfinite(value) for value in summary["metrics"]["0"]["output tokens/s"].values())
    requests = np.genfromtxt(files["requests-3.csv"], delimiter=",", names=True)
    assert len(requests) == 12
    assert (requests["finish"] > requests["first_token"]).all()
    steps = np.genfromtxt(files["steps-3.csv"], delimiter=",", names=True)
    parts = sum(steps[name] for name in steps.dtype.names if name.endswith("_s"))
    np.testing.assert_allclose(parts, steps["end"] - steps["start"], rtol=1e-6)


def test_provenance_names_versions_sources_and_files(tmp_path):
    inputs, result = loaded("workload.lengths={kind: quantiles, table: azure-2023-conversation}")
    found = json.loads(written(inputs, result, tmp_path)["provenance.json"].read_text())
    assert {"python", "specsim", "numpy"} <= set(found["versions"])
    assert found["seed"] == 1
    assert set(found["inputs"]) == {"scenario", "device", "engine", "target", "drafter", "lengths"}
    assert all(len(entry["sha256"]) == 64 for entry in found["inputs"].values())
    assert found["sources"]["device"]["memory.bandwidth"]["kind"] == "vendor"
    assert "GSM8K" in found["sources"]["acceptance"]
    assert "Azure Public Dataset" in found["sources"]["lengths"]


@pytest.mark.parametrize("rate", ["100000 requests/s", "0.001 requests/s"])
def test_extreme_rates(rate):
    inputs, result = loaded(f"workload.load={{kind: poisson, rate: {rate}}}")
    assert "nan" not in load_answer(inputs.scenario, result)


@pytest.mark.parametrize(("rate", "arms"), [("1000 requests/s", 2), ("1 requests/s", 0)])
def test_a_rate_that_cannot_be_served_is_said(rate, arms):
    """Twelve requests in an instant take far longer than 12 ms; at one a second the server is idle in between."""
    inputs, result = loaded(f"workload.load={{kind: poisson, rate: {rate}}}", "run.replications=4")
    assert len(saturation(inputs.scenario, result)) == arms


def test_a_closed_loop_is_never_called_saturated():
    assert saturation(loaded()[0].scenario, loaded()[1]) == []
