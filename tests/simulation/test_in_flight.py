"""Runs that begin in steady state: renewal theory of those in service, and the throughput of long runs."""

import dataclasses

import numpy as np
import pytest

from specsim.analysis.invariants import violations_of_all
from specsim.analysis.run_view import RunView
from specsim.analysis.settling import settled_windows
from specsim.analysis.steady import steady_window
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.fleet import simulation_of
from specsim.simulation.in_flight import drawn_in_flight, length_biased, positions
from specsim.studies.shared.points import Point, run_point

LOGNORMAL = (
    "workload.lengths={kind: lognormal, prompt: {mean: 80, sd: 80, max: 1000}, output: {mean: 40, sd: 40, max: 500}}"
)
SHORT = "workload.lengths={kind: fixed, prompt_tokens: 60, output_tokens: 40}"
DEMO, TREE, FLEET = "llama3.1-8b-h100-eagle3", "llama3.1-8b-h100-eagle3-tree", "llama3.1-8b-4xh100-fleet"


def test_requests_are_found_in_proportion_to_their_stay():
    """A length l with chance l · P(l) / E[L], so its mean is E[L²] / E[L] (the inspection paradox)."""
    rng = np.random.default_rng(1)
    output = rng.geometric(0.02, 4096)
    found = output[length_biased(output.astype(float), 20_000, rng)]
    expected = (output**2).sum() / output.sum()
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(len(found))


def test_what_is_left_of_an_output_is_a_mean_residual_life():
    """E[L²] / 2E[L] where the stay counts tokens; half a token more, as one is received with the end of each step."""
    rng = np.random.default_rng(2)
    output = rng.geometric(0.02, 4096)
    found = length_biased(output.astype(float), 20_000, rng)
    left = output[found] - positions(output[found], 0.0, output[found].astype(float), rng.random(20_000))
    expected = (output**2).sum() / (2 * output.sum()) + 0.5
    assert abs(left.mean() - expected) < 4 * left.std() / np.sqrt(len(left))
    assert left.min() == 1


def test_positions_of_a_stay():
    """Two steps of a prompt, and four of the five tokens after the first: one in each of four steps."""
    output, rounds = np.full(7, 5), np.full(7, 4.0)
    moments = np.array([0.0, 1.9, 2.0, 3.1, 4.5, 5.0, 5.99]) / 6
    assert positions(output, 2.0, rounds, moments).tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert positions(np.ones(2, np.int64), 1.0, np.zeros(2), np.array([0.0, 0.99])).tolist() == [0, 0]


def test_arms_of_a_pair_find_nearly_the_same_requests_at_nearly_the_same_positions():
    simulation = simulation_of(load_scenario(DEMO, [LOGNORMAL]))
    plain, drafted = (drawn_in_flight(simulation, 64, k, 256, 0) for k in (0, 3))
    same = plain.lengths.output[:64] == drafted.lengths.output[:64]
    assert same.mean() > 0.9
    assert np.corrcoef(plain.received, drafted.received)[0, 1] > 0.95
    assert (plain.lengths.output[64:] == drafted.lengths.output[64:]).all()


SCENARIOS = {
    "lengths that vary": (DEMO, [LOGNORMAL], 40),
    "decode only": ("theory-h100-ideal", [LOGNORMAL], 40),
    "block rule": (DEMO, [LOGNORMAL, "speculation.verifier=block"], 40),
    "tree": (TREE, [LOGNORMAL], 8),
    "language models": ("llama3.1-8b-h100-language-models", [LOGNORMAL], 4),
    "fleet and prefixes": (FLEET, [], 40),
    "disaggregated": ("llama3.1-8b-4xh100-disaggregated", [LOGNORMAL], 40),
    "n-gram": (
        DEMO,
        [LOGNORMAL, "speculation.drafter={kind: ngram, host_time_per_step: 0 us, host_time_per_sequence: 0 us}"],
        40,
    ),
    "KV pool too small": (DEMO, ["workload.lengths={kind: fixed, prompt_tokens: 3000, output_tokens: 200}"], 160),
    "swap": (
        DEMO,
        [
            "workload.lengths={kind: fixed, prompt_tokens: 2000, output_tokens: 800}",
            "deployment.swap={space: 20 GB, bandwidth: 50 GB/s}",
        ],
        200,
    ),
    "prompts wait for the budget": (
        DEMO,
        ["workload.lengths={kind: fixed, prompt_tokens: 8000, output_tokens: 60}"],
        32,
    ),
    "priorities": (
        DEMO,
        [LOGNORMAL, "workload.mixture=[{share: 0.5, priority: 0}, {share: 0.5, priority: 1}]"],
        40,
    ),
}


def in_flight_run(simulation, batch, num_draft_tokens, *, replication=0, number=None, keep_rounds=True):
    number = number or 3 * batch
    fleet = simulation.inputs.scenario.fleet
    split = fleet is not None and fleet.disaggregation is not None
    begun = None if split else drawn_in_flight(simulation, batch, num_draft_tokens, number, replication)
    return simulation.run(
        ClosedLoop(kind="closed_loop", concurrency=batch),
        num_draft_tokens=num_draft_tokens,
        num_requests=number,
        replication=replication,
        keep_rounds=keep_rounds,
        in_flight=begun,
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_run_breaks_what_must_hold(scenario):
    name, settings, batch = SCENARIOS[scenario]
    simulation = simulation_of(load_scenario(name, settings))
    run = in_flight_run(simulation, batch, 2)
    assert violations_of_all(run, simulation.kv_pools(2)) == []
    if run.requests.received is not None:
        assert (run.requests.received > 0).sum() > batch / 4
        assert np.isnan(run.requests.first_token).sum() == (run.requests.received > 0).sum()


def test_a_token_too_many_before_the_run_is_found():
    simulation = simulation_of(load_scenario(DEMO, [SHORT]))
    run = in_flight_run(simulation, 8, 2)
    received = run.requests.received.copy()
    received[4] += 1
    wrong = dataclasses.replace(run, requests=dataclasses.replace(run.requests, received=received))
    assert any("requests asked for" in line for line in violations_of_all(wrong, simulation.kv_pools(2)))


def test_same_seed_same_bytes_compiled_or_not(monkeypatch):
    simulation = simulation_of(load_scenario(DEMO, [LOGNORMAL]))
    runs = [in_flight_run(simulation, 16, 3) for _ in range(2)]
    monkeypatch.setattr("specsim.engine.run.advance_function", plain_advance)
    runs.append(in_flight_run(simulation, 16, 3))
    for run in runs[1:]:
        for name in ("requests", "steps", "rounds"):
            for field in dataclasses.fields(getattr(run, name)):
                first, other = (np.asarray(getattr(getattr(one, name), field.name)) for one in (runs[0], run))
                assert first.tobytes() == other.tobytes(), field.name


def plain_advance():
    from specsim.engine.advance import advance

    return advance


def test_those_in_flight_at_the_start_count_in_no_latency():
    """Their TTFT would be that of a request whose first token came before it was sent."""
    simulation = simulation_of(load_scenario(DEMO, [SHORT]))
    run = in_flight_run(simulation, 32, 3, number=128, keep_rounds=False)
    (window,) = settled_windows([run], begun_settled=True)
    view = RunView(run, window)
    assert not view.chosen[:32].any()
    assert view.ttft.count == view.chosen.sum() > 60


@pytest.mark.slow
@pytest.mark.parametrize("num_draft_tokens", [0, 3])
def test_short_runs_have_the_throughput_of_long_ones_and_those_begun_in_lockstep_do_not(num_draft_tokens):
    """Within 4 standard errors. In lockstep all prompts come in one step, which is computed far longer than weights
    stream, and without speculation they do so for ever."""
    settings = [SHORT, "curve={replications: 24, requests_per_slot: 4}"]
    point = Point(64, num_draft_tokens)
    inputs = load_scenario(DEMO, settings)
    short = run_point(inputs, point).tokens_per_s
    long = run_point(
        load_scenario(DEMO, [SHORT, "curve={replications: 12, requests_per_slot: 40}"]), point
    ).tokens_per_s
    error = np.sqrt(short.var(ddof=1) / len(short) + long.var(ddof=1) / len(long))
    assert abs(short.mean() - long.mean()) < 4 * error
    simulation, lockstep = simulation_of(inputs), []
    for replication in range(24):
        run = simulation.run(
            ClosedLoop(kind="closed_loop", concurrency=64),
            num_draft_tokens=num_draft_tokens,
            num_requests=256,
            replication=replication,
            keep_rounds=False,
        )
        lockstep.append(RunView(run, steady_window(run.requests)).tokens_per_s)
    assert abs(np.mean(lockstep) - long.mean()) > 4 * np.hypot(error, np.std(lockstep, ddof=1) / np.sqrt(24))
