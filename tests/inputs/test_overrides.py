"""--set: what it accepts, and how a mistake in it is told apart from one in the file."""

import pytest

from specsim.errors import InputError
from specsim.inputs.read.scenario import load_scenario

DEMO = "llama3.1-8b-h100-eagle3"


def scenario(*overrides):
    return load_scenario(DEMO, overrides).scenario


def problems(*overrides):
    with pytest.raises(InputError) as caught:
        load_scenario(DEMO, overrides)
    return [(p.where.rpartition("/")[2], p.path, p.value) for p in caught.value.problems]


def test_scalars_lists_and_mappings():
    found = scenario("seed=7", "curve.batches=[1, 4]", "workload.load={kind: poisson, rate: 4 requests/s}")
    assert (found.seed, found.curve.batches, found.workload.load.rate) == (7, (1, 4), 4)


def test_the_last_of_two_counts():
    assert scenario("seed=7", "seed=8").seed == 8


def test_an_empty_value_removes_a_limit():
    assert scenario("slo.ttft=").slo.ttft is None


def test_equals_signs_in_the_value():
    assert scenario("description=a=b").description == "a=b"


def test_a_part_that_the_file_leaves_out_or_empty():
    assert scenario("run.replications=3").run.replications == 3
    assert scenario("slo=", "slo.tpot=9 ms").slo.tpot == pytest.approx(9e-3)


@pytest.mark.parametrize("text", ["seed", "=3", " = 3", "a..b=1", ".=1", "seed.=1", ""])
def test_not_an_assignment(text):
    assert problems(text) == [("--set", "", repr(text))]


def test_a_path_through_a_value():
    assert problems("seed.x=1") == [("--set seed.x", "seed", "1")]
    assert problems("curve.batches=[1]", "curve.batches.0=2") == [("--set curve.batches.0", "batches", "[1]")]


def test_broken_yaml_in_the_value():
    assert problems("curve.batches=[1, 2") == [("--set curve.batches", "line 1, column 6", "")]


def test_unknown_keys():
    assert problems("curve.batchs=[1]") == [("--set curve.batchs", "curve.batchs", "[1]")]
    assert problems("nowhere.at.all=1") == [("--set nowhere.at.all", "nowhere", '{"at": {"all": 1}}')]


def test_a_bad_value_is_blamed_on_the_override_and_a_missing_one_on_the_scenario():
    assert problems("speculation.policy.num_draft_tokens=three", "seed=") == [
        ("--set speculation.policy.num_draft_tokens", "speculation.policy.num_draft_tokens", "'three'"),
        ("--set seed", "seed", "null"),
    ]
    assert problems("workload.load={kind: poisson}") == [("--set workload.load", "workload.load.rate", "")]


def test_every_problem_of_every_override_at_once():
    found = problems("seed", "seed.x=1", "curve.batches=[", "slo.tpot=1", "deployment.device=h1000")
    assert [where for where, _, _ in found] == [
        "--set",
        "--set seed.x",
        "--set curve.batches",
        "--set slo.tpot",
        "--set deployment.device",
    ]


@pytest.mark.parametrize(
    ("override", "path", "stated"),
    [
        ("deployment.tensor_parallel=4", "deployment.num_devices", ""),
        ("speculation.temperature=0.5", "speculation.verifier", "speculation: {verifier: greedy, temperature: 0}"),
        ("speculation.tree={branching: [2], siblings: one_hot}", "speculation.policy.num_draft_tokens", ""),
        ("workload.load.concurrency=10000", "workload.num_requests", ""),
        ("deployment.target=qwen3-8b", "speculation.drafter.vocabulary_map", ""),
        ("deployment.device=a100-sxm-80gb", "deployment.engine", "deployment: {engine: vllm-0.10-h100-sxm}"),
        ("deployment.costs=aiconfigurator", "deployment", "deployment: {ideal: true}"),
    ],
)
def test_a_contradiction_is_blamed_on_the_override_that_brings_it_in(tmp_path, override, path, stated):
    """Although the file says the value that it is told of."""
    file = tmp_path / "mine.yaml"
    file.write_text(f"extends: {DEMO}\nname: mine\n{stated}\n")
    with pytest.raises(InputError) as caught:
        load_scenario(str(file), ["seed=3", override])
    found = [problem.where for problem in caught.value.problems if problem.path == path]
    assert found == [f"--set {override.partition('=')[0]}"]


def test_a_contradiction_that_takes_two_overrides_is_blamed_on_both():
    two = ("workload.load={kind: poisson, rate: 1e-7 requests/s}", "workload.num_requests=1000")
    (found,) = problems("seed=3", *two)
    assert found[:2] == ("--set workload.load, --set workload.num_requests", "workload")


def test_a_contradiction_that_the_file_has_already_is_blamed_on_the_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(f"extends: {DEMO}\nname: mine\nspeculation: {{verifier: greedy}}\n")
    with pytest.raises(InputError) as caught:
        load_scenario(str(file), ["seed=3", "deployment.tensor_parallel=2"])
    found = {problem.path: problem.where for problem in caught.value.problems}
    assert found == {"speculation.verifier": str(file), "deployment.num_devices": "--set deployment.tensor_parallel"}


def test_a_contradiction_is_blamed_on_the_file_that_brings_it_in(tmp_path):
    """The base says the number of devices, and is right by itself."""
    middle, top = tmp_path / "middle.yaml", tmp_path / "top.yaml"
    middle.write_text(f"extends: {DEMO}\nname: middle\ndeployment: {{tensor_parallel: 2}}\n")
    top.write_text("extends: middle.yaml\nname: top\nspeculation: {temperature: 0.5}\n")
    with pytest.raises(InputError) as caught:
        load_scenario(str(top))
    assert [(p.where, p.path) for p in caught.value.problems] == [(str(middle), "deployment.num_devices")]
