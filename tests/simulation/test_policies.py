"""Policies in the engine: the limits in which they are others, and what they may not do."""

import numpy as np
import pytest

from specsim.inputs.models.policy import (
    ConfidencePolicy,
    GoodputPolicy,
    OffAbovePolicy,
    OraclePolicy,
    PerRequestPolicy,
    StaticPolicy,
)
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation

K = 4
CONDITIONAL = [0.8, 0.6, 0.7, 0.5]
STATED = "{kind: profile, basis: conditional, values: [0.8, 0.6, 0.7, 0.5], source: test}"
POLICIES = {
    "static": StaticPolicy(num_draft_tokens=K),
    "off_above": OffAbovePolicy(kind="off_above", num_draft_tokens=K, batch=4),
    "schedule": SchedulePolicy(
        kind="schedule",
        table=({"batch": (1, 4), "num_draft_tokens": K}, {"batch": (5, None), "num_draft_tokens": 1}),
    ),
    "goodput": GoodputPolicy(kind="goodput", num_draft_tokens=K),
    "per_request": PerRequestPolicy(kind="per_request", num_draft_tokens=K),
    "confidence": ConfidencePolicy(kind="confidence", num_draft_tokens=K, threshold=0.1),
    "oracle": OraclePolicy(kind="oracle", num_draft_tokens=K),
}


@pytest.fixture(scope="module")
def run():
    """Simulate the demo with an acceptance of this test's, under a policy."""

    def simulated(policy, *, concurrency=8, requests=48, overrides=()):
        inputs = load_scenario("llama3.1-8b-h100-eagle3", [f"speculation.acceptance={STATED}", *overrides])
        load = ClosedLoop(kind="closed_loop", concurrency=concurrency)
        return Simulation(inputs).run(load, num_draft_tokens=K, num_requests=requests, replication=0, policy=policy)

    return simulated


def same(one, other):
    pairs = [(one.requests, other.requests), (one.steps, other.steps), (one.rounds, other.rounds)]
    columns = [(getattr(a, name), getattr(b, name)) for a, b in pairs for name in a.__dataclass_fields__]
    return all(a.tobytes() == b.tobytes() for a, b in columns if a is not None)


@pytest.mark.parametrize(
    "policy",
    [
        OffAbovePolicy(kind="off_above", num_draft_tokens=K, batch=8),
        SchedulePolicy(kind="schedule", table=({"batch": (1, None), "num_draft_tokens": K},)),
    ],
    ids=["never off", "one row"],
)
def test_what_never_switches_is_static(run, policy):
    assert same(run(policy), run(POLICIES["static"]))


def drafts(records):
    verify = ~records.rounds.from_prompt
    return records.rounds.num_draft[verify], records.rounds.num_accepted[verify]


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_accepts_as_stated(run, name):
    """Of positions drafted whose forerunners were all accepted: 4 standard errors, whatever decides what is drafted."""
    num_draft, accepted = drafts(run(POLICIES[name], requests=400))
    for position, expected in enumerate(CONDITIONAL):
        reached = (num_draft > position) & (accepted >= position)
        if name == "oracle" or reached.sum() < 100:
            continue  # the oracle's drafts end where they are rejected
        share = (accepted[reached] > position).mean()
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / reached.sum())


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"off_above", "schedule", "goodput"}))
def test_tokens_do_not_depend_on_who_shares_the_batch(run, name):
    """Requests of a policy that looks at no batch have the same rounds alone and together."""
    alone, together = (run(POLICIES[name], concurrency=concurrency, requests=24) for concurrency in (1, 8))
    for request in range(24):
        rounds = [
            records.rounds.num_emitted[records.rounds.request == request].tolist() for records in (alone, together)
        ]
        assert rounds[0] == rounds[1]


def test_an_oracle_wastes_at_most_the_token_that_tells_it_to_stop(run):
    oracle, static = run(POLICIES["oracle"]), run(POLICIES["static"])
    num_draft, accepted = drafts(oracle)
    assert (num_draft == np.minimum(accepted + 1, K)).all()
    # it receives what a static draft of the greatest length receives
    for request in range(48):
        received = [records.rounds.num_emitted[records.rounds.request == request] for records in (oracle, static)]
        np.testing.assert_array_equal(*received)
    assert oracle.requests.finish.max() < static.requests.finish.max()


@pytest.mark.slow
@pytest.mark.parametrize(("concurrency", "overrides"), [(1, ()), (32, ()), (256, ()), (1, ("deployment.ideal=true",))])
def test_goodput_is_about_as_fast_as_the_best_static_length(run, concurrency, overrides):
    """It has to learn acceptance first, and its estimates of it never stand still: 2 % are left for that."""
    requests = max(48, 3 * concurrency)
    ends = {}
    for length in range(K + 1):
        policy = StaticPolicy(num_draft_tokens=length)
        records = run(policy, concurrency=concurrency, requests=requests, overrides=overrides)
        ends[length] = records.requests.finish.max()
    records = run(POLICIES["goodput"], concurrency=concurrency, requests=requests, overrides=overrides)
    assert records.requests.finish.max() < 1.02 * min(ends.values())


def test_off_means_that_nothing_is_drafted(run):
    various = "workload.lengths={kind: quantiles, table: azure-2023-conversation}"
    records = run(POLICIES["off_above"], concurrency=6, overrides=[various])
    steps, rounds = records.steps, records.rounds
    verify = ~rounds.from_prompt
    crowded = steps.num_decodes[rounds.step[verify]] > 4
    assert (rounds.num_draft[verify][crowded] == 0).all()
    assert (rounds.num_draft[verify][~crowded] == K).all()
    assert crowded.any()
    assert (~crowded).any()


def test_lengths_of_requests_follow_their_own_rounds(run):
    rounds = run(POLICIES["per_request"]).rounds
    for request in range(48):
        mine = (rounds.request == request) & ~rounds.from_prompt
        expected = 3
        for num_draft, accepted in zip(rounds.num_draft[mine], rounds.num_accepted[mine], strict=True):
            assert num_draft == expected
            expected = min(expected + 2, K) if accepted == expected else max(expected - 1, 1)


@pytest.mark.parametrize(("found", "drafts_on"), [(0.02, False), (1.0, True)])
def test_goodput_looks_up_where_lookups_find_enough(run, found, drafts_on):
    """Each sequence's lookup takes 0.5 ms of the host, beside steps of some 8: 4 ms among 8."""
    drafter = f"{{kind: ngram, host_time_per_step: 0 us, host_time_per_sequence: 0.5 ms, found: {found}}}"
    records = run(POLICIES["goodput"], requests=96, overrides=[f"speculation.drafter={drafter}"])
    num_draft, _ = drafts(records)
    assert (num_draft > 0).any() == drafts_on


def test_confidence_is_judged_token_by_token(run):
    """Each length comes as often as q gives tokens of at least the threshold, position by position."""
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [f"speculation.acceptance={STATED}"])
    (source,) = Simulation(inputs).sources.of(K)
    likely = [row[row >= POLICIES["confidence"].threshold].sum() for row in source.rows.drafter[: K - 1]]
    longer = np.cumprod([1.0, *likely])  # than 0, 1, ... draft tokens
    rounds = run(POLICIES["confidence"]).rounds
    lengths = rounds.num_draft[~rounds.from_prompt]
    for least, probability in enumerate(longer, 1):
        error = np.sqrt(probability * (1 - probability) / len(lengths))
        assert abs((lengths >= least).mean() - probability) <= 4 * error
