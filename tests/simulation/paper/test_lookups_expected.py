"""Lookups that may find nothing: the closed form of a step against the simulator's."""

import numpy as np
import pytest

from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import decode_step, free_verify_batch, tokens_per_round, tokens_per_verify
from specsim.simulation.replica import Simulation
from specsim.simulation.step_passes import BATCH_SAMPLE, step_passes
from specsim.studies.cost.run import step_costs

K, PROMPT, OUTPUT = 3, 500, 200
TIMES = "host_time_per_step: 100 us, host_time_per_sequence: 20 us"
LOOKUPS = {"found": "found: 0.3", "ragged": "found: 0.7, matched_lengths: [1, 0.5, 0.2]"}
BASE = (
    f"workload.lengths={{kind: fixed, prompt_tokens: {PROMPT}, output_tokens: {OUTPUT}}}",
    "workload.decode_only=true",
    "speculation.acceptance={kind: profile, basis: marginal, values: [0.7, 0.5, 0.3]}",
    "deployment.engine=vllm-0.10-h100-sxm",
)


def simulation(drafter, *overrides):
    drafter = f"speculation.drafter={{kind: ngram, {TIMES}{', ' if drafter else ''}{drafter}}}"
    return Simulation(load_scenario("llama3.1-8b-h100-eagle3", (*BASE, drafter, *overrides)))


def test_tokens_per_step_by_hand():
    marginal = np.array([0.7, 0.5, 0.3])
    assert tokens_per_round(simulation(LOOKUPS["found"]), K) == pytest.approx(1 + 0.3 * marginal.sum(), rel=1e-14)
    ragged = 1 + 0.7 * (marginal * [1, 0.5, 0.2]).sum()
    assert tokens_per_round(simulation(LOOKUPS["ragged"]), K) == pytest.approx(ragged, rel=1e-14)
    certain = simulation("")
    assert tokens_per_round(certain, K) == tokens_per_verify(certain, K)
    assert tokens_per_round(simulation("found: 0"), K) == 1
    assert tokens_per_round(certain, 0) == 1


@pytest.mark.slow
@pytest.mark.parametrize("verifier", ["token", "block"])
@pytest.mark.parametrize("batch", [1, 8, 64])
@pytest.mark.parametrize("lookup", list(LOOKUPS))
def test_the_simulator_and_the_closed_form_agree(lookup, batch, verifier):
    """Tokens of rounds that the end of an output cannot cut short, and seconds of steps at their mean context."""
    subject = simulation(LOOKUPS[lookup], f"speculation.verifier={verifier}")
    load, requests = ClosedLoop(kind="closed_loop", concurrency=batch), max(24, 3 * batch)
    records = subject.run(load, num_draft_tokens=K, num_requests=requests, replication=0)
    rounds, steps = records.rounds, records.steps

    order = np.argsort(rounds.request, kind="stable")
    emitted = rounds.num_emitted[order].reshape(-1)
    before = np.cumsum(emitted) - emitted - rounds.request[order] * OUTPUT
    free = before < OUTPUT - K
    tokens = np.bincount(rounds.request[order][free], emitted[free]) / np.bincount(rounds.request[order][free])
    error = tokens.std(ddof=1) / np.sqrt(len(tokens))
    assert abs(tokens.mean() - tokens_per_round(subject, K)) < 4 * error

    contexts = np.empty(len(order))
    contexts[order] = PROMPT + before
    context = np.bincount(rounds.step, contexts) / np.bincount(rounds.step)
    full = np.flatnonzero(np.bincount(rounds.step) == batch)[::7]  # every 7th full step is enough
    seconds = np.array([decode_step(subject, batch, K, round(context[step])).seconds for step in full])
    apart = (steps.end - steps.start)[full] - seconds
    works = step_passes(subject, batch, K, PROMPT, accepted=0)
    sampled = np.std([sum(work.price(subject)) for work in works]) / np.sqrt(len(works))
    # both are means over a sample: of steps, and of the closed form's batches
    assert abs(apart.mean()) < 4 * np.hypot(apart.std(ddof=1) / np.sqrt(len(apart)), sampled)


def test_finding_nothing_leaves_a_step_without_drafts_and_the_time_of_looking():
    nothing = simulation("found: 0")
    for batch in (1, 8, 64):
        looking, plain = (decode_step(nothing, batch, k, PROMPT) for k in (K, 0))
        assert looking.seconds - plain.seconds == pytest.approx(100e-6 + 20e-6 * batch, rel=1e-9)
        assert looking.tokens == plain.tokens


def test_finding_less_never_slows_a_step_and_what_is_found_decides_what_is_verified():
    steps = [decode_step(simulation(f"found: {found}"), 64, K, PROMPT) for found in (0, 0.25, 0.5, 0.75, 1)]
    assert np.all(np.diff([step.seconds for step in steps]) >= 0)
    assert np.all(np.diff([step.tokens for step in steps]) > 0)
    works = step_passes(simulation("found: 0.25"), 64, K, PROMPT, accepted=0)
    assert len(works) == BATCH_SAMPLE
    assert np.mean([work.target.tokens for work in works]) == 64 * (1 + 0.25 * K)  # 16 of 64 quantiles are below 0.25
    assert {work.num_lookups for work in works} == {64}
    free = {found: free_verify_batch(simulation(f"found: {found}"), K) for found in (0.5, 1)}
    assert free[1] / free[0.5] == pytest.approx((1 + K / 2) / (1 + K), rel=0.02)


def test_the_cost_of_a_step_is_that_of_the_closed_form():
    subject = simulation(LOOKUPS["found"])
    report = step_costs(subject.inputs, [8], [K], context=PROMPT)
    step, expected = report.steps[0], decode_step(subject, 8, K, PROMPT)
    assert step.seconds == pytest.approx(expected.seconds, rel=1e-12)
    assert step.tokens == expected.tokens
    assert sum(step.waits.values()) == pytest.approx(step.seconds, rel=0.02)
