"""Classes of requests with an acceptance of their own."""

import numpy as np
import pytest

from specsim.analysis.closed_form import expected_tokens_of
from specsim.engine import run as run_module
from specsim.engine import verify_chains as chains
from specsim.engine.advance import advance
from specsim.errors import InputError
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import tokens_per_verify
from specsim.simulation.replica import Simulation

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


@pytest.mark.slow
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
    assert len(Simulation(inputs).sources.acceptance_sources(K)) == 1


TEMPERATURES = "workload.mixture=[{share: 0.5}, {share: 0.3, temperature: 0}, {share: 0.2, temperature: 0.7}]"


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["token", "block"])
@pytest.mark.parametrize("base", [1, 0])
def test_classes_that_sample_and_classes_that_do_not_share_a_batch(monkeypatch, rule, base):
    """Each row of a verify call is greedy or not as its own class says; all classes are accepted as stated."""
    flags, genuine = [], chains.verify_rows_into
    monkeypatch.setattr(run_module, "advance_function", lambda: advance)

    def seen(*arguments):
        genuine(*arguments)
        flags.append(arguments[7].copy() if len(arguments[7]) else np.zeros(len(arguments[2]), bool))  # none for none

    monkeypatch.setattr(chains, "verify_rows_into", seen)
    temperature, verifier = f"speculation.temperature={base}", f"speculation.verifier={rule}"
    overrides = [ACCEPTANCE, LENGTHS, TEMPERATURES, temperature, verifier]
    mixed = Simulation(load_scenario("llama3.1-8b-h100-eagle3", overrides))
    records, lengths = run(mixed, requests=300), mixed.lengths(300, 0)
    rounds = records.rounds
    verify = ~rounds.from_prompt
    domain = lengths.domain[rounds.request[verify]]
    greedy = (domain == 1) | ((domain == 0) & (base == 0))
    np.testing.assert_array_equal(np.concatenate(flags), greedy)
    assert any(0 < call.sum() < len(call) for call in flags)
    for c in range(3):
        first = rounds.num_accepted[verify][domain == c] > 0
        error = 4 * np.sqrt(0.8 * 0.2 / len(first))
        assert abs(first.mean() - 0.8) < error or (
            rule == "block" and first.mean() > 0.8 and not greedy[domain == c].any()
        )


def trace(tmp_path, domains):
    path = tmp_path / "trace.csv"
    rows = "".join(f"{i},50,60,{domain}\n" for i, domain in enumerate(domains))
    path.write_text("arrival_s,prompt_tokens,output_tokens,domain\n" + rows)
    return f"workload.lengths={{kind: trace, file: '{path}'}}"


def test_the_order_in_which_domains_are_listed_makes_no_difference_and_results_have_the_traces_numbers(tmp_path):
    replayed = trace(tmp_path, [7, 2, 2, 7]), "workload.load={kind: replay}"
    seven, two = "7: {kind: constant, overlap: 0.9}", "2: {kind: constant, overlap: 0.1}"
    runs = []
    for listed in (f"{seven}, {two}", f"{two}, {seven}"):
        inputs = load_scenario("llama3.1-8b-h100-eagle3", [*replayed, f"workload.domains={{{listed}}}"])
        load = inputs.scenario.workload.load
        runs.append(Simulation(inputs).run(load, num_draft_tokens=K, num_requests=4, replication=0))
    one, other = (run.requests for run in runs)
    np.testing.assert_array_equal(one.finish, other.finish)
    np.testing.assert_array_equal(one.domain, other.domain)
    assert one.domain.tolist() == [7, 2, 2, 7]


LISTED = "workload.domains={7: {kind: constant, overlap: 0.5}, 2: {kind: constant, overlap: 0.2, spread: 0.1}}"


@pytest.mark.parametrize("mixture", ["[]", "[{share: 0.6}, {share: 0.4, acceptance: {kind: constant, overlap: 0.9}}]"])
def test_a_traces_domains_have_the_acceptance_that_its_numbers_name(tmp_path, mixture):
    inputs = load_scenario(
        "llama3.1-8b-h100-eagle3",
        [ACCEPTANCE, trace(tmp_path, [7, 2, 2, 7]), LISTED, f"workload.mixture={mixture}"],
    )
    simulation = Simulation(inputs)
    records, lengths = run(simulation, requests=1000), simulation.lengths(1000, 0)
    rounds, of_class = records.rounds, mixture != "[]"
    domain = lengths.domain[rounds.request]
    assert set(lengths.domain.tolist()) == ({1, 2, 3} if of_class else {1, 2})
    due = {1: 0.9, 2: 0.2, 3: 0.5} if of_class else {1: 0.2, 2: 0.5}  # by number, whatever the order
    for c, overlap in due.items():
        accepted = rounds.num_accepted[~rounds.from_prompt & (domain == c)] > 0
        spread = 0.1 if overlap == 0.2 else 0.0  # over requests, of which each counts by its rounds
        error = np.sqrt(overlap * (1 - overlap) / accepted.size + spread**2 / (lengths.domain == c).sum())
        # requests that are accepted less have more rounds: Cov(rounds, α)/E[rounds] ≈ -sd²/(1 + α), to first order
        assert -4 * error - 2 * spread**2 < accepted.mean() - overlap < 4 * error


def test_a_domain_that_is_not_listed_is_named_by_its_line(tmp_path):
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [trace(tmp_path, [7, 3, 2, 4]), LISTED])
    with pytest.raises(InputError) as caught:
        Simulation(inputs)
    found = [(problem.path, problem.value) for problem in caught.value.problems]
    assert found == [("line 3, domain", "3"), ("line 5, domain", "4")]
    assert "lists 2, 7" in caught.value.problems[0].remedy


def test_domains_need_a_trace_that_has_them(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,5,5\n")
    lengths = f"workload.lengths={{kind: trace, file: '{path}'}}"
    with pytest.raises(InputError, match="column is missing"):
        Simulation(load_scenario("llama3.1-8b-h100-eagle3", [lengths, LISTED]))
