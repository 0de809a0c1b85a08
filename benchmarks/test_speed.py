"""Speed of the verifier and of whole runs; read the ratios, the machine is shared."""

from functools import partial

import numpy as np
import pytest

from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation
from specsim.verification import verify_chain
from specsim.verification.proof.loops import chain_by_loops

DEMO = "llama3.1-8b-h100-eagle3"


@pytest.mark.parametrize("verify", [partial(verify_chain, validate=False), chain_by_loops], ids=["numpy", "loops"])
@pytest.mark.parametrize(("batch", "num_draft", "vocabulary"), [(1, 3, 32), (64, 4, 16), (64, 4, 32), (256, 4, 8)])
def test_verify_chain(benchmark, verify, batch, num_draft, vocabulary):
    benchmark.group = f"verify, B={batch} K={num_draft} V={vocabulary}"
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(vocabulary), (batch, num_draft))
    p = rng.dirichlet(np.ones(vocabulary), (batch, num_draft + 1))
    draft = rng.integers(vocabulary, size=(batch, num_draft))
    uniforms = {"accept_uniforms": rng.random((batch, num_draft)), "final_uniforms": rng.random(batch)}
    benchmark(verify, draft, q, p, np.full(batch, num_draft), **uniforms)


@pytest.mark.parametrize("num_draft_tokens", [0, 3])
@pytest.mark.parametrize("concurrency", [1, 64, 256])
def test_run(benchmark, concurrency, num_draft_tokens):
    benchmark.group = f"run, {concurrency} in flight"
    simulation = Simulation(load_scenario(DEMO))
    load = ClosedLoop(kind="closed_loop", concurrency=concurrency)
    requests = max(16, 2 * concurrency)

    def run():
        return simulation.run(load, num_draft_tokens=num_draft_tokens, num_requests=requests, replication=0)

    records = benchmark(run)
    benchmark.extra_info["steps"] = len(records.steps.start)
