"""Argmax drafts and n-gram lookups from scenario to curve: acceptance as stated, and time on the host alone."""

import numpy as np
import pytest

from specsim.forward import Pass
from specsim.inputs.read.scenario import load_scenario
from specsim.reporting.deployment import subtitle
from specsim.reporting.inputs import provenance_json
from specsim.simulation.expected import decode_step, tokens_per_verify
from specsim.simulation.replica import Simulation
from specsim.studies.curve.run import simulate_curve
from specsim.studies.shared.points import Point, run_point

DEMO = "llama3.1-8b-h100-eagle3"
SHORT = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 200}",
    "curve={batches: [8], num_draft_tokens: [4], replications: 8, requests_per_slot: 6}",
)
LOOKUP = "speculation.drafter={kind: ngram, host_time_per_step: 100 us, host_time_per_sequence: 20 us}"
FREE_LOOKUP = LOOKUP.replace("100 us", "0 us").replace("20 us", "0 us")


def inputs(*overrides, base=DEMO):
    return load_scenario(base, (*SHORT, *overrides))


@pytest.mark.parametrize("overrides", [("speculation.drafts=argmax",), (LOOKUP,)], ids=["argmax", "ngram"])
@pytest.mark.parametrize("verifier", ["token", "block"])
def test_acceptance_is_that_stated(overrides, verifier):
    scenario = inputs(
        *overrides, f"speculation.verifier={verifier}", "speculation.acceptance.values=[0.7, 0.5, 0.3, 0.2]"
    )
    expected = tokens_per_verify(Simulation(scenario), 4)
    assert expected == pytest.approx(1 + 0.7 + 0.5 + 0.3 + 0.2, rel=1e-14)  # blocks gain nothing here
    simulated = run_point(scenario, Point(8, 4)).acceptance_length
    assert abs(simulated.mean() - expected) < 4 * simulated.std(ddof=1) / np.sqrt(len(simulated))


def test_under_the_token_rule_argmax_drafts_cost_and_yield_what_sampled_ones_do():
    sampled, argmax = (decode_step(Simulation(inputs(*how)), 8, 4, 100) for how in ((), ("speculation.drafts=argmax",)))
    assert argmax.seconds == sampled.seconds
    assert argmax.tokens == pytest.approx(sampled.tokens, rel=1e-14)


def test_lookups_take_host_time_and_no_passes_or_memory():
    looked_up, plain = Simulation(inputs(LOOKUP)), Simulation(inputs())
    free = Simulation(inputs(FREE_LOOKUP))
    seconds = [decode_step(simulation, 8, 4, 100).seconds for simulation in (looked_up, free)]
    assert seconds[0] - seconds[1] == pytest.approx(100e-6 + 8 * 20e-6, rel=1e-9)
    assert free.step_cost(True).price(Pass(40, 40, 8, 800, 4000), num_lookups=8).draft == 0.0
    assert looked_up.memory(True) == looked_up.memory(False) == plain.memory(False) != plain.memory(True)
    assert decode_step(looked_up, 8, 0, 100).seconds == decode_step(plain, 8, 0, 100).seconds


def test_a_run_pays_for_its_lookups_step_by_step():
    simulation, free = (Simulation(inputs(drafter, "workload.decode_only=true")) for drafter in (LOOKUP, FREE_LOOKUP))
    load = simulation.inputs.scenario.workload.load.model_copy(update={"concurrency": 4})
    ours, theirs = (
        each.run(load, num_draft_tokens=3, num_requests=4, replication=0).steps for each in (simulation, free)
    )
    extra = (ours.end - ours.start) - (theirs.end - theirs.start)
    # the clock adds durations of a few milliseconds up to about a second
    np.testing.assert_allclose(extra, 100e-6 + 20e-6 * ours.num_decodes, rtol=0, atol=1e-12)


def test_a_curve_says_what_drafted():
    scenario = inputs(LOOKUP, "curve={batches: [1, 8], num_draft_tokens: [2], replications: 2, min_requests: 4}")
    result = simulate_curve(scenario, jobs=1)
    assert set(result.free_batch) == {2, 3}
    assert "llama-3.1-8b with n-gram lookup on" in subtitle(scenario)
    assert "host times given in the scenario" in provenance_json(scenario)
