"""The cheapest settings: what brute force finds, from seeds that the search did not use, whatever the processes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from specsim.errors import InfeasibleError, InputError
from specsim.inputs.models.optimize import Optimize
from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.optimize import finalists, proposals, short_runs
from specsim.studies.optimize.infeasible import barred
from specsim.studies.optimize.optimum import Finalist, Trial, distinct
from specsim.studies.optimize.run import simulate_optimum
from specsim.studies.optimize.space import Settings, Space, changed, limited, own_settings, space_of
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.bottleneck import Bottleneck
from specsim.studies.plan.bound import Capacity, rate_ratio
from specsim.studies.plan.result import ArmResult
from specsim.studies.plan.run import measure_arm, simulate_plan

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
SHORT = "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}"
QUICK = "width: 0.2, seeds: 3, min_requests: 300"
SPACE = "tensor_parallel: [1], max_num_seqs: [8, 32], token_budget: [512], num_draft_tokens: [1, 3]"


def searched(*overrides, slo="{ttft: {p99: 100 ms}}", settings=QUICK, space=f"{SPACE}, policies: [none, static]"):
    return load_scenario(DEMO, [SHORT, f"plan={{slo: {slo}, {settings}}}", f"optimize={{{space}}}", *overrides])


def policy_of(settings):
    return StaticPolicy(num_draft_tokens=settings.num_draft_tokens) if settings.num_draft_tokens else None


@pytest.fixture(scope="module")
def brute():
    """Every combination of the small space, measured as a plan does: settings → result."""
    inputs = searched()
    found = {}
    for settings in space_of(inputs).combinations():
        policy = policy_of(settings)
        found[settings] = measure_arm(changed(inputs, settings, policy), Arm(policy))
    return found


@pytest.fixture(scope="module")
def optimum():
    return simulate_optimum(searched("optimize.finalists=2"), jobs=1)


def test_brute_force_finds_the_same(brute, optimum):
    cheapest = max(brute, key=lambda settings: brute[settings].tokens_per_s)  # all have one device
    assert optimum.best.settings == cheapest
    assert optimum.best.result.capacity.rates.tolist() == brute[cheapest].capacity.rates.tolist()
    assert optimum.best.gpu_seconds == 1e6 / brute[cheapest].tokens_per_s
    assert len(optimum.trials) == len(brute) == 6
    assert not optimum.sampled


def test_the_runner_up_is_the_next_cheapest_combination(brute, optimum):
    assert optimum.runner_up.gpu_seconds == optimum.finalists[1].gpu_seconds >= optimum.best.gpu_seconds
    ratio = optimum.best.cost_over(optimum.runner_up)
    rates = [one.result.capacity.rates for one in (optimum.best, optimum.runner_up)]
    assert ratio.estimate == pytest.approx(float(np.exp(np.log(rates[1] / rates[0]).mean())))
    assert ratio.low <= ratio.estimate <= ratio.high


def test_the_scenario_as_it_stands_is_measured_too(optimum):
    own = optimum.own
    assert own.settings is None  # its 1,024 places are none of those searched
    assert own.limits == (1024, 8192)
    plan = simulate_plan(searched("plan.num_draft_tokens=[3]"), jobs=1)
    assert own.result.capacity.rates.tolist() == plan.arms[1].capacity.rates.tolist()


def test_a_space_of_one_point_gives_the_plans_own_number(brute):
    space = "tensor_parallel: [1], max_num_seqs: [32], token_budget: [512], num_draft_tokens: [3], policies: [static]"
    found = simulate_optimum(searched(space=space), jobs=1)
    settings = Settings(1, 32, 512, "static", 3)
    assert found.trials == ()
    one = next(one for one in found.finalists if one.settings == settings)
    assert one.result.capacity.rates.tolist() == brute[settings].capacity.rates.tolist()


def test_the_search_has_seeds_of_its_own(monkeypatch):
    seeds = {"short": set(), "final": set()}

    def watched(where):
        measure = short_runs.measure_or_say

        def call(inputs, arm):
            seeds[where].add(inputs.scenario.seed)
            return measure(inputs, arm)

        return call

    short, final = watched("short"), watched("final")
    monkeypatch.setattr(short_runs, "measure_or_say", short)
    monkeypatch.setattr(finalists, "measure_or_say", final)
    space = "tensor_parallel: [1], max_num_seqs: [4, 8], token_budget: [512], policies: [none], finalists: 1"
    off = ("speculation.policy.num_draft_tokens=0", "curve.num_draft_tokens=[1]")
    simulate_optimum(searched(*off, space=space), jobs=1)
    assert seeds["final"] == {1}
    assert not seeds["short"] & seeds["final"]


def test_a_looser_limit_never_costs_more():
    fixed = "width: 0.2, seeds: 3, min_requests: 400, most_requests: 400"
    costs = []
    space = "tensor_parallel: [1], max_num_seqs: [32], token_budget: [512], num_draft_tokens: [3], finalists: 6"
    for ms in (40, 60, 120):
        slo = f"{{ttft: {{p90: {ms} ms}}}}"
        inputs = searched(slo=slo, settings=fixed, space=f"{space}, policies: [none, static]")
        found = simulate_optimum(inputs, jobs=1)
        means = [one.num_devices / one.result.capacity.mean for one in found.finalists if one.result.capacity.bound]
        costs.append(min(means))
    assert costs[0] > costs[1] > costs[2]


def test_twice_the_devices_cost_twice_at_equal_rates(optimum):
    one = optimum.best
    deployment = one.inputs.scenario.deployment.model_copy(update={"tensor_parallel": 2, "num_devices": 2})
    scenario = one.inputs.scenario.model_copy(update={"deployment": deployment})
    two = one._replace(inputs=replace(one.inputs, scenario=scenario))
    assert two.gpu_seconds == 2 * one.gpu_seconds
    assert two.cost_over(one).estimate == 2.0
    trial = optimum.trials[0]
    assert trial._replace(num_devices=2).gpu_seconds == 2 * trial.gpu_seconds


def test_prices_multiply_gpu_seconds(optimum):
    assert optimum.cost(3600.0) == 3600.0
    assert replace(optimum, price=2.5).cost(3600.0) == 2.5


def test_limits_that_nothing_meets_come_with_the_floor():
    for many in (1, 6):
        inputs = searched(f"optimize.finalists={many}", slo="{tpot: {p50: 10 us}}", settings=QUICK)
        with pytest.raises(InfeasibleError) as caught:
            simulate_optimum(inputs, jobs=1)
        [problem] = caught.value.problems
        assert problem.path == "tpot p50"
        assert "even an empty system takes" in problem.remedy
        assert "TP 1" in problem.remedy


def test_what_can_never_run_is_left_out_with_its_reason():
    space = "tensor_parallel: [1, 3], max_num_seqs: [8, 1024], token_budget: [512], policies: [none]"
    inputs = searched(space=space)
    found = barred(inputs, space_of(inputs))
    assert {settings[:2] for settings in found} == {(3, 8), (1, 1024), (3, 1024)}
    assert "does not divide the target's 32 attention heads" in found[Settings(3, 8, 512, "none", 0)]
    assert "which vLLM refuses" in found[Settings(1, 1024, 512, "none", 0)]


def test_weights_that_do_not_fit_are_a_reason_of_that_many_devices():
    space = "tensor_parallel: [1, 4], max_num_seqs: [8], token_budget: [512], policies: [none, static]"
    inputs = load_scenario("llama3.1-70b-4xh100-draft-1b", [f"optimize={{{space}, num_draft_tokens: [1]}}"])
    found = barred(inputs, space_of(inputs))
    assert {settings.tensor_parallel for settings in found} == {1}
    assert all("the weights need" in reason for reason in found.values())


def test_where_nothing_can_run_every_reason_is_said():
    space = "tensor_parallel: [3, 5], max_num_seqs: [8], token_budget: [512], policies: [none]"
    with pytest.raises(InfeasibleError) as caught:
        simulate_optimum(searched(space=space), jobs=1)
    assert [problem.remedy.partition(":")[0] for problem in caught.value.problems] == ["TP 3", "TP 5"]


@pytest.mark.parametrize("name", ["llama3.1-8b-4xh100-fleet", "llama3.1-8b-h100-eagle3-tree"])
def test_fleets_and_trees_are_refused(name):
    with pytest.raises(InputError, match=r"leave it out|take the tree out"):
        simulate_optimum(load_scenario(name), jobs=1)


def test_defaults_lie_about_the_profile():
    space = space_of(load_scenario(DEMO))
    assert space.tensor_parallel == (1, 2, 4, 8)
    assert space.max_num_seqs == (128, 256, 512, 1024)
    assert space.token_budget == (2048, 4096, 8192, 16384)
    assert space.policies == ("none", "static", "schedule")
    assert space.size == len(list(space.combinations())) == 4 * 4 * 4 * 7
    ideal = space_of(load_scenario("theory-h100-ideal"))
    assert max(ideal.max_num_seqs) == 1024
    planned = space_of(load_scenario(DEMO, ["plan={policies: [static, goodput], num_draft_tokens: [2]}"]))
    assert planned.policies == ("none", "static", "schedule", "goodput")
    assert planned.num_draft_tokens == (2,)


def test_a_space_too_large_to_check_is_refused():
    places = list(range(1, 1001))
    space = f"max_num_seqs: {places}, token_budget: {places}"
    with pytest.raises(InputError, match="more than 100,000"):
        space_of(load_scenario(DEMO, [f"optimize={{{space}}}"]))


def test_a_profile_keeps_its_limits_or_has_them_for_both_ways():
    engine = load_scenario(DEMO, ["deployment.engine=sglang-0.5"]).engine
    assert engine.speculation_max_num_seqs == 48
    found = limited(engine, 256, 8192)
    assert (found.max_num_seqs, found.speculation_max_num_seqs, found.max_num_batched_tokens) == (256, None, 8192)
    assert found.sources["max_num_seqs"].reference.startswith("set by specsim optimize")
    assert found.sources["max_num_batched_tokens"] == engine.sources["max_num_batched_tokens"]
    plain = load_scenario(DEMO).engine
    assert limited(plain, plain.max_num_seqs, plain.max_num_batched_tokens) is plain


def bottleneck_of(**parts):
    shares = dict.fromkeys(Bottleneck._fields[1:-2], 0.5) | {"preemptions": 0, "parts": {}}
    return Bottleneck(resource="compute", **(shares | parts))


def trial(settings, rates=(5.0, 6.0, 7.0), **parts):
    capacity = Capacity(np.array(rates), 1000, 9.0, 0)
    arm = Arm(policy_of(settings))
    return Trial(settings, arm, 1, ArmResult(arm, capacity, (), bottleneck_of(**parts), 16.0, None), 16.0)


def test_of_equal_runs_the_one_that_changes_least_is_kept():
    own = Settings(1, 1024, 8192, "static", 3)
    one, same, other = own._replace(max_num_seqs=64), own, own._replace(token_budget=512)
    assert [t.settings for t in distinct([trial(one), trial(same)], own)] == [same]
    assert len(distinct([trial(one), trial(other, busy=0.6)], own)) == 2
    assert len(distinct([trial(one), trial(other, rates=(5.0, 6.0, 7.1))], own)) == 2


def test_ratios_pair_the_seeds_that_both_have():
    one, other = (Capacity(np.array(rates), 1000, 9.0, 0) for rates in ([2.0, 4.0, 6.0, 9.0], [1.0, 2.0, 3.0]))
    assert rate_ratio(one, other).estimate == pytest.approx(2.0)
    assert rate_ratio(one, other).high == pytest.approx(2.0)
    apart = rate_ratio(one, other._replace(num_requests=2000))
    assert apart.low < 2.0 < apart.high
    assert rate_ratio(one, other._replace(rates=np.zeros(3))) is None


LARGE = Space(
    (1, 2, 4, 8), (128, 256, 512, 1024), (2048, 4096, 8192, 16384), ("none", "static", "schedule"), (1, 2, 3, 4, 5)
)


def made_up_cost(settings):
    """Smooth, with its least at one place."""
    group, places, budget, kind, length = settings
    own = {"none": 0.35, "schedule": 0.2, "static": 0.12 * abs(length - 2)}[kind]
    return group**0.8 * (1 + own) * (1 + 0.3 * abs(math.log2(places / 256)) + 0.05 * abs(math.log2(budget / 8192)))


def proposed(trials, seed, possible=None, first=()):
    known = {}
    source = proposals.proposals(LARGE, possible or list(LARGE.combinations()), first, trials, seed)
    batch = next(source)
    while True:
        assert not known.keys() & set(batch)
        costs = {settings: made_up_cost(settings) for settings in batch}
        known |= costs
        try:
            batch = source.send(costs)
        except StopIteration:
            return known


def test_a_search_finds_what_chance_would_not():
    """The best of 40 drawn blindly is among the 9 best of 448 with a probability of 0.57; eight times in a row, 1 %."""
    pytest.importorskip("optuna")
    good = sorted(map(made_up_cost, LARGE.combinations()))[8]
    assert all(min(proposed(40, seed).values()) <= good for seed in range(8))


def test_proposals_are_new_possible_and_the_same_for_a_seed():
    pytest.importorskip("optuna")
    possible = [settings for settings in LARGE.combinations() if settings.tensor_parallel < 8]
    first = [Settings(2, 512, 4096, "static", 3), Settings(8, 512, 4096, "none", 0)]
    found = list(proposed(24, 3, possible, first))
    assert found == list(proposed(24, 3, possible, first))
    assert found != list(proposed(24, 4, possible, first))
    assert len(found) == 24
    assert set(found) <= set(possible)
    assert found[0] == first[0]


def test_a_space_within_the_trials_is_tried_whole_without_optuna(monkeypatch):
    monkeypatch.setattr(proposals, "find_spec", lambda name: None)
    every = list(LARGE.combinations())
    assert list(proposed(len(every), 1)) == every
    with pytest.raises(InputError, match=r"needs optuna, which is not installed; install specsim-llm\[optimize\]"):
        proposed(len(every) - 1, 1)


def test_a_schedule_is_derived_once_for_each_number_of_devices(monkeypatch):
    curves = []
    simulate = short_runs.simulate_curve

    def counted(inputs, **options):
        curves.append((inputs.scenario.deployment.tensor_parallel, inputs.scenario.seed))
        return simulate(inputs, **options)

    monkeypatch.setattr(short_runs, "simulate_curve", counted)
    curve = "curve={batches: [1, 512], replications: 2, requests_per_slot: 3}"
    space = "tensor_parallel: [1, 2], max_num_seqs: [8, 16], token_budget: [512], num_draft_tokens: [5]"
    inputs = searched(curve, "speculation.policy.num_draft_tokens=5", space=f"{space}, policies: [schedule]")
    found = simulate_optimum(inputs, jobs=1)
    assert [group for group, _ in curves] == [1, 2]
    assert all(seed != inputs.scenario.seed for _, seed in curves)
    arms = {one.num_devices: one.arm for one in found.finalists if one.settings}
    assert arms[1].policy.kind == "schedule"
    assert arms[1].policy.rows[0].num_draft_tokens == 5


CHANGES = {
    "tensor_parallel": {"tensor_parallel": [2]},
    "max_num_seqs": {"max_num_seqs": [16]},
    "token_budget": {"token_budget": [1024]},
    "num_draft_tokens": {"num_draft_tokens": [2]},
    "policies": {"policies": ["none"]},
}


@pytest.mark.parametrize("field", CHANGES)
def test_every_setting_changes_the_space(field):
    base = load_scenario(DEMO)
    stated = Optimize.model_validate(CHANGES[field])
    assert space_of(replace(base, scenario=base.scenario.model_copy(update={"optimize": stated}))) != space_of(base)
    assert set(CHANGES) | {"trials", "finalists"} == set(Optimize.model_fields)  # of which tests above are


def test_own_settings_are_the_nearest_ones():
    inputs = searched()
    assert own_settings(inputs, space_of(inputs)) == Settings(1, 32, 512, "static", 3)
    off = searched("speculation.policy={kind: off_above, num_draft_tokens: 2, batch: 9}")
    assert own_settings(off, space_of(off)) == Settings(1, 32, 512, "static", 3)


def test_finalists_without_a_rate_cost_infinitely_much(optimum):
    none = ArmResult(Arm(None), Capacity(np.zeros(3), 300, 1.0, None), (), None, 0.0, None)
    assert Finalist(None, Arm(None), optimum.best.inputs, none, False).gpu_seconds == math.inf
