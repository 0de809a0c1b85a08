"""Comparisons: a scenario is as good as itself, twice the device is better, and plans are those of specsim plan."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.errors import InfeasibleError
from specsim.inputs.read.compared import Asked, compared_inputs
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.compare.alike import share_arrivals, share_requests, unlike
from specsim.studies.compare.frontier import cells_of
from specsim.studies.compare.ranking import extra_cost, ranking
from specsim.studies.compare.run import compared_arms, simulate_comparison
from specsim.studies.compare.tables import cells_table, plans_table
from specsim.studies.plan.bound import Capacity, rate_ratio
from specsim.studies.plan.run import measure_arm, plan_of
from specsim.studies.plan.tables import plan_table

pytestmark = pytest.mark.slow

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 16}",
    "curve={batches: [1, 8, 64], replications: 3}",
    "plan={width: 0.5, seeds: 3, min_requests: 100, most_requests: 400}",
)
ONLY_POINTS = (*SMALL[:2], "slo={}")


def inputs_of(*variants, overrides=SMALL, **options):
    return compared_inputs(Asked([DEMO], variants, overrides, **options))


@pytest.fixture(scope="module")
def comparison():
    """The demo, itself again, and on two devices with twice as many requests to be served as one can."""
    variants = ("same: seed=1", "tp2: deployment.num_devices=2 deployment.tensor_parallel=2")
    options = {"slo": ["ttft:100"], "rate": "600 requests/s", "prices": ["3.6"]}
    return simulate_comparison(inputs_of(*variants, **options), jobs=1)


def rows(frame, name):
    return frame[frame["scenario"] == name].drop(columns=["scenario", "not_told_apart_from"], errors="ignore")


def test_a_scenario_is_exactly_as_good_as_itself(comparison):
    cells, ranked = cells_of(comparison), ranking(comparison)
    for frame in (cells_table(cells).frame(), plans_table(comparison, ranked).frame()):
        one, other = (rows(frame, name).reset_index(drop=True) for name in (DEMO, "same"))
        assert len(one) > 1
        assert one.equals(other)
    own, same = (next(o for o in ranked.offers if o.subject.name == name) for name in (DEMO, "same"))
    ratio = extra_cost(own, same)
    assert (ratio.estimate, ratio.low, ratio.high) == (1, 1, 1)


def test_members_of_the_frontier_are_not_told_apart_from_the_same_again(comparison):
    cells = cells_of(comparison)
    for place, cell in enumerate(cells):
        if cell.frontier and cell.subject.name == DEMO:
            twin = next(
                i
                for i, other in enumerate(cells)
                if (other.subject.name, other.arm, other.batch) == ("same", cell.arm, cell.batch)
            )
            assert twin in cell.ties
            assert cells[twin].frontier
            assert place in cells[twin].ties


def test_throughput_is_that_of_all_devices(comparison):
    table = cells_table(cells_of(comparison)).frame()
    assert (table["tokens_per_s_per_gpu"] * table["gpus"]).to_numpy() == pytest.approx(table["tokens_per_s"].to_numpy())
    assert table.groupby("scenario")["gpus"].first().to_dict() == {DEMO: 1, "same": 1, "tp2": 2}
    # a user of two devices has more tokens/s than one of one, and each device fewer than twice as many
    fast, slow = (table[(table["scenario"] == name) & (table["batch"] == 8)].iloc[0] for name in ("tp2", DEMO))
    assert fast["tokens_per_s_per_user"] > slow["tokens_per_s_per_user"]
    assert fast["tokens_per_s_per_gpu"] < slow["tokens_per_s_per_gpu"]


def test_costs_in_closed_form(comparison):
    table = plans_table(comparison, ranking(comparison)).frame()
    assert table["gpus"].tolist() == (np.ceil(600 / table["requests_per_s"]) * table["gpus_per_replica"]).tolist()
    assert table["dollars_per_hour"].tolist() == pytest.approx((3.6 * table["gpus"]).tolist())
    assert table["tokens_per_s"].tolist() == pytest.approx((16 * table["requests_per_s"]).tolist())
    # 3.6 dollars an hour are a thousandth of a dollar a second
    expected = 1e6 * table["gpus_per_replica"] * 1e-3 / table["tokens_per_s"]
    assert table["dollars_per_million_tokens"].tolist() == pytest.approx(expected.tolist())
    ranked = ranking(comparison)
    assert [offer.dollars_per_hour for offer in ranked.offers] == sorted(o.dollars_per_hour for o in ranked.offers)
    best, last = ranked.offers[0], ranked.offers[-1]
    means = [offer.result.capacity.mean / offer.plan.num_devices for offer in (best, last)]
    if best.result.capacity.num_requests == last.result.capacity.num_requests:
        assert extra_cost(last, best).estimate == pytest.approx(means[0] / means[1])


def test_a_plan_is_that_of_specsim_plan(comparison):
    subject = comparison.subjects[-1]
    planned = plan_of(subject.inputs, [measure_arm(subject.inputs, arm) for arm in subject.arms])
    expected, found = plan_table(subject.inputs.scenario, planned).frame(), plans_table(comparison, None).frame()
    own = found[found["scenario"] == subject.name]
    assert own[list(expected)].to_csv(index=False) == expected.to_csv(index=False)


def test_the_order_of_scenarios_changes_no_number():
    variants = ("b: deployment.device=h200", "c: deployment.weight_format=fp8")
    tables = []
    for inputs in (inputs_of(*variants, overrides=ONLY_POINTS), inputs_of(*variants, overrides=ONLY_POINTS)[::-1]):
        table = cells_table(cells_of(simulate_comparison(inputs, jobs=1))).frame().drop(columns="not_told_apart_from")
        tables.append(table.sort_values(["scenario", "policy", "batch"], ignore_index=True))
    assert tables[0].equals(tables[1])


def on(inputs, name, factor):
    """The inputs under another name, on a device that has so many times the bandwidth and FLOPs."""
    device = inputs.device
    memory = device.memory.model_copy(update={"bandwidth": factor * device.memory.bandwidth})
    stated = {form: getattr(device.peak, form) for form in device.peak.model_fields_set}
    peaks = {form: factor * peak for form, peak in stated.items()}
    changed = device.model_copy(update={"memory": memory, "peak": device.peak.model_copy(update=peaks)})
    return replace(inputs, device=changed, scenario=inputs.scenario.model_copy(update={"name": name}))


def test_twice_the_device_is_twice_as_good_everywhere():
    """Without launches and host times, steps take half as long."""
    base = inputs_of("x: seed=2", overrides=(*ONLY_POINTS, "deployment.ideal=true"))[0]
    cells = cells_of(simulate_comparison([base, on(base, "twice", 2.0)], jobs=1))
    slow, fast = ([cell for cell in cells if cell.subject.name == name] for name in (DEMO, "twice"))
    for one, two in zip(slow, fast, strict=True):
        np.testing.assert_allclose(two.per_user, 2 * one.per_user, rtol=1e-9)
        np.testing.assert_allclose(two.per_gpu, 2 * one.per_gpu, rtol=1e-9)
    assert not any(cell.frontier for cell in slow)
    assert any(cell.own_frontier for cell in slow)


def test_a_faster_device_never_raises_gpus():
    settings = (*SMALL[:2], "plan={width: 0.2, seeds: 3, min_requests: 500, most_requests: 500}")
    options = {"slo": ["ttft:100"], "rate": "2000 requests/s", "overrides": (*settings, "deployment.ideal=true")}
    base = inputs_of("x: seed=2", **options, batches="1")[0]
    compared = [on(base, f"times-{factor}", factor) for factor in (1.0, 1.2, 1.6, 2.5)]
    table = plans_table(simulate_comparison(compared, jobs=1), None).frame()
    for _, rows_of_arm in table.groupby("num_draft_tokens"):
        gpus = rows_of_arm["gpus"].tolist()
        assert gpus == sorted(gpus, reverse=True)
        assert gpus[0] > gpus[-1]


def test_the_users_rate_is_that_of_a_load():
    """The same tokens/s/user and tokens/s/GPU as ``specsim simulate`` would compute of the same runs."""
    from specsim.analysis.latencies import LatencyLimits
    from specsim.analysis.run_metrics import METRICS
    from specsim.analysis.run_view import RunView, Server
    from specsim.analysis.settling import settled_windows
    from specsim.inputs.models.workload import ClosedLoop
    from specsim.simulation.in_flight import drawn_in_flight
    from specsim.simulation.replica import Simulation
    from specsim.studies.shared.points import Point, run_point

    inputs = load_scenario(DEMO, [*SMALL[:2], "curve={replications: 3, requests_per_slot: 4}"])
    simulation, load = Simulation(inputs), ClosedLoop(kind="closed_loop", concurrency=8)
    server = Server(LatencyLimits(), np.ones(1, np.int64), np.ones(1), 1)
    for k in (0, 3):
        point = run_point(inputs, Point(8, k))
        runs = [
            simulation.run(
                load,
                num_draft_tokens=k,
                num_requests=point.num_requests,
                replication=replication,
                in_flight=drawn_in_flight(simulation, 8, k, point.num_requests, replication),
            )
            for replication in range(3)
        ]
        views = [
            RunView(run, window, server)
            for run, window in zip(runs, settled_windows(runs, begun_settled=True), strict=True)
        ]
        for name, found in (("tokens/s/user", point.tokens_per_s_per_user), ("tokens/s/GPU", point.tokens_per_s)):
            (metric,) = [metric for metric in METRICS if metric.name == name]
            assert found.tolist() == [metric.value(view) for view in views]


def test_arms_are_no_speculation_and_the_own_policy_unless_lengths_are_named():
    def names(*overrides):
        return [arm.name for arm in compared_arms(load_scenario(DEMO, overrides))]

    assert names() == ["none", "static 3"]
    assert names("speculation.policy.num_draft_tokens=0") == ["none"]
    assert names("plan={num_draft_tokens: [1, 5]}") == ["none", "static 3", "static 1", "static 5"]
    assert names("plan={policies: [goodput], num_draft_tokens: [5]}") == ["none", "static 3", "goodput 5"]


def test_arms_that_can_never_run_are_named_and_the_others_compared():
    variants = (
        "small: deployment.device=a100-sxm-40gb",
        "big: deployment.target=llama-3.1-70b speculation.drafter={kind: draft_model, model: llama-3.2-1b}",
    )
    longer = ("workload.lengths={kind: fixed, prompt_tokens: 120000, output_tokens: 16}", *SMALL[1:])
    model = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
    inputs = inputs_of(*variants, overrides=(*longer, model, "slo={}"), batches="1")
    found = simulate_comparison(inputs, jobs=1)
    own, small, big = found.subjects
    assert [arm.name for arm in own.arms] == ["none", "static 3"]
    assert [arm.name for arm in small.arms] == ["none"]
    assert "KV pool" in small.never["static 3"][0].remedy
    assert not big.arms
    assert set(big.never) == {"none", "static 3"}
    assert {cell.subject.name for cell in cells_of(found)} == {DEMO, "small"}
    with pytest.raises(InfeasibleError):
        simulate_comparison([inputs[2]], jobs=1)


def test_where_none_meets_the_limits_the_floors_are_the_answer():
    inputs = inputs_of("h200: deployment.device=h200", slo=["tpot:0.1"], batches="1")
    with pytest.raises(InfeasibleError) as caught:
        simulate_comparison(inputs, jobs=1)
    assert [problem.where for problem in caught.value.problems] == [DEMO, "h200"]
    assert all("even an empty system takes" in problem.remedy for problem in caught.value.problems)


def test_what_is_paired_and_what_to_beware_of():
    base, seed, gamma, lengths, h200 = inputs_of(
        "seed: seed=2",
        "gamma: workload.load={kind: gamma, rate: 4 requests/s, cv: 2}",
        "lengths: workload.lengths={kind: fixed, prompt_tokens: 9, output_tokens: 16}",
        "h200: deployment.device=h200 deployment.weight_format=fp8 speculation.policy.num_draft_tokens=2",
    )
    assert share_requests(base, h200)
    assert share_arrivals(base, h200)
    assert share_requests(base, gamma)
    assert not any(share_arrivals(base, other) for other in (seed, gamma, lengths))
    assert unlike([base, h200], lambda one: "") == []
    found = unlike([base, seed, gamma, lengths], lambda one: f"{one.scenario.workload.lengths.prompt_tokens} in")
    assert {each.what: each.values for each in found} == {
        "seed": {"1": [DEMO, "gamma", "lengths"], "2": ["seed"]},
        "requests": {"100 in": [DEMO, "seed", "gamma"], "9 in": ["lengths"]},
        "arrivals": {"poisson": [DEMO, "seed", "lengths"], "gamma with a cv of 2": ["gamma"]},
    }


def test_seeds_that_both_have_are_paired():
    one, other = (Capacity(np.array(rates), 1000, 99.0, None) for rates in ([2.0, 4.0, 8.0, 3.0], [1.0, 2.0, 4.0]))
    ratio = rate_ratio(one, other)
    assert (ratio.estimate, ratio.low, ratio.high, ratio.n) == pytest.approx((2, 2, 2, 3))
    apart = rate_ratio(one, other, paired=False)
    assert apart.low < 1 < apart.high
    assert rate_ratio(one, other._replace(num_requests=500)) == apart
    assert rate_ratio(one, other._replace(rates=np.zeros(3))) is None


def test_prices_turn_the_ranking(comparison):
    def ranked(*prices):
        priced = [
            replace(subject, plan=replace(subject.plan, price=price, demand=None))
            for subject, price in zip(comparison.subjects, prices, strict=True)
        ]
        return ranking(replace(comparison, subjects=tuple(priced)))

    assert [offer.subject.name for offer in ranked(2.0, 3.0, 0.5).offers] == ["tp2", DEMO, "same"]
    assert [offer.subject.name for offer in ranked(3.0, 2.0, 9.0).offers] == ["same", DEMO, "tp2"]
    assert [offer.subject.name for offer in ranked(2.0, 2.0, 9.0).offers] == [DEMO, "same", "tp2"]  # of equals by name
    found, bare = ranked(2.0, 2.0, 9.0), ranked(None, None, None)
    assert (found.basis, found.same_demand, found.one_device) == ("dollars per token", False, True)
    assert bare.basis == "tokens per GPU"
    assert ranking(comparison).basis == "dollars per hour"


def test_requests_that_differ_are_compared_by_their_tokens(comparison):
    """Twice the tokens a request at the same rate of requests halve the cost of a token."""
    cheap, dear, *_ = ranking(comparison).offers
    _, other = inputs_of("lengths: workload.lengths={kind: fixed, prompt_tokens: 9, output_tokens: 16}")
    dear = replace(dear, subject=replace(dear.subject, inputs=other))
    longer = replace(dear, result=dear.result._replace(tokens_per_request=2 * dear.result.tokens_per_request))
    once, twice = extra_cost(dear, cheap), extra_cost(longer, cheap)
    assert (twice.estimate, twice.low, twice.high) == pytest.approx((once.estimate / 2, once.low / 2, once.high / 2))
