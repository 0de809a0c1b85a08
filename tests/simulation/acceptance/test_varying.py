"""Acceptance that varies, in whole runs: against closed forms, and paired whatever the policy does."""

import numpy as np
import pytest

from specsim.analysis.closed_form import expected_tokens_of
from specsim.drafting.expected_varied_tokens import accepted_law, mean_tokens_varied
from specsim.drafting.varying import chances, overlap_table
from specsim.inputs.models.policy import OraclePolicy, PerRequestPolicy
from specsim.simulation.expected import tokens_per_verify
from specsim.simulation.replica import Simulation

K, ALPHA, SD = 4, 0.7, 0.15
STRETCHES = "hard_stretches: {share: 0.3, mean_length: 12, drop: 0.4}"


def stated(**varied):
    given = {"kind": "constant", "overlap": ALPHA} | varied
    return "speculation.acceptance={" + ", ".join(f"{key}: {value}" for key, value in given.items()) + "}"


def rounds_of(records):
    """Verifies alone, with each one's first output position."""
    rounds = records.rounds
    order = np.argsort(rounds.request, kind="stable")  # steps ascend, so each request's rounds stay in order
    request, emitted = rounds.request[order], rounds.num_emitted[order]
    before = np.cumsum(emitted) - emitted
    first = np.searchsorted(request, request)
    verify = ~rounds.from_prompt[order]
    return request[verify], (before - before[first])[verify], rounds.num_accepted[order][verify]


def by_request(values, request):
    """Mean over all rounds and its standard error, with requests as the independent units."""
    count, total = np.bincount(request), np.bincount(request, values)
    mean = total.sum() / count.sum()
    return mean, np.sqrt(((total - mean * count) ** 2).sum()) / count.sum()


@pytest.mark.parametrize("how", [(), ("speculation.temperature=0",), ("speculation.drafts=argmax",)])
def test_spread_leaves_the_mean_and_has_the_standard_deviation(inputs, run, how):
    """With one draft a round, each request's share of accepted drafts is its own acceptance with binomial noise."""
    number = 1500
    subject = inputs(stated(spread=SD), *how, output=101)
    request, _, accepted = rounds_of(run(subject, 64, 1, num_requests=number))
    count = np.bincount(request, minlength=number)
    share = np.bincount(request, accepted, number) / count
    # a request with low acceptance has more rounds, so its share is weighed as one request and not by them
    assert abs(share.mean() - ALPHA) < 4 * share.std() / np.sqrt(number)
    noise = share * (1 - share) / (count - 1)  # unbiased for the binomial variance of a share
    variance = (share - share.mean()) ** 2 - noise
    assert abs(variance.mean() - SD**2) < 4 * variance.std() / np.sqrt(number)


def test_first_rounds_are_beta_geometric(inputs, run):
    number = 6000
    subject = inputs(stated(spread=SD), output=7)
    _, position, accepted = rounds_of(run(subject, 64, K, num_requests=number))
    first = accepted[position == 1]
    assert len(first) == number
    exact = ALPHA * (1 - ALPHA) / SD**2 - 1
    marginal = np.cumprod((ALPHA * exact + np.arange(K)) / (exact + np.arange(K)))  # E[α^i] of a Beta
    for i, due in enumerate(marginal, start=1):
        seen = (first >= i).mean()
        assert abs(seen - due) < 4 * np.sqrt(due * (1 - due) / number)
    # an acceptance that all requests share would be told apart
    assert marginal[-1] - ALPHA**K > 4 * np.sqrt(ALPHA**K / number)


@pytest.mark.parametrize("varied", ["spread", "stretches", "both"])
def test_tokens_per_verify_are_those_of_the_closed_form(inputs, run, varied):
    acceptance = {
        "spread": stated(spread=SD),
        "stretches": stated().replace("}", f", {STRETCHES}}}"),
        "both": stated(spread=SD).replace("}", f", {STRETCHES}}}"),
    }[varied]
    subject = inputs(acceptance, output=300)
    request, _, accepted = rounds_of(run(subject, 64, K, num_requests=500))
    mean, error = by_request(accepted + 1.0, request)
    assert abs(mean - tokens_per_verify(Simulation(subject), K)) < 4 * error


def test_tails_with_stretches_are_those_of_the_chain(inputs, run):
    """How many drafts are accepted, by products of the chain's matrices; an even acceptance has another law."""
    subject = inputs(stated().replace("}", f", {STRETCHES}}}"), output=300)
    acceptance = subject.scenario.speculation.acceptance
    law = accepted_law(overlap_table(acceptance, K)[K, :, 0], chances(acceptance.hard_stretches))
    request, _, accepted = rounds_of(run(subject, 64, K, num_requests=500))
    for n, due in enumerate(law):
        mean, error = by_request((accepted == n).astype(float), request)
        assert abs(mean - due) < 4 * error
    even = ALPHA ** np.arange(K + 1) * np.append(np.full(K, 1 - ALPHA), 1)
    assert np.abs(law - even).max() > 8 * error


def test_acceptance_decays_with_the_context(inputs, run):
    table = "[{tokens: 100, factor: 1.0}, {tokens: 300, factor: 0.4}]"
    subject = inputs(stated(by_context=table), prompt=60, output=300)
    _, position, accepted = rounds_of(run(subject, 64, 2, num_requests=300))
    due = ALPHA * np.interp(60 + position, [100, 300], [1.0, 0.4])
    surplus = (accepted > 0) - due
    error = np.sqrt((due * (1 - due)).sum())
    assert abs(surplus.sum()) < 4 * error
    late = position > 150  # and not only on the whole
    assert abs(surplus[late].sum()) < 4 * np.sqrt((due * (1 - due))[late].sum())


def test_a_round_goes_by_the_profile_of_its_own_length(inputs, run):
    profiles = {1: [0.9], 2: [0.6, 0.3], 3: [0.5, 0.4, 0.3]}
    acceptance = (
        f"speculation.acceptance={{kind: profile, basis: conditional, values: [0.8], by_num_draft_tokens: {profiles}}}"
    )
    subject = inputs(acceptance, output=200)
    simulation = Simulation(subject)
    policy = PerRequestPolicy(kind="per_request", num_draft_tokens=4, start=3)
    load = subject.scenario.workload.load
    rounds = simulation.run(load, num_draft_tokens=4, num_requests=200, replication=0, policy=policy).rounds
    for drafts, due in {**profiles, 4: [0.8] * 4}.items():
        accepted = rounds.num_accepted[rounds.num_draft == drafts]
        for i, alpha in enumerate(due):
            reached = accepted[accepted >= i]
            assert len(reached) > 50
            assert abs((reached > i).mean() - alpha) < 4 * np.sqrt(alpha * (1 - alpha) / len(reached))
    for drafts, due in profiles.items():
        assert tokens_per_verify(simulation, drafts) == pytest.approx(float(expected_tokens_of(np.array(due))))


def test_policies_meet_the_same_requests_and_the_same_text(inputs):
    """Where an oracle drafts just what a static policy's round would accept, both emit the same chunks."""
    subject = inputs(stated(spread=SD).replace("}", f", {STRETCHES}}}"), output=100)
    simulation, load = Simulation(subject), subject.scenario.workload.load
    plain = simulation.run(load, num_draft_tokens=K, num_requests=40, replication=0)
    oracle = OraclePolicy(kind="oracle", num_draft_tokens=K)
    seen = simulation.run(load, num_draft_tokens=K, num_requests=40, replication=0, policy=oracle)
    for one, other in zip(rounds_of(plain), rounds_of(seen), strict=True):
        np.testing.assert_array_equal(one, other)
    assert seen.rounds.num_draft.sum() < plain.rounds.num_draft.sum()


def test_the_closed_form_of_what_does_not_vary_is_the_plain_one(inputs):
    acceptance = inputs(stated()).scenario.speculation.acceptance
    assert mean_tokens_varied(acceptance, K, 0) == pytest.approx(float(expected_tokens_of(acceptance.conditional(K))))
