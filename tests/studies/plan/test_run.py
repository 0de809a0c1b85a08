"""Plans: rates that fresh runs meet, queues that theory knows, and what a better server or a looser limit changes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from specsim.analysis.steady import steady_window
from specsim.errors import InfeasibleError
from specsim.inputs.models.base import MOST_IN_FLIGHT
from specsim.inputs.models.plan import Limit, Plan, limits_of
from specsim.inputs.read.overrides import Option
from specsim.inputs.read.scenario import load_scenario
from specsim.records import RequestRecords, RunRecords
from specsim.simulation.replica import Simulation
from specsim.studies.plan.arms import Arm, arms_of
from specsim.studies.plan.bound import Capacity, lower_bound
from specsim.studies.plan.capacity import capacity
from specsim.studies.plan.demand import Demand, counted, demand_of
from specsim.studies.plan.margins import percentiles_of, steady_percentiles
from specsim.studies.plan.run import FLOOR_REQUESTS, measure_arm, simulate_plan
from specsim.studies.plan.trials import Trials
from specsim.studies.plan.unloaded import unloaded_latencies

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
SHORT = "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}"
TTFT = "{ttft: {p99: 100 ms}}"
QUICK = ", width: 0.2, seeds: 3, min_requests: 300"
OWN = Arm(load_scenario(DEMO).scenario.speculation.policy)


def planned(*overrides, slo=TTFT, settings="", options=()):
    return load_scenario(DEMO, [SHORT, f"plan={{num_draft_tokens: [2], slo: {slo}{settings}}}", *overrides], options)


def trials_of(inputs, arm):
    return Trials(inputs, arm, limits_of(inputs.scenario.plan, inputs.scenario.slo))


def rates_at(inputs, number=500, seeds=3):
    """The largest rates by seed, of runs that are as long whatever the spread."""
    settings = {"min_requests": number, "most_requests": number, "seeds": seeds}
    plan = inputs.scenario.plan.model_copy(update=settings)
    return capacity(trials_of(inputs, arms_of(inputs.scenario)[-1]), plan)


@pytest.mark.parametrize("slo", [TTFT, "{tpot: {p90: 8 ms}}", "{e2e: {p50: 120 ms}}"])
def test_fresh_runs_meet_the_limits_at_the_bound_and_miss_them_above(slo):
    inputs = planned(slo=slo)
    arm = arms_of(inputs.scenario)[-1]
    trials, found = trials_of(inputs, arm), measure_arm(inputs, arm).capacity
    fresh = range(1000, 1040)
    assert sum(trials.margins(found.bound, seed, found.num_requests).max() <= 0 for seed in fresh) >= 36
    above = 1.1 * found.bound
    misses = [trials.margins(above, seed, found.num_requests).max() > 0 or above > found.saturated for seed in fresh]
    assert sum(misses) > 20


def test_the_bound_is_a_prediction_limit():
    # of normal logarithms with n = 6: a seventh exceeds the bound with a probability of 0.95
    rng = np.random.default_rng(7)
    logs = rng.standard_normal((20_000, 7))
    meets = [math.log(lower_bound(np.exp(row[:6]))) <= row[6] for row in logs]
    assert np.mean(meets) == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 20_000))


def test_seeds_that_agree_are_the_bound():
    assert lower_bound(np.full(4, 7.3)) == 7.3


def waiting_below(time, load, service):
    """P(W <= t) of the M/D/1 queue, by Erlang's formula (Erlang 1909; Franx, Oper. Res. Lett. 29 (2001) 221, eq. 1)."""
    rate, whole = load / service, int(time // service)
    terms = [
        (rate * (k * service - time)) ** k * math.exp(rate * (time - k * service)) / math.factorial(k)
        for k in range(whole + 1)
    ]
    return (1 - load) * math.fsum(terms)


def test_erlangs_formula_begins_with_an_idle_server_and_has_the_mean_of_pollaczek_and_khinchine():
    assert waiting_below(0.0, 0.6, 1.0) == pytest.approx(0.4)
    times = np.linspace(0, 12, 4801)
    survival = [1 - waiting_below(time, 0.6, 1.0) for time in times]
    assert np.trapezoid(survival, times) == pytest.approx(0.6 / (2 * 0.4), rel=1e-4)


@pytest.mark.parametrize("percentile", [50, 90])
def test_one_place_and_equal_requests_are_an_md1_queue(percentile):
    from scipy.optimize import brentq

    inputs = load_scenario(
        DEMO,
        [
            "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 4}",
            "workload.decode_only=true",
            f"plan={{slo: {{e2e: {{p{percentile}: 60 ms}}}}, min_requests: 4000, most_requests: 4000, seeds: 8}}",
        ],
    )
    engine = inputs.engine.model_copy(update={"max_num_seqs": 1, "speculation_max_num_seqs": None})
    inputs = type(inputs)(**{**vars(inputs), "engine": engine})
    trials = trials_of(inputs, Arm(None))
    service = 1 / trials.saturated()[0]
    found = capacity(trials, inputs.scenario.plan)
    wait = 0.060 - service
    load = brentq(lambda load: waiting_below(wait, load, service) - percentile / 100, 1e-3, 0.999)
    # rates of seeds lie on a grid of 1 %, at or below the true ones: half a step on average
    logs = np.log(found.rates * service) + 0.005
    error = math.hypot(logs.std(ddof=1), 0.01 / math.sqrt(12)) / math.sqrt(len(logs))
    assert logs.mean() == pytest.approx(math.log(load), abs=4 * error)
    assert found.binding == 0


def test_a_looser_limit_never_lowers_the_rate_of_a_seed():
    slos = [f"{{ttft: {{p90: {x} ms}}, e2e: {{p99: {4 * x} ms}}}}" for x in (25, 32, 45, 100)]
    rates = np.array([rates_at(planned(slo=slo)).rates for slo in slos])
    assert (np.diff(rates, axis=0) >= 0).all()
    assert (rates[-1] > rates[0]).all()


def test_a_faster_device_never_lowers_the_rate_of_a_seed():
    slow = planned("deployment.ideal=true")
    rates = []
    for factor in (1.0, 1.3, 2.0):
        memory = slow.device.memory.model_copy(update={"bandwidth": factor * slow.device.memory.bandwidth})
        device = slow.device.model_copy(update={"memory": memory})
        rates.append(rates_at(type(slow)(**{**vars(slow), "device": device})).rates)
    assert (np.diff(rates, axis=0) >= 0).all()


def test_rates_end_where_the_server_is_full():
    found = rates_at(planned(slo="{ttft: {p50: 1000 s}}"), number=4000)
    assert found.binding is None
    assert found.bound <= found.saturated < 1.03 * found.bound


def test_a_profile_with_more_places_than_memory_fills_has_a_saturated_rate_too():
    inputs = load_scenario(
        "theory-h100-ideal", ["workload.lengths={kind: fixed, prompt_tokens: 2000, output_tokens: 8}"]
    )
    assert inputs.engine.max_num_seqs == MOST_IN_FLIGHT
    places = 1000
    engine = inputs.engine.model_copy(update={"max_num_seqs": places})
    rates = [
        trials.saturated()
        for trials in (Trials(inputs, Arm(None), ()), Trials(replace(inputs, engine=engine), Arm(None), ()))
    ]
    assert rates[0][1] == rates[1][1] < places  # as many run at once, as memory holds
    assert rates[0][0] == pytest.approx(
        rates[1][0], rel=0.02
    )  # ramp and tail: some 200 run, of 4,000 requests and more


@pytest.mark.parametrize("load", ["{kind: gamma, rate: 4 requests/s, cv: 3}", "{kind: constant, rate: 4 requests/s}"])
def test_arrivals_keep_their_shape(load):
    bursty = "cv: 3" in load
    own, poisson = (
        rates_at(planned(f"workload.load={stated}")).mean for stated in (load, "{kind: poisson, rate: 4 requests/s}")
    )
    assert own < poisson if bursty else own > poisson


def test_limits_that_an_empty_system_misses_come_with_the_floor_and_its_parts():
    inputs = planned("speculation.policy.num_draft_tokens=2", slo="{ttft: {p99: 1 ms}, e2e: {p50: 10 s}}")
    with pytest.raises(InfeasibleError) as caught:
        simulate_plan(inputs, jobs=1)
    [problem] = caught.value.problems
    assert problem.path == "ttft p99"
    latency = min(
        unloaded_latencies(trials_of(inputs, arm), FLOOR_REQUESTS)[0].seconds for arm in arms_of(inputs.scenario)
    )
    assert f"{1e3 * latency:.4g} ms" in problem.remedy
    assert "weights" in problem.remedy


def test_an_arm_that_alone_misses_a_limit_says_so_and_the_others_are_planned():
    between = "{e2e: {p50: %.6f ms}}"
    alone = [unloaded_latencies(trials_of(planned(slo=between % 1e6), arm), 200)[0] for arm in (Arm(None), OWN)]
    plain, drafted = (latency.seconds for latency in alone)
    inputs = planned(slo=between % (500 * (plain + drafted)), settings=QUICK)
    missing, found = (measure_arm(inputs, arm) for arm in (Arm(None), OWN))
    assert drafted < plain
    assert missing.capacity.bound == 0
    assert missing.unloaded[0].missed
    assert found.capacity.bound > 0
    assert not found.unloaded


def test_parts_of_a_floor_are_those_of_the_steps_it_is_about():
    [first, later] = unloaded_latencies(trials_of(planned(slo="{ttft: {p50: 1 s}, tpot: {p50: 1 s}}"), Arm(None)), 100)
    assert sum(first.parts.values()) == pytest.approx(1)
    assert first.parts["compute"] > later.parts["compute"]
    assert next(iter(later.parts)) == "weights"


def test_what_is_short_is_what_there_is_little_of():
    base = planned(slo="{ttft: {p99: 1000 s}}", settings=QUICK)

    def short(**engine):
        changed = base.engine.model_copy(update=engine)
        return measure_arm(type(base)(**{**vars(base), "engine": changed}), Arm(None)).bottleneck

    places = short(max_num_seqs=4)
    assert places.resource == "max_num_seqs"
    assert places.utilisation > 0.8
    assert short(max_num_batched_tokens=128).resource == "token budget"
    long = load_scenario(
        DEMO,
        [
            "workload.lengths={kind: fixed, prompt_tokens: 30000, output_tokens: 300}",
            "plan={slo: {ttft: {p99: 1000 s}}, width: 0.3, min_requests: 200, most_requests: 400, seeds: 3}",
        ],
    )
    kept = type(long)(
        **{
            **vars(long),
            "scenario": long.scenario.model_copy(
                update={"workload": long.scenario.workload.model_copy(update={"decode_only": True})}
            ),
        }
    )
    assert measure_arm(kept, Arm(None)).bottleneck.resource == "KV"


def test_replicas_follow_the_rates():
    demand = Demand(np.array([10.0, 30.0]), np.array([5.0, 25.0]))
    assert demand.mean == pytest.approx(20)
    assert demand.replicas(5.0).tolist() == [1, 5]
    assert demand.replicas(5.1).tolist() == [1, 5]
    assert demand.replicas(4.9).tolist() == [2, 6]
    assert demand._replace(rates=np.array([0.0, 0.3])).replicas(5.0).tolist() == [0, 1]
    # of a trace, a replica that serves its peak serves more than the mean rate
    assert demand._replace(peak_over_mean=1.25).replicas(4.0).tolist() == [1, 5]


def test_a_profile_is_served_period_by_period():
    periods = "[{duration: 10 s, rate: 3 requests/s}, {duration: 20 s, rate: 0 requests/s}]"
    inputs = planned(f"workload.load={{kind: rate_profile, periods: {periods}}}")
    demand = demand_of(Simulation(inputs), inputs.scenario.plan)
    assert demand.rates.tolist() == [3.0, 0.0]
    assert demand.seconds.tolist() == [10.0, 20.0]
    assert demand_of(Simulation(inputs), Plan(rate="7 requests/s")).rates.tolist() == [7.0]


def test_the_result_does_not_depend_on_the_number_of_processes():
    inputs = planned("speculation.policy.num_draft_tokens=2", settings=QUICK)
    one, two = (simulate_plan(inputs, jobs=jobs) for jobs in (1, 2))
    assert [found.capacity.rates.tolist() for found in one.arms] == [
        found.capacity.rates.tolist() for found in two.arms
    ]


def test_costs_follow_from_rate_price_and_power():
    settings = QUICK + ", price_per_gpu_hour: 3.6, rate: 1000 requests/s"
    inputs = planned("speculation.policy.num_draft_tokens=2", settings=settings)
    result = simulate_plan(inputs, jobs=1)
    best = result.best
    per_s = best.capacity.bound * 16
    assert best.tokens_per_s == pytest.approx(per_s)
    assert result.dollars_per_million(best) == pytest.approx(1000 / per_s)
    serving = result.serving(best)
    replicas = math.ceil(1000 / best.capacity.bound)
    assert serving.gpus == replicas
    assert serving.dollars_per_million == pytest.approx(replicas * 1000 / (1000 * 16))
    assert result.joules_per_token(best) == pytest.approx(700 / per_s)
    assert serving.kilowatts == pytest.approx(0.7 * replicas)


def test_a_plan_compares_no_speculation_the_own_policy_and_kinds_at_lengths_each_once():
    off = "speculation.policy={kind: off_above, num_draft_tokens: 4, batch: 9}"
    names = [arm.name for arm in arms_of(planned(off, settings=", policies: [static, goodput]").scenario)]
    assert names == ["none", "off_above 4", "static 2", "goodput 2"]
    assert [arm.name for arm in arms_of(planned().scenario)] == ["none", "static 3", "static 2"]


def test_a_scenarios_own_slo_is_met_by_99_of_100():
    scenario = load_scenario(DEMO).scenario
    assert limits_of(Plan(), scenario.slo) == (Limit("ttft", 99, 0.5), Limit("tpot", 99, 0.025))


def test_too_wide_is_the_wider_of_two():
    rates = np.exp(np.array([-1.0, 1.0, 0.0]) * 0.03)
    found = Capacity(rates, 1000, 9.0, 0)
    assert found.over(0.03) == pytest.approx(max(found.half_width / 0.03, found.gap / 0.06))


def replayed(tmp_path, *overrides):
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.exponential(np.where(np.arange(800) < 400, 0.02, 0.005)))
    rows = [f"{time:.6f},{prompt},16" for time, prompt in zip(times, rng.integers(50, 150, 800), strict=True)]
    trace = tmp_path / "trace.csv"
    trace.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    lengths = f"workload.lengths={{kind: trace, file: '{trace}'}}"
    plan = f"plan={{slo: {TTFT}, seeds: 3, period: 2 s, num_draft_tokens: [3]}}"
    return load_scenario(
        DEMO, [lengths, "workload.load={kind: replay}", "workload.num_requests=800", plan, *overrides]
    ), times


def test_a_trace_is_sped_up_and_counted_by_period(tmp_path):
    inputs, times = replayed(tmp_path)
    trials = trials_of(inputs, Arm(None))
    assert trials.recorded_rate == pytest.approx(800 / times[-1], rel=1e-5)
    run = trials.run(2 * trials.recorded_rate, 0, 1)
    np.testing.assert_allclose(run.requests.arrival, times / 2, atol=1e-6)
    found = capacity(trials, inputs.scenario.plan)
    assert found.num_requests == 800
    demand = demand_of(Simulation(inputs), inputs.scenario.plan)
    assert (demand.rates * demand.seconds).sum() == 800
    assert demand.peak_over_mean == pytest.approx(demand.rates.max() * times[-1] / 800, rel=1e-5)
    # at twice the speed that one replica stands, two are needed at the peak and no more
    twice = demand._replace(rates=demand.rates * 1.99 * found.bound / trials.recorded_rate)
    assert twice.replicas(found.bound).max() == 2


@pytest.mark.parametrize(("end", "seconds"), [(10.0, [4, 4, 2]), (9.5, [4, 5.5]), (1.0, [1]), (8.0, [4, 4])])
def test_the_last_period_of_a_trace_is_as_long_as_the_trace(end, seconds):
    """Arrivals at one rate are one rate in every period, also in a part of one; less than half joins the one before."""
    demand = counted(np.arange(0.1, end + 0.05, 0.1), 4.0)
    assert demand.seconds == pytest.approx(seconds)
    assert demand.rates == pytest.approx(10, abs=0.5)
    assert demand.mean == pytest.approx(10)


def test_a_fleet_is_planned_as_a_whole():
    fleet = planned("fleet={replicas: 2, router: {kind: round_robin}}", settings=QUICK)
    alone = planned(settings=QUICK)
    two, one = (measure_arm(inputs, Arm(None)).capacity for inputs in (fleet, alone))
    assert two.saturated == pytest.approx(2 * one.saturated, rel=0.1)
    assert 1.5 * one.mean < two.mean < 2.5 * one.mean


def test_the_limit_that_binds_is_the_tight_one():
    tight, loose = (planned(slo=f"{{ttft: {{p99: 100 ms}}, itl: {{p90: {ms} ms}}}}") for ms in (9, 9000))
    found = [rates_at(inputs) for inputs in (tight, loose)]
    assert [each.binding for each in found] == [1, 0]  # limits are in the order of ttft, tpot, itl, e2e
    assert found[0].mean < found[1].mean


CHANGES = {
    "slo": {"slo": {"ttft": {"p99": "150 ms"}}},
    "policies": {"policies": ["goodput"]},
    "num_draft_tokens": {"num_draft_tokens": [4]},
    "rate": {"rate": "3 requests/s"},
    "period": {"period": "1 s"},
    "price_per_gpu_hour": {"price_per_gpu_hour": 2.0},
    "width": {"width": 0.05},
    "seeds": {"seeds": 4},
    "min_requests": {"min_requests": 500},
    "most_requests": {"most_requests": 500},
}


@pytest.mark.parametrize("field", Plan.model_fields)
def test_every_setting_changes_an_answer(tmp_path, field):
    """A setting without a case fails here."""
    trace, _ = replayed(tmp_path)
    base = {"slo": {"ttft": {"p99": "100 ms"}}, "width": 0.2, "seeds": 3, "min_requests": 300}

    def answers(settings):
        options = [Option(f"--{name}", f"plan.{name}", value) for name, value in settings.items()]
        inputs = planned(settings=QUICK, options=options)
        plan = inputs.scenario.plan
        found = capacity(trials_of(inputs, Arm(None)), plan)
        demand = demand_of(Simulation(trace), plan)
        arms = [arm.name for arm in arms_of(inputs.scenario)]
        return found.rates.tolist(), found.num_requests, demand.rates.tolist(), arms, plan.price_per_gpu_hour

    assert answers(base) != answers(base | CHANGES[field])


def test_percentiles_are_of_the_steady_window():
    """The first 100 of 1,000 requests come at once and wait 10 s, the others 1 s: none of these is in the window."""
    number, in_system = 1000, 100
    arrival = np.concatenate([np.zeros(in_system), np.arange(1.0, number - in_system + 1)])
    wait = np.where(np.arange(number) < in_system, 10.0, 1.0)
    first = arrival + wait
    zeros, ones = np.zeros(number, np.int64), np.ones(number, np.int64)
    requests = RequestRecords(arrival, arrival, first, first, ones, ones, zeros, zeros)
    run = RunRecords(requests, None, None, None)
    limits = [Limit("ttft", 99, 2.0)]
    assert steady_window(requests)[0] >= 10
    assert steady_percentiles(run, limits) == [1.0]
    assert percentiles_of(run, limits, None) == [10.0]
