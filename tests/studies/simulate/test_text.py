"""One load in words and as files."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from specsim.analysis.run_metrics import CLASS_METRICS, METRICS
from specsim.inputs.read.scenario import load_scenario
from specsim.reporting.publish import answer_files
from specsim.reporting.traffic import load_words
from specsim.studies.simulate.answer import load_answer
from specsim.studies.simulate.run import simulate_load
from specsim.studies.simulate.text import (
    load_headline,
    load_sentences,
    load_table,
    load_tables,
    preemptions,
    reuse,
    saturation,
)
from specsim.verification.core import reason_for_numpy

DEMO = "llama3.1-8b-h100-eagle3"
SHORT = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 8}",
    "workload.num_requests=12",
    "workload.load.concurrency=4",
    "run.replications=2",
)


def loaded(*overrides):
    inputs = load_scenario(DEMO, [*SHORT, *overrides])
    return inputs, simulate_load(inputs)


def written(inputs, result, folder):
    for name, write in answer_files(load_answer(inputs, result)).items():
        write(folder / name)
    return {file.name: file for file in folder.iterdir()}


def test_closed_loop():
    inputs, result = loaded()
    sentence = load_headline(inputs.scenario, result)
    assert sentence.startswith("At 4 concurrent requests, 3 draft tokens change output ")
    assert "median TPOT from " in sentence


def test_poisson():
    inputs, result = loaded("workload.load={kind: poisson, rate: 90 requests/min}")
    answer = load_headline(inputs.scenario, result)
    assert answer.startswith("At 1.5 requests/s offered, 3 draft tokens change latencies (p50 / p99): TTFT from ")
    assert "; TPOT from " in answer
    assert "; E2E from " in answer
    assert "; the server keeps up; output throughput is 1.0" in answer


def test_of_an_open_loop_without_speculation_latencies_are_said_too():
    load = "workload.load={kind: constant, rate: 4 requests/s}"
    inputs, result = loaded(load, "speculation.policy.num_draft_tokens=0")
    answer = load_headline(inputs.scenario, result)
    assert answer.startswith("At 4 requests/s offered at equal intervals: TTFT ")
    assert answer.endswith(" (p50 / p99) without speculation; the server keeps up.")


def test_what_the_figures_are_of_is_said():
    inputs, result = loaded()
    # 12 requests of 4 clients: without drafts three waves, of which the one in the middle counts
    assert result.steady_share[0] == 1 / 3
    said = " ".join(load_sentences(inputs.scenario, result))
    assert "Figures cover the 29 to 33 % of requests sent in the steady window" in said
    inputs, result = loaded("workload.num_requests=4")
    assert "No steady window (a run is too short, or overloaded)" in " ".join(load_sentences(inputs.scenario, result))
    assert result.values is result.whole


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ("{kind: closed_loop, concurrency: 1}", "1 concurrent request"),
        ("{kind: poisson, rate: 200 requests/min}", "3.33 requests/s offered"),
        ("{kind: gamma, rate: 4 requests/s, cv: 2}", "4 requests/s offered (gamma gaps, cv 2)"),
        ("{kind: constant, rate: 4 requests/s}", "4 requests/s offered at equal intervals"),
        (
            "{kind: rate_profile, periods: [{duration: 1 s, rate: 9 requests/s}, {duration: 2 s, rate: 0 requests/s}]}",
            "3 requests/s offered on average (0 to 9 over a cycle of 3 s)",
        ),
        (
            "{kind: closed_loop, concurrency: 4, think_time: 500 ms}",
            "4 clients with a think time of 0.5 s on average (cv 1)",
        ),
        (
            "{kind: closed_loop, concurrency: 4, think_time: 2 s, think_cv: 0}",
            "4 clients with a think time of 2 s",
        ),
    ],
)
def test_the_load_in_words(load, words):
    assert load_words(load_scenario(DEMO, [f"workload.load={load}"]).scenario.workload.load) == words


BURSTGPT = "Timestamp,Model,Request tokens,Response tokens\n0,a,20,5\n1,a,20,0\n2,a,30,6\n2,a,9,0\n3,a,9,2\n"


@pytest.mark.parametrize(("speed", "words"), [(1, "as recorded"), (2.5, "at 2.5× the recorded speed")])
def test_a_replay_says_what_its_intervals_hold_and_what_was_left_out(tmp_path, speed, words):
    (tmp_path / "trace.csv").write_text(BURSTGPT)
    lengths = f"workload.lengths={{kind: trace, file: '{tmp_path}/trace.csv'}}"
    load = f"workload.load={{kind: replay, speed: {speed}}}"
    inputs, result = loaded(lengths, load, "workload.num_requests=3")
    answer, *read_with = load_sentences(inputs.scenario, result)
    assert answer.startswith(f"At the load of a trace, replayed {words}, 3 draft tokens change ")
    assert any("intervals cover only the sampling error of drafts" in sentence for sentence in read_with)
    assert any(sentence.startswith("2 failed requests of the trace left out") for sentence in read_with)


def test_a_replay_sends_the_whole_trace_where_that_is_shorter(tmp_path):
    (tmp_path / "trace.csv").write_text(BURSTGPT)
    lengths = f"workload.lengths={{kind: trace, file: '{tmp_path}/trace.csv'}}"
    inputs, result = loaded(lengths, "workload.load={kind: replay}", "workload.num_requests=256")
    assert len(result.records[3].requests.arrival) == 3
    assert "The trace has 3 requests, fewer than num_requests (256)." in load_sentences(inputs.scenario, result)


def test_rounded_shares_are_shares():
    third = "{share: 0.333}"
    inputs, result = loaded(f"workload.mixture=[{third}, {third}, {{share: 0.333, priority: 1}}]")
    assert len(load_tables(inputs.scenario, result)) == 3


def test_a_mean_that_bounds_move_is_said():
    spread = "{mean: 20, sd: 20, max: 25}"
    inputs, result = loaded(f"workload.lengths={{kind: normal, prompt: {spread}, output: {{mean: 5, sd: 1, max: 9}}}}")
    (said,) = [text for text in load_sentences(inputs.scenario, result) if "moves their mean" in text]
    assert said == "Clipping normal prompt lengths to 1 to 25 tokens moves their mean from 20 to 16.1."


def test_what_was_read_for_a_class_is_in_the_provenance_and_the_scenario_runs_again(tmp_path):
    (tmp_path / "trace.csv").write_text("# ours, May\n" + BURSTGPT)
    trace = f"{{kind: trace, file: '{tmp_path}/trace.csv'}}"
    inputs, result = loaded(f"workload.mixture=[{{share: 0.5}}, {{share: 0.5, lengths: {trace}}}]")
    (tmp_path / "out").mkdir()
    files = written(inputs, result, tmp_path / "out")
    found = json.loads(files["provenance.json"].read_text())
    assert found["inputs"]["trace of class 1"]["sha256"]
    assert found["sources"]["lengths"] == "ours, May"
    again = load_scenario(str(files["scenario.yaml"]))
    assert again.scenario == inputs.scenario
    assert again.lengths_files == inputs.lengths_files == {"workload.mixture[1].lengths": tmp_path / "trace.csv"}


def test_classes_stand_beside_the_total(tmp_path):
    lengths = "{kind: fixed, prompt_tokens: 20, output_tokens: 24}"
    mixture = f"workload.mixture=[{{share: 0.6}}, {{share: 0.4, priority: 1, lengths: {lengths}}}]"
    inputs, result = loaded(mixture, "workload.num_requests=60")
    _, plain, drafted = (table.shown() for table in load_tables(inputs.scenario, result))
    assert [column.header for column in plain.columns] == ["metric", "class 0 (60 %)", "class 1 (40 %)"]
    assert drafted.title == "by class, 3 draft tokens"
    summary = json.loads(written(inputs, result, tmp_path)["summary.json"].read_text())
    of_classes = summary["classes"]["3"]
    assert set(of_classes[1]) == {metric.label for metric in CLASS_METRICS}
    # requests per second add up; each class's share of requests within the SLO is its own
    rates = [part["requests/s"]["estimate"] for part in of_classes]
    assert sum(rates) == pytest.approx(summary["metrics"]["3"]["requests/s"]["estimate"])
    assert of_classes[1]["E2E p50 [ms]"]["estimate"] > 2 * of_classes[0]["E2E p50 [ms]"]["estimate"]
    table = np.genfromtxt(tmp_path / "requests-3.csv", delimiter=",", names=True)
    assert set(table["of_class"]) == {0, 1}
    assert (table["output_tokens"] == np.where(table["of_class"] == 1, 24, 8)).all()
    assert (table["priority"] == table["of_class"]).all()


def test_one_draft_token():
    inputs, result = loaded("speculation.policy.num_draft_tokens=1")
    assert " 1 draft token changes " in load_headline(inputs.scenario, result)


def test_without_speculation(tmp_path):
    inputs, result = loaded("speculation.policy.num_draft_tokens=0")
    assert load_headline(inputs.scenario, result).endswith(" output tokens/s without speculation.")
    assert [column.header for column in load_table(inputs.scenario, result).shown().columns] == ["metric", "without"]
    assert {"requests-0.csv", "steps-0.csv"} <= set(written(inputs, result, tmp_path))


def test_drafts_longer_than_the_acceptance_stated(tmp_path):
    inputs, result = loaded("speculation.policy.num_draft_tokens=6")
    said = "Acceptance is given for 5 positions; position 6 repeats the last conditional value."
    assert said in written(inputs, result, tmp_path)["answer.txt"].read_text()


def test_outputs_of_one_token_have_no_time_per_token(tmp_path):
    inputs, result = loaded("workload.lengths.output_tokens=1")
    metrics = list(load_table(inputs.scenario, result).shown().columns[0].cells)
    assert not any("TPOT" in metric or "ITL" in metric for metric in metrics)
    assert "nan" not in load_headline(inputs.scenario, result)
    summary = json.loads(written(inputs, result, tmp_path)["summary.json"].read_text())
    assert summary["metrics"]["3"]["TPOT p50 [ms]"]["estimate"] is None


def test_files(tmp_path):
    inputs, result = loaded()
    files = written(inputs, result, tmp_path)
    summary = json.loads(files["summary.json"].read_text())
    assert set(summary["metrics"]) == {"0", "3"}
    assert set(summary["metrics"]["3"]) == {metric.label for metric in METRICS}
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
    assert found["core"].startswith("compiled" if reason_for_numpy() is None else "plain: ")
    assert set(found["inputs"]) == {"scenario", "device", "engine", "target", "drafter", "lengths"}
    assert all(len(entry["sha256"]) == 64 for entry in found["inputs"].values())
    assert found["sources"]["device"]["memory.bandwidth"]["kind"] == "vendor"
    assert "GSM8K" in found["sources"]["acceptance"]
    assert "Azure Public Dataset" in found["sources"]["lengths"]


@pytest.mark.parametrize("rate", ["100000 requests/s", "0.001 requests/s"])
def test_extreme_rates(rate):
    inputs, result = loaded(f"workload.load={{kind: poisson, rate: {rate}}}")
    assert "nan" not in load_headline(inputs.scenario, result)


@pytest.mark.parametrize(("rate", "arms"), [("10000 requests/s", 2), ("1 requests/s", 0)])
def test_a_rate_that_cannot_be_served_is_said(rate, arms):
    """Ten thousand a second are far more than a server of one H100 does; at one a second it is idle in between."""
    number = 1500 if arms else 12
    inputs, result = loaded(f"workload.load={{kind: poisson, rate: {rate}}}", f"workload.num_requests={number}")
    assert len(saturation(inputs.scenario, result)) == arms


@pytest.mark.parametrize(
    ("number", "lengths"),
    [
        (1, "{kind: fixed, prompt_tokens: 20, output_tokens: 8}"),
        (24, "{kind: fixed, prompt_tokens: 20, output_tokens: 1500}"),
    ],
    ids=["one request", "outputs longer than the run of arrivals"],
)
def test_the_last_requests_own_time_is_no_queue(number, lengths):
    load = "workload.load={kind: constant, rate: 4 requests/s}"
    inputs, result = loaded(load, f"workload.num_requests={number}", f"workload.lengths={lengths}")
    assert saturation(inputs.scenario, result) == []


def test_whoever_lost_their_place_is_counted():
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [*SHORT, "workload.load.concurrency=12"])
    tight = inputs.engine.model_copy(update={"memory_fraction": 0.21, "activation_reserve": 5e8})
    tight_inputs = dataclasses.replace(inputs, engine=tight)
    result = simulate_load(tight_inputs)
    lost = {k: int(run.requests.preemptions.sum()) for k, run in result.records.items()}
    notes = preemptions(tight_inputs.scenario, result)
    assert len(notes) == sum(number > 0 for number in lost.values())
    for note, number in zip(notes, (number for number in lost.values() if number), strict=True):
        assert f"{number:,} times" in note


def test_what_the_cache_held_is_said_by_arm():
    shared = (
        "workload.lengths={kind: fixed, prompt_tokens: 64, output_tokens: 8}",
        "workload.shared_prefix={tokens: 32}",
    )
    inputs, result = loaded(*shared, "deployment.prefix_caching=true", "workload.load.concurrency=1")
    (note,) = reuse(inputs.scenario, result)
    number = result.records[0].requests.prompt_tokens.size
    # all but the first find 32 tokens without speculation, and 16 where the head takes in the last block's states
    assert f"{32 * (number - 1) / (64 * number):.1%} without" in note
    assert f"{16 * (number - 1) / (64 * number):.1%} with" in note


def test_a_closed_loop_is_never_called_saturated():
    assert saturation(loaded()[0].scenario, loaded()[1]) == []


def test_a_fleet_says_what_it_is_and_how_evenly_it_was_used():
    turns = "fleet={replicas: [{count: 2}, {deployment: {num_devices: 2, tensor_parallel: 2}}]}"
    inputs, result = loaded(turns)
    _, fleet, shares, *_ = load_sentences(inputs.scenario, result)
    per_device = result.interval(0, METRICS[0]).estimate / 4
    assert fleet.startswith(f"Output tokens/s per device: {per_device:,.0f} without drafts, ")
    assert fleet.endswith("; 3 replicas routed round robin, on 4 devices.")
    assert shares == "Each replica served 33.3 % of the requests (replication 0)."


def test_what_a_fleet_uses_is_of_all_its_devices():
    turns = "fleet={replicas: [{count: 2}, {deployment: {device: h200}}]}"
    _, result = loaded(turns)
    named = {metric.label: result.interval(0, metric).estimate for metric in METRICS}
    assert named["tokens/s/GPU"] == pytest.approx(named["output tokens/s"] / 3, rel=1e-12)
    run = result.records[0]
    widths = np.array([3.35e12, 3.35e12, 4.8e12])[run.steps.replica]
    moved, possible = run.steps.used[:, 0].sum(), (widths * (run.steps.end - run.steps.start)).sum()
    whole = {metric.label: result.whole_interval(0, metric).estimate for metric in METRICS}
    assert whole["bandwidth used [%]"] == pytest.approx(100 * moved / possible, rel=1e-9)
    assert 0 < named["KV in use, peak [%]"] < 1
    assert 50 < named["busy [%]"] <= 100


def test_a_fleet_that_computes_prompts_apart_says_what_travelling_takes():
    apart = "{prefill: 1, decode: 2, kv_transfer: {bandwidth: 1 GB/s, latency: 5 ms}}"
    inputs, result = loaded(f"fleet={{disaggregation: {apart}, router: {{kind: random}}}}")
    text = " ".join(load_sentences(inputs.scenario, result))
    assert "1 replica for prefill and 2 for decode routed round robin, on 3 devices." in text
    assert "Prefill: the one replica served all requests" in text
    requests = result.records[3].requests
    waits = 1e3 * np.median(requests.transferred - requests.first_token)
    assert f"KV caches arrived {waits:.3g} ms after the first token" in text


def test_the_files_of_a_fleet_say_which_replica(tmp_path):
    inputs, result = loaded("fleet.replicas=2")
    files = written(inputs, result, tmp_path)
    summary = json.loads(files["summary.json"].read_text())
    assert summary["fleet"]["replicas"] == 2
    assert summary["fleet"]["share_of_requests"]["3"] == {"served": [0.5, 0.5]}
    for name in ("requests-3.csv", "steps-0.csv"):
        header = files[name].read_text().splitlines()[0].split(",")
        assert "replica" in header
        assert "prefill_replica" not in header


def test_the_sources_of_a_groups_device_are_given(tmp_path):
    inputs, result = loaded("fleet.replicas=[{count: 1}, {deployment: {device: h200}}]")
    provenance = json.loads(written(inputs, result, tmp_path)["provenance.json"].read_text())
    assert "H200" in provenance["sources"]["device of fleet.replicas[1]"]["name"]
    assert "device of fleet.replicas[0]" not in provenance["sources"]
    assert provenance["inputs"]["device of fleet.replicas[1]"]["file"] == "h200.yaml"


def test_without_a_fleet_nothing_is_said_of_replicas(tmp_path):
    inputs, result = loaded()
    files = written(inputs, result, tmp_path)
    assert not any("replica" in line for line in load_sentences(inputs.scenario, result))
    assert "fleet" not in json.loads(files["summary.json"].read_text())
    assert "replica" not in files["requests-3.csv"].read_text().splitlines()[0]


def test_a_server_a_little_too_slow_does_not_keep_up():
    """One request at a time, of 20 steps of some 7 ms: 7.3 a second at most, and 8 are sent."""
    inputs = load_scenario(
        "llama3.1-8b-h100-eagle3",
        [
            *SHORT,
            "workload.lengths={kind: fixed, prompt_tokens: 64, output_tokens: 20}",
            "workload.load={kind: poisson, rate: 8 requests/s}",
            "workload.num_requests=3000",
            "speculation.policy.num_draft_tokens=0",
        ],
    )
    alone = inputs.engine.model_copy(update={"max_num_seqs": 1, "speculation_max_num_seqs": 1})
    result = simulate_load(dataclasses.replace(inputs, engine=alone))
    assert all(1 / run.sending_share < 1.2 for run in result.balance[0])
    assert "does not keep up" in load_headline(inputs.scenario, result)


def test_how_much_of_a_trace_is_sent_is_said():
    trace = Path(__file__).parents[2] / "workload" / "small_trace.csv"
    replay = (f"workload.lengths={{kind: trace, file: '{trace}'}}", "workload.load={kind: replay}")
    inputs, result = loaded(*replay, "workload.num_requests=3")
    assert result.in_trace is not None
    assert f"of the trace's {result.in_trace} requests are sent" in " ".join(load_sentences(inputs.scenario, result))


def test_requests_in_step_and_a_drafters_positions_are_said():
    equal, differing = loaded(), loaded("workload.lengths={kind: uniform, prompt: [9, 30], output: [4, 9]}")
    assert any("stay in lockstep" in told for told in load_sentences(equal[0].scenario, equal[1]))
    assert not any("stay in lockstep" in told for told in load_sentences(differing[0].scenario, differing[1]))
    long = loaded("workload.lengths={kind: fixed, prompt_tokens: 3000, output_tokens: 4}")
    assert any("2048 positions" in told for told in load_sentences(long[0].scenario, long[1]))
