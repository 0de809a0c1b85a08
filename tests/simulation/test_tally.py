"""A run whose rounds are only counted means what the same run means with every round kept."""

import dataclasses

import numpy as np
import pytest

from specsim.analysis.acceptance import acceptance_length
from specsim.analysis.latencies import (
    chunk_gaps,
    itl_per_token,
    summarise_latency,
    tallied_itl_per_token,
    tallied_itl_percentile,
)
from specsim.analysis.run_view import RunView
from specsim.engine.log import GAP_RATIO
from specsim.inputs.models.policy import PerRequestPolicy, StaticPolicy
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation


@pytest.mark.parametrize(
    "policy",
    [StaticPolicy(num_draft_tokens=3), PerRequestPolicy(kind="per_request", num_draft_tokens=3)],
    ids=["static", "ragged"],
)
def test_a_tally_says_what_its_rounds_say(policy):
    simulation, load = (
        Simulation(load_scenario("llama3.1-8b-h100-eagle3")),
        ClosedLoop(kind="closed_loop", concurrency=8),
    )
    kept, counted = (
        RunView(
            simulation.run(
                load, num_draft_tokens=3, num_requests=64, replication=0, policy=policy, keep_rounds=keep_rounds
            )
        )
        for keep_rounds in (True, False)
    )
    one, other = (dataclasses.asdict(metrics.acceptance) for metrics in (kept, counted))
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)
    assert counted.itl.count == kept.itl.count
    # some thousand gaps, added in another order: each addition rounds by 2⁻⁵³ of the sum at most
    assert counted.itl.mean == pytest.approx(kept.itl.mean, rel=kept.itl.count * 2.0**-53)
    for name in (
        "p50",
        "p90",
        "p99",
    ):  # the middle of the class that holds it, and percentiles interpolate in kept runs
        exact = getattr(kept.itl, name)
        assert exact / GAP_RATIO < getattr(counted.itl, name) < exact * GAP_RATIO


def test_any_percentile_of_gaps_is_found_in_the_tally():
    simulation = Simulation(load_scenario("llama3.1-8b-h100-eagle3"))
    load = ClosedLoop(kind="closed_loop", concurrency=8)
    run = simulation.run(load, num_draft_tokens=3, num_requests=64, replication=0)
    gaps = chunk_gaps(run.steps, run.rounds).seconds
    for percentile in (1, 37.5, 95, 99.9):
        exact = np.percentile(gaps, percentile, method="inverted_cdf")
        assert exact / GAP_RATIO < tallied_itl_percentile(run.tally, percentile) < exact * GAP_RATIO
    assert tallied_itl_percentile(run.tally, 99) == RunView(dataclasses.replace(run, rounds=None)).itl.p99


def test_gaps_shared_out_among_tokens_are_counted_likewise():
    simulation, load = (
        Simulation(load_scenario("llama3.1-8b-h100-eagle3")),
        ClosedLoop(kind="closed_loop", concurrency=8),
    )
    run = simulation.run(load, num_draft_tokens=3, num_requests=64, replication=0)
    gaps, tokens, _ = chunk_gaps(run.steps, run.rounds)
    exact, counted = summarise_latency(itl_per_token(gaps, tokens)), tallied_itl_per_token(run.tally)
    assert counted.count == exact.count == 64 * 255
    assert counted.mean == pytest.approx(exact.mean, rel=exact.count * 2.0**-53)
    for name in ("p50", "p90", "p99"):
        assert getattr(exact, name) / GAP_RATIO < getattr(counted, name) < getattr(exact, name) * GAP_RATIO


def test_each_requests_acceptance_is_that_of_its_rounds():
    simulation, load = (
        Simulation(load_scenario("llama3.1-8b-h100-eagle3")),
        ClosedLoop(kind="closed_loop", concurrency=8),
    )
    policy = PerRequestPolicy(kind="per_request", num_draft_tokens=3)
    run = simulation.run(load, num_draft_tokens=3, num_requests=64, replication=0, policy=policy)
    drafted = run.rounds.num_draft > 0
    expected = np.zeros((64, 4), np.int64)
    np.add.at(expected, (run.rounds.request[drafted], run.rounds.num_accepted[drafted]), 1)
    np.testing.assert_array_equal(run.requests.accepted, expected)
    of_all = expected.sum(axis=0) @ np.arange(1, 5) / expected.sum()
    assert np.average(acceptance_length(run.requests.accepted), weights=expected.sum(axis=1)) == pytest.approx(of_all)
