"""A run in a closed loop can be timed again: under any costs it is the run that would have been simulated."""

import dataclasses

import numpy as np
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.calibrate.parameters import with_values
from specsim.studies.accuracy.calibrate.replay import record

SMALL = (
    "workload.lengths={kind: fixed, prompt_tokens: 300, output_tokens: 40}",
    "workload.load={kind: closed_loop, concurrency: 8}",
    "workload.num_requests=30",
)
OTHER = {"kernels.linear.bandwidth_efficiency": 0.4, "host_time_per_draft_pass": 2e-3, "verify_attention_factor": 3.0}


@pytest.mark.parametrize("num_draft_tokens", [0, 3])
def test_timed_under_other_costs_equals_simulated_under_them(num_draft_tokens):
    inputs = load_scenario("llama3.1-8b-h100-eagle3", SMALL)
    run = record(Simulation(inputs), num_draft_tokens)
    other = Simulation(dataclasses.replace(inputs, engine=with_values(inputs.engine, OTHER)))
    timed = run.timed(other.step_cost(num_draft_tokens > 0))
    workload = inputs.scenario.workload
    fresh = other.run(
        workload.load, num_draft_tokens=num_draft_tokens, num_requests=workload.num_requests, replication=0
    )
    assert fresh.steps.end[-1] != pytest.approx(run.records.steps.end[-1], rel=0.05)
    for part in ("requests", "steps", "rounds"):
        for field in dataclasses.fields(getattr(fresh, part)):
            ours, theirs = (getattr(getattr(records, part), field.name) for records in (timed, fresh))
            if ours is None:  # steps priced outside do not say what they ask of a device; requests are of no class
                continue
            # times are sums of as many steps; each rounds once in either
            np.testing.assert_allclose(ours, theirs, rtol=len(fresh.steps.end) * 2.3e-16, atol=0, err_msg=field.name)


def test_an_open_loop_cannot_be_timed_again():
    inputs = load_scenario("llama3.1-8b-h100-eagle3", ["workload.load={kind: poisson, rate: 2 requests/s}"])
    with pytest.raises(ValueError, match="closed loop"):
        record(Simulation(inputs), 0)
