"""A fleet of a scenario: its groups are what they say, and so is what passes between them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from specsim.analysis.invariants import violations_of_all
from specsim.analysis.latencies import itl
from specsim.analysis.metrics import mean_running_batch
from specsim.analysis.run_view import RunView
from specsim.engine.config import ReplicaConfig
from specsim.errors import InfeasibleError, InputError
from specsim.inputs.models.workload import ClosedLoop, Poisson
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.fleet import simulation_of
from specsim.simulation.replica import Simulation

DEMO = "llama3.1-8b-h100-eagle3"
PREFIXES = str(Path(__file__).parent / "shared_prefixes.jsonl")
REPLAY = (f"workload.lengths={{kind: trace, file: '{PREFIXES}'}}", "workload.load={kind: replay}")
APART = "fleet={disaggregation: {prefill: 2, decode: 2, kv_transfer: {bandwidth: 50 GB/s, latency: 1 ms}}}"
KV_BYTES_PER_TOKEN = 2 * 32 * 8 * 128 * 2  # keys and values, layers, heads, their size, BF16
DRAFT_KV_BYTES = 2 * 1 * 8 * 128 * 2


def run(fleet, load=None, *, num_draft_tokens=3, num_requests=48, overrides=(), replication=0):
    inputs = load_scenario(DEMO, [f"fleet={fleet}" if not fleet.startswith("fleet") else fleet, *overrides])
    return simulation_of(inputs).run(
        load or ClosedLoop(kind="closed_loop", concurrency=16),
        num_draft_tokens=num_draft_tokens,
        num_requests=num_requests,
        replication=replication,
        policy=inputs.scenario.speculation.policy if num_draft_tokens else None,
    )


def test_a_fleet_of_one_is_the_scenario_without_it():
    inputs, load = load_scenario(DEMO), ClosedLoop(kind="closed_loop", concurrency=16)
    alone = Simulation(inputs).run(load, num_draft_tokens=3, num_requests=48, replication=0)
    together = run("{replicas: 1, router: {kind: least_loaded}}")
    for name in ("requests", "steps", "rounds", "tally"):
        for field in dataclasses.fields(getattr(alone, name)):
            one, other = (getattr(getattr(records, name), field.name) for records in (alone, together))
            if one is not None:
                np.testing.assert_array_equal(one, other)
    metrics = [RunView(records) for records in (alone, together)]
    assert metrics[0].client_tokens_per_s == metrics[1].client_tokens_per_s
    # one sums spans, the other what they cover; both round a few times a step
    assert metrics[0].running_batch == pytest.approx(metrics[1].running_batch, rel=1e-12)


@pytest.mark.slow
def test_requests_in_flight_are_those_of_the_whole_fleet():
    found = run("{replicas: 4, router: {kind: least_loaded}}", num_requests=160, num_draft_tokens=0)
    np.testing.assert_array_equal(found.steps.num_running[:4], 4)
    window = found.requests.finish.min(), float(found.requests.arrival.max())
    assert mean_running_batch(found.steps, window) == pytest.approx(16, rel=1e-9)


def test_groups_have_their_own_hardware_and_policy():
    groups = (
        "{replicas: [{count: 1}, {deployment: {device: h200}}, {deployment: {num_devices: 2, tensor_parallel: 2}}, "
        "{policy: {num_draft_tokens: 0}}], router: {kind: round_robin}}"
    )
    found = run(groups, Poisson(kind="poisson", rate="8 requests/s"))
    steps, pools = found.steps, simulation_of(load_scenario(DEMO, [f"fleet={groups}"])).kv_pools(3)
    weights = [steps.parts[steps.replica == replica, 0].min() for replica in range(4)]
    assert weights[1] < weights[0], "an H200 streams weights faster"
    assert weights[2] < weights[0], "and so do two devices, each its half"
    drafted = [int(steps.num_draft_tokens[steps.replica == replica].sum()) for replica in range(4)]
    assert min(drafted[:3]) > 0
    assert drafted[3] == 0
    assert pools[1] > pools[0] < pools[2]
    assert pools[3] > pools[0], "who never drafts loads no drafter"
    assert violations_of_all(found, pools) == []


def test_nobody_drafts_in_the_arm_without_speculation():
    found = run("{replicas: [{policy: {num_draft_tokens: 2}}, {count: 1}]}", num_draft_tokens=0)
    assert found.steps.num_draft_tokens.sum() == 0


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(("num_draft_tokens", "bytes_per_token"), [
    (0, KV_BYTES_PER_TOKEN), (3, KV_BYTES_PER_TOKEN + DRAFT_KV_BYTES),
])  # fmt: skip
def test_a_prompts_cache_travels_with_the_drafters_however_many_devices_hold_it(
    devices, num_draft_tokens, bytes_per_token
):
    split = (f"deployment.num_devices={devices}", f"deployment.tensor_parallel={devices}")
    found = run(APART, num_draft_tokens=num_draft_tokens, num_requests=16, overrides=split)
    waited = (found.requests.transferred - found.requests.first_token).min()
    assert waited == pytest.approx(100 * bytes_per_token / 50e9 + 1e-3, rel=1e-9)


@pytest.mark.slow
def test_the_first_gap_holds_the_transfer_and_the_first_token_does_not():
    slow = APART.replace("latency: 1 ms", "latency: 2 s")
    fast, late = (run(fleet, Poisson(kind="poisson", rate="4 requests/s")) for fleet in (APART, slow))
    np.testing.assert_array_equal(fast.requests.first_token, late.requests.first_token)
    longest = [itl(records.steps, records.rounds).max() for records in (fast, late)]
    # what the requests before it in line have of the link is next to nothing
    assert longest[1] - longest[0] == pytest.approx(2 - 1e-3, rel=0.01)


def test_disaggregated_replicas_compute_prompts_or_decode():
    found = run(APART, Poisson(kind="poisson", rate="20 requests/s"))
    decoding = found.steps.replica >= 2
    assert found.steps.num_prompt_tokens[decoding].sum() == 0
    assert found.steps.num_decodes[~decoding].sum() == 0
    np.testing.assert_array_equal(np.unique(found.requests.prefill_replica), [0, 1])
    np.testing.assert_array_equal(np.unique(found.requests.replica), [2, 3])


def test_prefix_aware_keeps_equal_prefixes_together():
    inputs = load_scenario(DEMO, ["fleet={replicas: 3, router: {kind: prefix_aware}}", *REPLAY])
    simulation, load = simulation_of(inputs), inputs.scenario.workload.load
    found = simulation.run(load, num_draft_tokens=3, num_requests=32, replication=0)
    prefixes = simulation.lengths(32, 0, load).prefixes
    group = prefixes.ids[prefixes.starts[:-1]]
    for first in np.unique(group):
        assert len(np.unique(found.requests.replica[group == first])) == 1
    assert len(np.unique(found.requests.replica)) == 3


@pytest.mark.slow
def test_random_routing_is_paired_over_policies_and_another_in_each_replication():
    chance = "{replicas: 3, router: {kind: random}}"
    plain, drafted, other = (
        run(chance, num_draft_tokens=k, replication=replication).requests.replica
        for k, replication in ((0, 0), (3, 0), (3, 1))
    )
    np.testing.assert_array_equal(plain, drafted)
    assert (plain != other).any()


def test_prefixes_are_asked_for_before_anything_runs():
    inputs = load_scenario(DEMO, ["fleet={replicas: 3, router: {kind: prefix_aware}}"])
    with pytest.raises(InputError, match=r"fleet\.router\.kind.*shared_prefix"):
        simulation_of(inputs).lengths_checked(8, 3, 0, inputs.scenario.workload.load)


def test_a_request_has_to_fit_every_replica():
    """70 billion parameters leave room beside them on four devices of 80 GB, and none on four of 40."""
    small = "fleet={replicas: [{count: 1}, {deployment: {device: a100-sxm-40gb}}]}"
    inputs = load_scenario("llama3.1-70b-4xh100-draft-1b", [small])
    with pytest.raises(InfeasibleError, match="the weights need"):
        simulation_of(inputs).lengths_checked(8, 3, 0)
    assert Simulation(inputs).lengths_checked(8, 3, 0)


def test_setups_of_equal_groups_are_equal():
    """Whatever is made anew for each group is made of the same."""
    inputs = load_scenario(DEMO, ["fleet={replicas: [{count: 1}, {count: 1}]}"])
    one, other = (Simulation(group).config(3, 0) for group in inputs.groups)
    plain = {field.name for field in dataclasses.fields(ReplicaConfig)} - {
        "cost",
        "source",
        "shape",
        "domains",
        "policy",
    }
    for name in plain:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_the_cache_is_missed_once_for_each_text_and_replica_that_it_comes_to():
    """One request after the other, each with one of 5 texts before it; 3 replicas keep what they have seen."""
    texts = ("workload.shared_prefix={tokens: 512, number: 5}", "deployment.prefix_caching=true")
    prompts = "workload.lengths={kind: fixed, prompt_tokens: 600, output_tokens: 2}"
    overrides, slow = (*texts, prompts), Poisson(kind="poisson", rate="1 requests/s")
    hits = {}
    for router in ("prefix_aware", "round_robin", "random"):
        found = run(f"{{replicas: 3, router: {{kind: {router}}}}}", slow, num_requests=60, overrides=overrides)
        text = simulation_of(load_scenario(DEMO, overrides)).lengths(60, 0).prefixes.ids[::2]
        places = set(zip(text.tolist(), found.requests.replica.tolist(), strict=True))
        hits[router] = int((found.requests.cached_tokens > 0).sum())
        assert hits[router] == 60 - len(places)
    assert hits["prefix_aware"] == 60 - 5 > hits["random"]


def test_what_a_prefill_replica_found_in_its_cache_is_kept_in_the_records():
    texts = ("workload.shared_prefix={tokens: 512, number: 1}", "deployment.prefix_caching=true")
    prompts = "workload.lengths={kind: fixed, prompt_tokens: 600, output_tokens: 9}"
    found = run(APART, Poisson(kind="poisson", rate="4 requests/s"), num_requests=30, overrides=(*texts, prompts))
    assert (found.requests.cached_tokens > 0).sum() == 28, "all but the first on each of two"
    computed = found.steps.num_prompt_tokens.sum()
    assert computed == (found.requests.prompt_tokens - found.requests.cached_tokens).sum()


def test_equal_replicas_that_take_turns_yield_as_many_times_the_tokens_of_one():
    """Without drafts and with equal lengths nothing is left to chance."""
    one = Simulation(load_scenario(DEMO)).run(
        ClosedLoop(kind="closed_loop", concurrency=8), num_draft_tokens=0, num_requests=32, replication=0
    )
    three = run("{replicas: 3}", ClosedLoop(kind="closed_loop", concurrency=24), num_draft_tokens=0, num_requests=96)
    yields = [RunView(records).client_tokens_per_s for records in (one, three)]
    assert yields[1] == pytest.approx(3 * yields[0], rel=1e-12)
