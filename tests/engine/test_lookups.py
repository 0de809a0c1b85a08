"""Lookups that find nothing, or little: who verifies how much, and that no other uniforms move."""

import dataclasses

import numpy as np
import pytest

from specsim.analysis.acceptance import acceptance
from specsim.drafting.acceptance import PositionAcceptance
from specsim.drafting.shape import chain
from specsim.engine.run import serve_closed_loop
from specsim.streams import stream

CONDITIONAL = (0.8, 0.6, 0.7)
EVERY, NONE, HALF, RAGGED = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.6, 0.4, 0.2)
RULES = ["token argmax", "block argmax", "greedy", "tree one_hot"]


@pytest.fixture(scope="module")
def run(config, lengths):
    """Serve so many requests of 5 tokens in and so many out; returns the records and what was priced."""

    def served(at_least, *, rule="token argmax", requests=40, output=120, concurrency=8, conditional=CONDITIONAL):
        pairs = lengths(*[(5, output)] * requests)
        how = config(conditional=conditional, rule=rule, at_least=at_least, drafter=None)
        return serve_closed_loop(how, pairs, concurrency), how.cost

    return served


def rounds_of(records, request):
    """The rounds of a request in order: drafts, accepted and emitted tokens."""
    rounds = records.rounds
    mine = rounds.request == request
    return [column[mine].tolist() for column in (rounds.num_draft, rounds.num_accepted, rounds.num_emitted)]


def happened(records):
    """Of what was accepted, numbers that occur: a run that can draft counts more of them."""
    accepted = records.requests.accepted
    requests = dataclasses.replace(records.requests, accepted=accepted[:, accepted.any(axis=0)])
    return requests, records.steps, records.rounds


def same(one, other):
    """Whether all that happened is the same, byte for byte."""
    parts = (map(dataclasses.astuple, pair) for pair in zip(*map(happened, (one, other)), strict=True))
    columns = ((a, b) for x, y in parts for a, b in zip(x, y, strict=True) if a is not None)
    return all(a.tobytes() == b.tobytes() for a, b in columns)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_where_every_lookup_finds_a_draft_nothing_changes(run, rule):
    found, cost = run(EVERY, rule=rule)
    stated, plain = run(None, rule=rule)
    assert same(found, stated)
    assert cost.asked == plain.asked


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_where_no_lookup_finds_a_draft_only_looking_is_left_of_speculation(run, rule):
    looking, cost = run(NONE, rule=rule)
    plain, without = run(None, rule=rule, conditional=())
    assert same(looking, plain)
    assert cost.asked == without.asked
    assert cost.lookups == looking.steps.num_decodes.tolist()
    assert without.lookups == [0] * len(without.lookups)


@pytest.mark.parametrize("at_least", [HALF, RAGGED], ids=["found or not", "ragged"])
def test_every_request_that_looks_pays_for_it(run, at_least):
    records, cost = run(at_least)
    assert cost.lookups == records.steps.num_decodes.tolist()
    verified = [target.logit_rows for target, _ in cost.asked]
    finishing = np.bincount(records.rounds.step[records.rounds.from_prompt], minlength=len(verified))
    assert verified == (records.steps.num_decodes + records.steps.num_draft_tokens + finishing).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("at_least", [HALF, RAGGED], ids=["found or not", "ragged"])
def test_a_request_receives_the_same_alone_and_in_any_batch(run, at_least, rule):
    alone, together = (run(at_least, rule=rule, concurrency=batch)[0] for batch in (1, 7))
    assert all(rounds_of(alone, request) == rounds_of(together, request) for request in range(40))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["token argmax", "block argmax", "greedy"])
def test_what_is_found_is_accepted_with_the_luck_of_its_position(run, rounds_at, rule):
    """Rounds of a run with lookups against the verifier asked anew at the same places."""
    records, _ = run(RAGGED, rule=rule)
    source = PositionAcceptance(CONDITIONAL, 8, stream(1, "distributions"), sampled="argmax" not in rule)
    again = rounds_at(40, source, chain(3), rule.split()[0], num_positions=130)
    for request in range(40):
        again.admit(request)
        num_draft, accepted, emitted = (np.array(column) for column in rounds_of(records, request))
        starts = np.cumsum(emitted) - emitted
        for start, drafts, expected in zip(starts[1:], num_draft[1:], accepted[1:], strict=True):
            # the first token comes with the prompt
            num_out, _ = again.verify([request], start, [drafts])
            assert num_out[0] - 1 == expected


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["token argmax", "greedy"])
@pytest.mark.parametrize("at_least", [HALF, RAGGED], ids=["found or not", "ragged"])
def test_acceptance_is_that_stated_of_what_was_found(run, at_least, rule):
    records, _ = run(at_least, requests=400, rule=rule)
    rounds = records.rounds
    decoding = ~rounds.from_prompt
    found = [(rounds.num_draft[decoding] >= i) for i in (1, 2, 3)]
    for share, expected in zip(found, at_least, strict=True):
        assert abs(share.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / share.size)
    conditional = acceptance(records.requests, rounds).conditional
    for i, (measured, expected) in enumerate(zip(conditional, CONDITIONAL, strict=True)):
        reached = ((rounds.num_draft > i) & (rounds.num_accepted >= i)).sum()
        assert abs(measured - expected) < 4 * np.sqrt(expected * (1 - expected) / reached)


def test_finding_knows_nothing_of_acceptance(run):
    """Of drafts of all lengths the first token is accepted equally often."""
    rounds = run(RAGGED, requests=400)[0].rounds
    accepted = [rounds.num_accepted[rounds.num_draft == drafts] > 0 for drafts in (1, 2, 3)]
    for passed in accepted:
        assert abs(passed.mean() - CONDITIONAL[0]) < 4 * np.sqrt(CONDITIONAL[0] * (1 - CONDITIONAL[0]) / passed.size)


def test_what_was_not_found_takes_none_of_the_budget(config, lengths):
    """Drafts are cut to what the budget leaves; requests whose look-up failed leave theirs to the others."""
    pairs = lengths(*[(5, 120)] * 8)
    how = config(
        conditional=CONDITIONAL, rule="token argmax", at_least=HALF, max_num_batched_tokens=20, decode_only=True
    )
    records = serve_closed_loop(how, pairs, 8)
    steps, rounds = records.steps, records.rounds
    cut, spare = np.zeros((2, len(steps.start)), dtype=bool)
    cut[rounds.step[(rounds.num_draft > 0) & (rounds.num_draft < 3)]] = True  # of HALF, drafts are found whole or not
    spare[steps.num_decodes + steps.num_draft_tokens < 20] = True
    assert not (cut & spare).any()
    assert cut.any()
    # all eight would need 32: those who found nothing made room
    whole = np.bincount(rounds.step[rounds.num_draft == 3], minlength=len(steps.start))
    full = (steps.num_decodes == 8) & (whole == 4)
    assert full.any()
