"""The same arguments give the same records byte for byte; a replication of its own gives others."""

from dataclasses import astuple

import pytest
import yaml

from specsim.inputs.models.workload import ClosedLoop, Poisson
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation

LOADS = [ClosedLoop(kind="closed_loop", concurrency=6), Poisson(kind="poisson", rate="20 requests/s")]


def all_bytes(records):
    return [
        column.tobytes()
        for table in (records.requests, records.steps, records.rounds)
        for column in astuple(table)
        if column is not None
    ]


def simulated(inputs, load, num_draft_tokens=3, replication=0, num_requests=20):
    return Simulation(inputs).run(
        load, num_draft_tokens=num_draft_tokens, num_requests=num_requests, replication=replication
    )


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.kind)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_same_arguments_give_the_same_bytes(inputs, load, temperature):
    lengths = "workload.lengths={kind: quantiles, table: azure-2023-conversation}"
    scenario = inputs(lengths, f"speculation.temperature={temperature}")
    first, second = (all_bytes(simulated(scenario, load)) for _ in range(2))
    assert first == second


def test_a_simulation_may_be_used_for_several_runs(inputs):
    simulation = Simulation(inputs())
    fresh = all_bytes(simulated(inputs(), LOADS[0]))
    for num_draft_tokens in (0, 5, 3):
        again = simulation.run(LOADS[0], num_draft_tokens=num_draft_tokens, num_requests=20, replication=0)
    assert all_bytes(again) == fresh


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.kind)
def test_another_replication_differs(inputs, load):
    lengths = "workload.lengths={kind: quantiles, table: azure-2023-conversation}"
    one, other = (simulated(inputs(lengths), load, replication=replication) for replication in (0, 1))
    assert one.requests.prompt_tokens.tolist() != other.requests.prompt_tokens.tolist()
    assert one.requests.finish.tolist() != other.requests.finish.tolist()


def test_another_seed_differs(inputs):
    one, other = (simulated(inputs(f"seed={seed}"), LOADS[0]) for seed in (1, 2))
    assert one.rounds.num_accepted.tolist() != other.rounds.num_accepted.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("num_draft_tokens", [0, 1, 5])
def test_draft_lengths_and_loads_are_compared_on_the_same_requests(inputs, num_draft_tokens):
    scenario = inputs("workload.lengths={kind: quantiles, table: azure-2023-conversation}")
    base = simulated(scenario, LOADS[0])
    for load in LOADS:
        other = simulated(scenario, load, num_draft_tokens=num_draft_tokens)
        assert other.requests.output_tokens.tolist() == base.requests.output_tokens.tolist()
        assert other.requests.prompt_tokens.tolist() == base.requests.prompt_tokens.tolist()


def test_more_requests_begin_with_the_same_ones(inputs):
    scenario = inputs("workload.lengths={kind: quantiles, table: azure-2023-conversation}")
    few, many = (simulated(scenario, LOADS[0], num_requests=number) for number in (20, 40))
    assert many.requests.prompt_tokens[:20].tolist() == few.requests.prompt_tokens.tolist()


def test_without_speculation_neither_drafter_nor_acceptance_matters(inputs):
    plain = all_bytes(simulated(inputs(), LOADS[0], num_draft_tokens=0))
    draft_model = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
    others = inputs(draft_model), inputs(overlap=0.1), inputs("speculation.temperature=0")
    for other in others:
        assert all_bytes(simulated(other, LOADS[0], num_draft_tokens=0)) == plain


def backwards(value):
    """The same mapping with its keys in the other order."""
    return {key: backwards(value[key]) for key in reversed(value)} if isinstance(value, dict) else value


def test_the_order_of_keys_in_a_file_does_not_matter(inputs, tmp_path):
    files = []
    for name, order in (("one", dict), ("other", backwards)):
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(order(inputs().scenario.model_dump(mode="json")), sort_keys=False))
    one, other = (all_bytes(simulated(load_scenario(str(file)), LOADS[0])) for file in files)
    assert files[0].read_text() != files[1].read_text()
    assert one == other
