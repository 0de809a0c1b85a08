"""Curves of trees: the closed form yields and costs what simulated rounds do, and a curve compares levels."""

import numpy as np
import pytest

from specsim.forward import Pass, attended
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import decode_step, free_verify_batch, tokens_per_verify
from specsim.simulation.replica import Simulation
from specsim.studies.curve.answer import curve_answer
from specsim.studies.curve.run import simulate_curve
from specsim.studies.curve.text import curve_sentences, curve_table
from specsim.studies.shared.points import Point, run_point

BRANCHING = "[3, [2, 1, 0], 2]"
SHORT = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 200}",
    "curve={batches: [8], replications: 8, requests_per_slot: 6}",
    "speculation.policy.num_draft_tokens=3",
)


def inputs(siblings, *overrides, base="theory-h100-ideal"):
    tree = f"speculation.tree={{branching: {BRANCHING}, siblings: {siblings}}}"
    return load_scenario(base, (*SHORT, "speculation.verifier=tree", tree, *overrides))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("siblings", "temperature"), [("with_replacement", 1), ("without_replacement", 1), ("one_hot", 1), ("one_hot", 0)]
)
def test_trees_yield_what_is_expected_of_them(siblings, temperature):
    scenario = inputs(siblings, f"speculation.temperature={temperature}")
    expected = tokens_per_verify(Simulation(scenario), 3)
    simulated = run_point(scenario, Point(8, 3)).acceptance_length
    # 16,384 trees put an error of 0.5 % at most on what is expected
    error = np.hypot(0.005 / 4 * expected, simulated.std(ddof=1) / np.sqrt(len(simulated)))
    assert abs(simulated.mean() - expected) < 4 * error


def test_a_chain_given_as_a_tree_is_simulated_as_the_chain():
    """To the last bit: the same shapes, luck and costs."""
    chains = load_scenario("llama3.1-8b-h100-eagle3", SHORT)
    trees = load_scenario(
        "llama3.1-8b-h100-eagle3",
        (*SHORT, "speculation.verifier=tree", "speculation.tree={branching: [1, 1, 1], siblings: with_replacement}"),
    )
    load = ClosedLoop(kind="closed_loop", concurrency=8)
    chain, tree = (
        Simulation(scenario).run(load, num_draft_tokens=3, num_requests=16, replication=0)
        for scenario in (chains, trees)
    )
    for records in ("requests", "steps", "rounds"):
        for name, column in vars(getattr(chain, records)).items():
            np.testing.assert_array_equal(column, vars(getattr(tree, records))[name])
    assert free_verify_batch(Simulation(trees), 3) == free_verify_batch(Simulation(chains), 3)
    ours, theirs = (decode_step(Simulation(scenario), 8, 3, 100) for scenario in (trees, chains))
    assert ours.seconds == theirs.seconds


def test_the_closed_form_prices_the_step_that_the_engine_runs():
    """One request in its first decode step: the same target pass and the same draft passes, but for the catching up."""
    scenario = inputs("one_hot", "workload.decode_only=true", base="llama3.1-8b-h100-eagle3")
    simulation = Simulation(scenario)
    load = ClosedLoop(kind="closed_loop", concurrency=1)
    records = simulation.run(load, num_draft_tokens=3, num_requests=1, replication=0)
    first = records.steps.end[0] - records.steps.start[0]
    closed = decode_step(simulation, 1, 3, context=20).seconds
    # the closed form's head takes in the 13 tokens of a verify, rejected ones and all, the first step's one
    one_token, verified = (_first_draft_pass(simulation, tokens) for tokens in (1, 1 + 3 + 3 + 6))
    assert first - one_token == pytest.approx(closed - verified, rel=1e-12)
    assert records.steps.num_draft_tokens[0] == 3 + 3 + 6


def _first_draft_pass(simulation, tokens):
    draft_pass = Pass(tokens, 1, 1, 20, attended(tokens, 20), fused_tokens=tokens)
    return sum(simulation.step_cost(True).draft_time(draft_pass))


def test_verifying_a_tree_stops_being_free_by_its_nodes():
    simulation = Simulation(inputs("one_hot"))
    # 989e12 / 3.35e12 = 295.2 tokens; trees of 3, 6 and 12 nodes, and one token more each
    assert [free_verify_batch(simulation, levels) for levels in (1, 2, 3)] == [295 // 4, 295 // 7, 295 // 13]


@pytest.mark.slow
def test_a_curve_compares_levels_and_says_so():
    scenario = inputs("without_replacement", "curve={batches: [1, 64], replications: 2, min_requests: 4}")
    result = simulate_curve(scenario, jobs=1)
    assert scenario.scenario.compared_draft_lengths == (1, 2, 3)
    sentences = curve_sentences(scenario.scenario, result)
    assert sentences[0].startswith("With 3 levels (12 nodes) of the tree speculation ")
    assert sentences[1].startswith("Best number of levels of the tree by batch: ")
    assert any("what its siblings add follows from synthetic distributions" in sentence for sentence in sentences)
    headers = [column.header for column in curve_table(scenario.scenario, result).shown().columns]
    assert headers == ["batch", "without", "1 level (3 nodes)", "2 levels (6 nodes)", "3 levels (12 nodes)"]
    assert "curve" in curve_answer(scenario, result).figures
