"""A measured row becomes the run that its benchmark made, whatever it measured."""

from functools import cache

import pytest

from specsim.analysis.run_metrics import CLIENT_METRICS
from specsim.analysis.run_view import RunView
from specsim.errors import InputError
from specsim.inputs.measured.measurements import Located, Measurement
from specsim.inputs.measured.serving_tables import read_measurements
from specsim.inputs.models.workload import ClosedLoop, Poisson
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import read_device, read_engine
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.validate.measured import Arm, arm, arm_inputs, left_out
from specsim.studies.accuracy.validate.run import validate

PUBLISHED = catalogue.find("measurements", "published", [], where="", path="")
BASE = str(catalogue.ROOT / "hardware" / "measured" / "scenario.yaml")
LIMITS = {"max_num_batched_tokens", "max_num_seqs", "memory_fraction"} | {
    f"speculation_{name}" for name in ("max_num_batched_tokens", "max_num_seqs")
}
SMALL = {
    "sweep": "small",
    "use_device": "a100-sxm-80gb",
    "use_engine": "vllm",
    "use_model": "llama-3.1-8b",
    "use_drafter": "{kind: eagle, model: eagle3-llama-3.1-8b, vocabulary_map: d2t}",
    "load_kind": "concurrency",
    "load": 4,
    "num_requests": 10,
    "prompt_tokens": 60,
    "output_tokens": 24,
    "temperature": 0,
    "num_draft_tokens": 3,
    "acceptance": (0.7, 0.5, 0.3),
    "metric": "output_tokens_per_s",
    "baseline": 300,
    "with_speculation": 500,
}


def row(**changes):
    return Measurement.model_validate(SMALL | changes)


def compared(*rows, **options):
    return validate([Located(i + 2, row) for i, row in enumerate(rows)], where="a table", jobs=1, **options)


@pytest.mark.parametrize("speculating", [False, True])
def test_a_point_is_the_whole_closed_loop_with_ramp_and_tail(speculating):
    stated = row()
    inputs = arm_inputs(BASE, arm(stated, speculating=speculating))
    run = Simulation(inputs).run(
        ClosedLoop(kind="closed_loop", concurrency=4),
        num_draft_tokens=3 if speculating else 0,
        num_requests=10,
        replication=0,
    )
    seconds = run.requests.finish.max() - run.requests.arrival.min()
    (result,) = compared(stated)
    values = result.with_speculation if speculating else result.baseline
    assert values[0] == pytest.approx(10 * 24 / seconds, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", CLIENT_METRICS)
def test_each_metric_is_that_of_the_run(metric):
    figure = 1e4 if metric.endswith("_ms") else 1
    result = compared(row(metric=metric, baseline=figure, with_speculation=figure))[0]
    inputs = arm_inputs(BASE, arm(row(), speculating=False))
    run = Simulation(inputs).run(inputs.scenario.workload.load, num_draft_tokens=0, num_requests=10, replication=0)
    assert result.baseline[0] == CLIENT_METRICS[metric].value(RunView(run))


@pytest.mark.parametrize("speculating", [False, True])
@pytest.mark.parametrize("limit", ["max_num_seqs", "max_num_batched_tokens"])
def test_a_rows_limit_wins_over_the_profiles_of_its_arm(limit, speculating):
    """SGLang's profile holds speculation to 48 requests; a row that ran 256 is not held."""
    stated = {f"baseline_{limit}": 300, f"speculation_{limit}": 400}
    inputs = arm_inputs(BASE, arm(row(use_engine="sglang-0.5", **stated), speculating=speculating))
    own = {"max_num_seqs": 0, "max_num_batched_tokens": 1}[limit]
    assert Simulation(inputs).step_limits(3 if speculating else 0)[0][own] == (400 if speculating else 300)


@pytest.mark.parametrize(
    ("load_kind", "load", "places"), [("batch", 64, 64), ("batch", 32, 48), ("concurrency", 64, 48)]
)
def test_requests_kept_in_the_engine_were_not_held_by_its_default(load_kind, load, places):
    stated = row(use_engine="sglang-0.5", load_kind=load_kind, load=load, num_requests=100)
    inputs = arm_inputs(BASE, arm(stated, speculating=True))
    assert Simulation(inputs).step_limits(3)[0][0] == places


def test_a_latency_that_falls_is_a_speedup():
    slower, faster = compared(row(metric="tpot_ms", baseline=10, with_speculation=5), row())
    assert slower.row.measured_speedup == 2
    assert (slower.speedup > 1).all()
    assert (faster.speedup > 1).all()


def test_each_arm_has_its_own_limits():
    stated = row(baseline_max_num_batched_tokens=512, speculation_max_num_batched_tokens=64, memory_fraction=0.8)
    arms = [Simulation(arm_inputs(BASE, arm(stated, speculating=which))) for which in (False, True)]
    limits = [simulation.step_limits(k)[0] for simulation, k in zip(arms, (0, 3), strict=True)]
    assert limits == [(256, 512), (256, 64)]  # vLLM's requests on an A100
    assert [simulation.inputs.engine.memory_fraction for simulation in arms] == [0.8, 0.8]


def test_a_smaller_budget_lengthens_the_time_to_first_token():
    ttft = {"metric": "ttft_ms", "baseline": 100, "with_speculation": None}
    wide, narrow = compared(row(**ttft), row(**ttft, baseline_max_num_batched_tokens=32, sweep="narrow"))
    assert narrow.baseline[0] > wide.baseline[0]


def test_a_rate_is_poisson():
    load = arm_inputs(BASE, arm(row(load_kind="rate", load=2.5), speculating=True)).scenario.workload.load
    assert load == Poisson(kind="poisson", rate="2.5 requests/s")


def test_the_row_overrides_a_scenario_and_the_scenario_fills_the_row():
    bare = Measurement.model_validate(
        {name: SMALL[name] for name in ("sweep", "load_kind", "load", "num_draft_tokens", "metric", "baseline")}
        | {"with_speculation": 500, "num_requests": 8}
    )
    assert left_out(bare, speculating=True)
    inputs = arm_inputs("llama3.1-8b-h100-eagle3", arm(bare, speculating=True))
    assert inputs.device == read_device("h100-sxm")
    assert inputs.scenario.workload.load == ClosedLoop(kind="closed_loop", concurrency=4)
    assert inputs.scenario.speculation.policy.num_draft_tokens == 3
    assert inputs.scenario.speculation.acceptance.values[0] == 0.683
    (result,) = compared(bare, scenario="llama3.1-8b-h100-eagle3")
    assert result.speedup is not None


def test_experts_are_spread_as_the_row_says():
    several = row(use_device="b200", use_model="deepseek-r1-nvfp4", use_drafter="{kind: mtp}", num_devices=8)
    for stated, groups in ((several, 1), (several.model_copy(update={"expert_parallel": 4}), 4)):
        for speculating in (False, True):
            deployment = arm_inputs(BASE, arm(stated, speculating=speculating)).scenario.deployment
            assert (deployment.tensor_parallel, deployment.expert_parallel) == (8, groups)


def test_arms_without_speculation_are_the_same_whatever_drafts():
    drafts = {"num_draft_tokens": 5, "acceptance": (), "acceptance_length": 2.0}
    other = row(use_drafter="{kind: draft_model, model: llama-3.2-1b}", **drafts)
    assert arm(row(), speculating=False) == arm(other, speculating=False)
    assert arm(row(), speculating=True) != arm(other, speculating=True)


def test_what_cannot_be_simulated_is_listed_with_the_reason():
    results = compared(
        row(),
        row(sweep="a", use_drafter="", drafter="ngram"),
        row(sweep="b", acceptance=()),
        row(sweep="c", use_drafter="{kind: telepathy}"),
        row(sweep="d", prompt_tokens=10**6),
    )
    assert [bool(result.reasons) for result in results] == [False, True, True, True, True]
    reasons = [" ".join(result.reasons) for result in results]
    assert reasons[1] == "no ngram drafter (use_drafter)"
    assert reasons[2] == "no acceptance"
    assert "unknown; write one of" in reasons[3]
    assert "the target takes at most 131072 tokens" in reasons[4]
    assert results[1].baseline is not None, "the other arm is simulated all the same"


def test_a_table_of_which_nothing_can_be_simulated_is_an_error():
    with pytest.raises(InputError, match="no row can be simulated: no device profile"):
        compared(row(use_device="", baseline=None))


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing():
    rows = [Located(2, row()), Located(3, row(sweep="b", load=2, baseline=150, with_speculation=250))]
    one, two = (validate(rows, where="", jobs=jobs) for jobs in (1, 2))
    for mine, theirs in zip(one, two, strict=True):
        assert mine.speedup.tolist() == theirs.speedup.tolist()


@pytest.mark.slow
def test_nothing_is_tuned_per_point():
    """Every published arm runs on its profiles as they are in their files, but for the limits that its row states."""
    files, device, engine, inputs_of = set(), cache(read_device), cache(read_engine), cache(arm_inputs)
    for _, stated in read_measurements(PUBLISHED):
        for speculating in (False, True):
            if left_out(stated, speculating=speculating):
                continue
            inputs = inputs_of(BASE, arm(stated, speculating=speculating))
            assert inputs.device == device(stated.use_device)
            profile = engine(stated.use_engine).limited_on(inputs.device)
            assert inputs.engine.model_dump(exclude=LIMITS) == profile.model_dump(exclude=LIMITS)
            files.add((stated.device, stated.engine, inputs.files["device"], inputs.files["engine"]))
    assert len(files) == len({(device, engine) for device, engine, *_ in files})


def test_outputs_of_one_token_have_no_time_between_tokens(tmp_path):
    """Nor does a mean over all rows become none."""
    scenario = tmp_path / "short.yaml"
    lengths = "{kind: fixed, prompt_tokens: 20, output_tokens: 1}"
    scenario.write_text(f"extends: llama3.1-8b-h100-eagle3\nname: short\nworkload: {{lengths: {lengths}}}\n")
    bare = row(prompt_tokens=None, output_tokens=None, metric="tpot_ms", baseline=10, with_speculation=9)
    (found,) = compared(bare, scenario=str(scenario))
    assert (found.baseline, found.with_speculation, found.speedup) == (None, None, None)
    assert found.reasons == ("an output of one token has no tpot_ms",)


def test_measurements_are_of_one_server():
    with pytest.raises(InputError, match=r"fleet.*measurements are of one server"):
        arm_inputs("llama3.1-8b-4xh100-fleet", Arm((), 3, None, None, None))
