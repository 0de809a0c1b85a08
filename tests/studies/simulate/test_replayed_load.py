"""Without speculation a replay has nothing that differs between replications, and is simulated once."""

from pathlib import Path

import numpy as np
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation
from specsim.studies.simulate.run import simulate_load

TRACE = Path(__file__).parents[2] / "workload" / "small_trace.csv"
REPLAY = (f"workload.lengths={{kind: trace, file: '{TRACE}'}}", "workload.load={kind: replay}", "run.replications=3")


@pytest.fixture
def counted(monkeypatch):
    """(draft length, replication) of the runs made."""
    made, run = [], Simulation.run

    def counting(self, load, **named):
        made.append((named["num_draft_tokens"], named["replication"]))
        return run(self, load, **named)

    monkeypatch.setattr(Simulation, "run", counting)
    return made


def test_replications_are_alike_and_made_once(counted):
    inputs = load_scenario("llama3.1-8b-h100-eagle3", REPLAY)
    result = simulate_load(inputs)
    assert [replication for k, replication in counted if k == 0] == [0]
    assert [replication for k, replication in counted if k] == [0, 1, 2]
    simulation = Simulation(inputs)
    runs = [
        simulation.run(
            inputs.scenario.workload.load, num_draft_tokens=0, num_requests=simulation.num_requests, replication=r
        )
        for r in (0, 2)
    ]
    for name in ("admitted", "first_token", "finish"):
        np.testing.assert_array_equal(*(getattr(run.requests, name) for run in runs))
    assert len(result.values[0]) == 3
    np.testing.assert_array_equal(result.values[0][0], result.values[0][2])


@pytest.mark.parametrize("change", ["workload.shared_prefix={tokens: 50, number: 3}", "workload.load.speed=2"])
def test_where_texts_are_drawn_they_differ(counted, change):
    simulate_load(load_scenario("llama3.1-8b-h100-eagle3", [*REPLAY, change]))
    assert len([k for k, _ in counted if k == 0]) == (3 if "prefix" in change else 1)
