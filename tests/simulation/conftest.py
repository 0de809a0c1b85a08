"""Scenarios with short requests, from the catalogue's own and overrides."""

from collections.abc import Callable

import pytest

from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import Inputs, load_scenario
from specsim.simulation.replica import Simulation

DRAFT_MODEL = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"


def short_inputs(*overrides: str, prompt: int = 100, output: int = 64, overlap: float = 0.8) -> Inputs:
    """Llama-3.1-8B with its EAGLE-3 head on an H100, with lengths and acceptance that are constant."""
    lengths = f"workload.lengths={{kind: fixed, prompt_tokens: {prompt}, output_tokens: {output}}}"
    acceptance = f"speculation.acceptance={{kind: constant, overlap: {overlap}}}"
    return load_scenario("llama3.1-8b-h100-eagle3", [lengths, acceptance, *overrides])


@pytest.fixture(scope="session")
def inputs() -> Callable[..., Inputs]:
    return short_inputs


@pytest.fixture(scope="session")
def run():
    """Runs a closed loop over inputs."""

    def closed(inputs, concurrency, num_draft_tokens, *, num_requests=None, replication=0):
        return Simulation(inputs).run(
            ClosedLoop(kind="closed_loop", concurrency=concurrency),
            num_draft_tokens=num_draft_tokens,
            num_requests=num_requests or 2 * concurrency,
            replication=replication,
        )

    return closed


@pytest.fixture(scope="session")
def ideal() -> Callable[..., Inputs]:
    """The textbook device, decode only, with a draft model whose passes all cost the same."""

    def make(overlap: float, output: int) -> Inputs:
        textbook = ("deployment.ideal=true", "deployment.engine=ideal", "workload.decode_only=true", DRAFT_MODEL)
        return short_inputs(*textbook, prompt=10, output=output, overlap=overlap)

    return make
