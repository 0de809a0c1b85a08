"""Where the blocks run out: who loses their place, what they compute again, and that their uniforms stay theirs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.workload.lengths import Lengths

SETTINGS = settings(max_examples=50, deadline=None)


def two_that_do_not_fit(config, make_case, **named):
    """6 tokens in and 6 out each, of which blocks of 4 hold 12: each may need 3 blocks, and there are 4."""
    how = config(kv_tokens=16, block_size=4, **named)
    return make_case(Lengths(np.full(2, 6), np.full(2, 6)), how, np.zeros(2))


def test_the_last_in_service_goes_and_computes_its_tokens_again(config, make_case, watched):
    records, server = watched(two_that_do_not_fit(config, make_case, conditional=()))
    steps = records.steps
    # in step 3 the first computes its 9th token, for which it takes a block from the other; that has had 9 tokens then,
    # and takes them in again once the first is done
    assert steps.num_prompt_tokens.tolist() == [12, 0, 0, 0, 0, 0, 9, 0, 0]
    assert steps.num_decodes.tolist() == [0, 2, 2, 1, 1, 1, 0, 1, 1]
    assert steps.kv_tokens.tolist() == [16, 16, 16, 12, 12, 12, 12, 12, 12]
    assert steps.num_running.tolist() == [2, 2, 2, 1, 1, 1, 1, 1, 1]
    assert steps.num_waiting.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    assert server.requests.preempted.tolist() == [0, 1]
    rounds = records.rounds
    assert rounds.from_prompt[rounds.request == 1].tolist() == [True, False, False, True, False, False]
    assert (records.requests.admitted == 0).all()  # the first time
    # gaps between chunks, that after taking in again among them, are all the time from the first token to the last
    tally, requests = records.tally, records.requests
    assert tally.gap_count.sum() == len(rounds.request) - 2
    assert tally.gap_sum == pytest.approx((requests.finish - requests.first_token).sum(), rel=1e-12)


def test_the_drafter_takes_in_again_what_it_lost(config, make_case, watched):
    case = two_that_do_not_fit(config, make_case, conditional=(0.0,), max_num_batched_tokens=13)
    records, _ = watched(case)
    asked = case.config.cost.asked
    again = 1 + np.flatnonzero(records.steps.num_prompt_tokens[1:])
    assert len(again) == 1
    target, (first, *_) = asked[again[0]]
    assert first.prompt_tokens == first.fused_tokens == target.prompt_tokens > 6
    # from then on it lacks the newest token, as after any prompt
    _, (after, *_) = asked[again[0] + 1]
    assert after.tokens == 1


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_what_was_lost_is_computed_again_and_nothing_else(cases, watched, data):
    case = data.draw(cases(max_priority=1, keeps=False), "case")
    records, seen = watched(case)
    prompt, number = case.lengths.prompt, len(case.lengths.prompt)
    left, times_lost = np.where(case.config.decode_only, 0, prompt), np.zeros(number, dtype=int)
    computed = 0
    for step, chunks in enumerate(seen.chunks):
        lost = seen.preempted[step] > times_lost
        left[lost], times_lost = (prompt + seen.emitted[step])[lost], seen.preempted[step]
        arrived = records.requests.arrival <= records.steps.start[step]
        np.testing.assert_array_equal(seen.left[step][arrived], left[arrived])
        for request, tokens in chunks:
            left[request] -= tokens
            computed += tokens
    assert (left == 0).all()
    assert records.steps.num_prompt_tokens.sum() == computed
    assert (seen.preempted[-1] == seen.requests.preempted).all()
    if not seen.requests.preempted.any():
        assert computed == (0 if case.config.decode_only else prompt.sum())


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_those_who_lose_their_places_are_the_last(cases, watched, data):
    _, seen = watched(data.draw(cases(max_priority=2), "case"))
    for step in range(1, len(seen.running)):
        lost = set(np.flatnonzero(seen.preempted[step] > seen.preempted[step - 1]).tolist())
        finished = seen.emitted[step] == seen.requests.output_tokens
        before = [request for request in seen.running[step - 1] if not finished[request]]
        gone = [request for request in before if request in lost]
        assert gone == before[len(before) - len(gone) :]
        # nobody comes back in the step that sends them away
        assert not lost & set(seen.running[step])


RULES = ["token", "block", "greedy", "token argmax", "tree without_replacement", "tree one_hot greedy"]


def rounds_by_place(records):
    """(request, output position at which it starts, drafts) → drafts accepted."""
    found, starts = {}, np.zeros(len(records.requests.finish), dtype=int)
    rounds = records.rounds
    columns = (rounds.request, rounds.num_draft, rounds.num_accepted, rounds.num_emitted, rounds.from_prompt)
    for request, drafts, accepted, emitted, from_prompt in zip(*columns, strict=True):
        if not from_prompt:
            found[request, starts[request], drafts] = accepted
        starts[request] += emitted
    return found


@pytest.mark.parametrize("rule", RULES)
def test_luck_is_the_same_with_and_without_the_loss_of_a_place(config, make_case, watched, rule):
    lengths = Lengths(np.arange(5, 21), np.full(16, 60))
    runs = []
    for kv_tokens in (10_000, 320):
        records, server = watched(make_case(lengths, config(rule=rule, kv_tokens=kv_tokens), np.zeros(16)))
        runs.append((rounds_by_place(records), int(server.requests.preempted.sum())))
    (ample, none), (tight, many) = runs
    assert none == 0
    assert many >= 3
    shared = ample.keys() & tight.keys()
    assert len(shared) > 0.3 * len(ample)
    assert [ample[place] for place in sorted(shared)] == [tight[place] for place in sorted(shared)]


def test_a_request_that_can_never_be_served_is_named(config, make_case):
    case = make_case(Lengths(np.array([4, 40]), np.array([2, 2])), config(kv_tokens=32), np.zeros(2))
    with pytest.raises(RuntimeError, match="request 1 can never be admitted"):
        case.server().finish()
