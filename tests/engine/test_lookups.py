"""Lookups that find nothing, or little: who verifies how much, and that no other luck moves."""

import dataclasses

import numpy as np
import pytest

from specsim.analysis.acceptance import acceptance
from specsim.engine.lookups import Lookups
from specsim.engine.run import serve_closed_loop
from specsim.engine.scheduler import fit_decodes
from specsim.rng import lookup_uniforms, request_uniforms

CONDITIONAL = (0.8, 0.6, 0.7)
EVERY, NONE, HALF, RAGGED = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.6, 0.4, 0.2)
RULES = ["token argmax", "block argmax", "greedy", "tree one_hot"]


@pytest.fixture(scope="module")
def run(serving, lengths):
    """Serve so many requests of 5 tokens in and so many out; returns the records and what was priced."""

    def served(at_least, *, rule="token argmax", requests=40, output=120, concurrency=8, conditional=CONDITIONAL):
        pairs = lengths(*[(5, output)] * requests)
        how = serving(pairs, conditional=conditional, rule=rule, at_least=at_least, drafter=None)
        return serve_closed_loop(how, pairs, concurrency), how.cost

    return served


def rounds_of(records, request):
    """The rounds of a request in order: drafts, accepted and emitted tokens."""
    rounds = records.rounds
    mine = rounds.request == request
    return [column[mine].tolist() for column in (rounds.num_draft, rounds.num_accepted, rounds.num_emitted)]


def same(one, other):
    """Whether two records are equal byte for byte."""
    parts = zip(dataclasses.astuple(one), dataclasses.astuple(other), strict=True)
    return all(a.tobytes() == b.tobytes() for x, y in parts for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("rule", RULES)
def test_where_every_lookup_finds_a_draft_nothing_changes(run, rule):
    found, cost = run(EVERY, rule=rule)
    stated, plain = run(None, rule=rule)
    assert same(found, stated)
    assert cost.asked == plain.asked


@pytest.mark.parametrize("rule", RULES)
def test_where_no_lookup_finds_a_draft_only_looking_is_left_of_speculation(run, rule):
    looking, cost = run(NONE, rule=rule)
    plain, without = run(None, rule=rule, conditional=())
    # slots for drafts are reserved all the same, since one may be found
    reserved = dataclasses.replace(looking.steps, kv_tokens=plain.steps.kv_tokens)
    assert same(dataclasses.replace(looking, steps=reserved), plain)
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


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("at_least", [HALF, RAGGED], ids=["found or not", "ragged"])
def test_a_request_receives_the_same_alone_and_in_any_batch(run, at_least, rule):
    alone, together = (run(at_least, rule=rule, concurrency=batch)[0] for batch in (1, 7))
    assert all(rounds_of(alone, request) == rounds_of(together, request) for request in range(40))


@pytest.mark.parametrize("rule", ["token argmax", "block argmax", "greedy"])
def test_what_is_found_is_accepted_with_the_luck_of_its_position(run, serving, lengths, rule):
    """Rounds of a run with lookups against the verifier asked anew at the same places."""
    records, _ = run(RAGGED, rule=rule)
    pairs = lengths(*[(5, 120)] * 40)
    speculator = serving(pairs, conditional=CONDITIONAL, rule=rule, max_num_seqs=40).speculator
    for request in range(40):
        speculator.admit(request)
        num_draft, accepted, emitted = (np.array(column) for column in rounds_of(records, request))
        starts = np.cumsum(emitted) - emitted
        requests = np.full(len(starts) - 1, request)
        again = speculator.verify(requests, starts[1:], num_draft[1:])  # the first token comes with the prompt
        assert (again.num_out - 1).tolist() == accepted[1:].tolist()


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
    positions = 40_000
    table, found = request_uniforms(1, 0, 3, positions), lookup_uniforms(1, 0, 3, positions)
    for lane in table.T:
        assert abs(np.corrcoef(lane, found)[0, 1]) < 4 / np.sqrt(positions)


def test_a_longer_table_of_lookups_begins_with_the_shorter_one():
    np.testing.assert_array_equal(lookup_uniforms(1, 2, 3, 50)[:20], lookup_uniforms(1, 2, 3, 20))


def test_what_was_not_found_takes_none_of_the_budget():
    """Four requests, K = 3, a budget of 10: two rows without drafts leave room for two with all of theirs."""
    lookups = Lookups(np.array(HALF), seed=1, replication=0, num_slots=200, num_positions=1)
    requests = np.arange(200)
    for request in requests:
        lookups.admit(request)
    found = lookups.found(requests, np.zeros(200, dtype=np.int64), np.full(200, 3))
    picked = np.concatenate((requests[found == 0][:2], requests[found == 3][:2]))
    drafts = lookups.found(picked, np.zeros(4, dtype=np.int64), np.full(4, 3))
    assert fit_decodes(picked, drafts, 10, np.arange(4)).num_draft.tolist() == [0, 0, 3, 3]
    assert fit_decodes(picked, drafts, 9, np.arange(4)).num_draft.tolist() == [0, 0, 3, 2]
