"""What can never run is refused before anything is simulated."""

import pytest

from specsim.errors import InfeasibleError
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.curve.run import simulate_curve
from specsim.studies.simulate.run import simulate_load

DEMO = "llama3.1-8b-h100-eagle3"
JOBS = {"curve": lambda inputs: simulate_curve(inputs, jobs=1), "load": simulate_load}


@pytest.fixture
def refused(monkeypatch):
    def nothing_runs(*args, **kwargs):
        raise AssertionError("something was simulated")

    monkeypatch.setattr("specsim.simulation.replica.serve_closed_loop", nothing_runs)
    monkeypatch.setattr("specsim.simulation.replica.serve_open_loop", nothing_runs)

    def problems(job, *overrides):
        with pytest.raises(InfeasibleError) as caught:
            JOBS[job](load_scenario(DEMO, overrides))
        return caught.value.problems

    return problems


@pytest.mark.parametrize("job", JOBS)
def test_weights_that_do_not_fit(refused, job):
    draft = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
    (problem,) = refused(job, "deployment.target=llama-3.1-70b", draft)
    assert problem.path == "deployment"
    assert "131.4 GiB" in problem.remedy


@pytest.mark.parametrize("job", JOBS)
def test_requests_longer_than_the_target_takes_and_than_memory_holds(refused, job):
    found = refused(job, "workload.lengths.prompt_tokens=1000000")
    assert [problem.path for problem in found] == ["workload.lengths", "workload.lengths"]
    assert "KV pool" in found[0].remedy
    assert "max_position_embeddings" in found[1].remedy


@pytest.mark.parametrize("job", ["curve", "load"])
def test_requests_that_only_the_drafter_leaves_no_room_for(refused, job):
    draft = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
    (problem,) = refused(job, "deployment.device=a100-sxm-40gb", draft, "workload.lengths.prompt_tokens=120000")
    assert "KV pool" in problem.remedy
