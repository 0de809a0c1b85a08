"""Classes of requests with an acceptance of their own."""

import numpy as np
import pytest

from specsim.analysis.closed_form import expected_tokens_of
from specsim.planner.expected import tokens_per_verify
from specsim.schema.load import load_scenario
from specsim.schema.workload import ClosedLoop
from specsim.simulation import Simulation

K = 3
OVERLAPS = (0.8, 0.5, 0.2)  # of domains 0, 1 and 2
MIXTURE = (
    "workload.mixture=[{share: 0.5}, "
    "{share: 0.3, lengths: {kind: fixed, prompt_tokens: 50, output_tokens: 90}, "
    "acceptance: {kind: constant, overlap: 0.5}}, "
    "{share: 0.2, acceptance: {kind: constant, overlap: 0.2}}]"
)
LENGTHS = "workload.lengths={kind: fixed, prompt_tokens: 50, output_tokens: 60}"
ACCEPTANCE = "speculation.acceptance={kind: constant, overlap: 0.8}"


@pytest.fixture(scope="module", params=["token", "greedy", "argmax", "block"])
def simulation(request):
    rule = {
        "token": [],
        "greedy": ["speculation.temperature=0"],
        "argmax": ["speculation.drafts=argmax"],
        "block": ["speculation.verifier=block"],
    }[request.param]
    return Simulation(load_scenario("llama3.1-8b-h100-eagle3", [ACCEPTANCE, LENGTHS, MIXTURE, *rule]))


def run(simulation, *, requests=1500):
    load = ClosedLoop(kind="closed_loop", concurrency=64)
    return simulation.run(load, num_draft_tokens=K, num_requests=requests, replication=0)


def test_each_class_is_accepted_as_it_says(simulation):
    records, lengths = run(simulation), simulation.lengths(1500, 0)
    rounds = records.rounds
    verify = ~rounds.from_prompt
    domain = lengths.domain[rounds.request]
    for c, overlap in enumerate(OVERLAPS):
        mine = verify & (domain == c)
        first = (rounds.num_accepted[mine] > 0).mean()
        if simulation.inputs.scenario.speculation.verifier == "block":
            assert first >= overlap - 4 * np.sqrt(overlap * (1 - overlap) / mine.sum())  # never less than token-wise
        else:
            assert abs(first - overlap) < 4 * np.sqrt(overlap * (1 - overlap) / mine.sum())


def test_the_closed_form_weighs_domains_by_their_verifies(simulation):
    """Of the simulated verifies that no end of output can cut short: the mean within 4 standard errors."""
    rounds, lengths = run(simulation).rounds, simulation.lengths(1500, 0)
    verify = ~rounds.from_prompt
    tokens = rounds.num_accepted[verify] + 1
    output = np.bincount(lengths.domain, lengths.output, 3)
    expected = tokens_per_verify(simulation, K)
    error = tokens.std() / np.sqrt(tokens.size)
    # the closed form takes 4,096 requests' lengths, the run has 1,500: shares of classes differ by chance as well
    shares = 0.5 * np.sqrt(1 / 1500 + 1 / 4096) * tokens.std()
    assert abs(tokens.mean() - expected) < 4 * (error + shares)
    if simulation.inputs.scenario.speculation.verifier != "block":
        each = [float(expected_tokens_of(np.full(K, overlap))) for overlap in OVERLAPS]
        assert abs(output.sum() / (output / each).sum() - expected) < 4 * shares


def test_without_acceptances_of_their_own_classes_share_the_stated_one():
    plain = "workload.mixture=[{share: 0.5}, {share: 0.5}]"
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [ACCEPTANCE, LENGTHS, plain])
    assert len(Simulation(inputs).acceptance_sources(K)) == 1
