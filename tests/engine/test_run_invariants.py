"""What holds of every run, whatever its requests, limits, drafts and clients."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.analysis.invariants import violations
from specsim.inputs.models.policy import StaticPolicy

SETTINGS = settings(max_examples=50, deadline=None)


@pytest.fixture(scope="session")
def served(cases, watched):
    """Runs a case that ``data`` decides; returns records, how they were served and what was seen."""

    def run(data):
        case = data.draw(cases(), "case")
        return *watched(case), case.config

    return run


def tokens_of(steps):
    return steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens


def held(how, tokens):
    """Blocks that so many tokens take."""
    return -(-tokens // how.block_size)


def lost_places(seen):
    """Whether somebody lost their place, step by step."""
    counts = [0, *(preempted.sum() for preempted in seen.preempted)]
    return np.diff(counts) > 0


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_every_request_receives_exactly_what_it_asked_for(served, data):
    records, seen, how = served(data)
    rounds, requests = records.rounds, records.requests
    received = np.bincount(rounds.request, rounds.num_emitted, len(requests.finish))
    np.testing.assert_array_equal(received, requests.output_tokens)
    np.testing.assert_array_equal(seen.requests.emitted, requests.output_tokens)
    assert (rounds.num_emitted >= 1).all()
    assert (rounds.num_accepted <= rounds.num_draft).all()
    # a round is cut short by the end of the output only, so only as a request's last
    cut = rounds.num_emitted < rounds.num_accepted + 1
    last = records.steps.end[rounds.step] == requests.finish[rounds.request]
    assert (last | ~cut).all()
    assert (rounds.num_emitted <= rounds.num_accepted + 1).all()
    # a token comes from the last chunk of a prompt, and from that of all tokens so far after a place was lost
    first_rounds = np.bincount(rounds.request[rounds.from_prompt], minlength=len(requests.finish))
    assert (first_rounds >= (0 if how.decode_only else 1)).all()
    assert (first_rounds <= (0 if how.decode_only else 1) + seen.requests.preempted).all()


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_time_never_runs_backwards(served, data):
    records, _, _ = served(data)
    requests, steps, rounds = records.requests, records.steps, records.rounds
    assert (requests.arrival <= requests.admitted).all()
    assert (requests.admitted < requests.first_token).all()
    assert (requests.first_token <= requests.finish).all()
    assert (steps.start < steps.end).all()
    assert (steps.end[:-1] <= steps.start[1:]).all()
    assert (np.diff(rounds.step) >= 0).all()
    ready = steps.end[rounds.step]
    for request in range(len(requests.finish)):
        own = ready[rounds.request == request]
        assert (own[0], own[-1]) == (requests.first_token[request], requests.finish[request])
        assert (np.diff(own) > 0).all()
    # the clock adds a duration to a start, which rounds once at the size of the clock
    np.testing.assert_array_less(np.abs(steps.parts.sum(axis=1) - (steps.end - steps.start)), 2 * np.spacing(steps.end))


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_no_step_exceeds_a_limit(served, data):
    records, _, how = served(data)
    steps = records.steps
    tokens = tokens_of(steps)
    assert (tokens >= 1).all()
    assert (tokens <= how.max_num_batched_tokens).all()
    assert (steps.num_running <= how.max_num_seqs).all()
    assert (steps.kv_tokens <= how.kv_tokens).all()


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_blocks_are_those_that_requests_hold_and_all_come_back(served, data):
    records, seen, how = served(data)
    in_use, blocks = np.array(seen.in_use), np.array(seen.blocks)
    assert (blocks >= 0).all()
    # where they are shared, what several hold is one
    assert (in_use <= blocks.sum(axis=1)).all() if how.prefix_caching else (in_use == blocks.sum(axis=1)).all()
    np.testing.assert_array_equal(records.steps.kv_tokens, in_use * how.block_size)
    known = records.requests.prompt_tokens + np.array(seen.emitted)
    drafts = {(step, request): nodes for step, request, nodes in nodes_verified(records)}
    for step, running in enumerate(seen.running):
        outside = np.delete(blocks[step], running)
        assert (outside == 0).all()
        for request in running:
            ever = how.admission == "whole_request" and records.requests.output_tokens[request]
            most = max(known[step, request], ever and ever + records.requests.prompt_tokens[request])
            assert blocks[step, request] <= held(how, most + how.shape.max_nodes)
        for request in seen.decodes[step]:  # all of its context but the newest token is in the cache already
            assert blocks[step, request] >= held(how, known[step, request] + drafts[step, request])
        for request, tokens in seen.chunks[step]:
            computed = known[step, request] - seen.left[step][request] + tokens
            assert blocks[step, request] >= held(how, computed)
    assert seen.requests.blocks.sum() == 0
    assert (seen.requests.slot == -1).all()
    assert sorted(seen.replica.batch.free_slots) == list(range(len(seen.replica.batch)))


def nodes_verified(records):
    rounds = records.rounds
    columns = (column[~rounds.from_prompt].tolist() for column in (rounds.step, rounds.request, rounds.num_nodes))
    return zip(*columns, strict=True)


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_what_a_step_records_is_what_requests_saw(served, data):
    records, seen, _ = served(data)
    requests, steps, rounds = records.requests, records.steps, records.rounds
    verified, start = ~rounds.from_prompt, steps.start[:, None]
    np.testing.assert_array_equal(steps.num_running, [len(running) for running in seen.running])
    np.testing.assert_array_equal(steps.num_decodes, np.bincount(rounds.step[verified], minlength=len(start)))
    drafted = np.bincount(rounds.step, rounds.num_nodes, minlength=len(start))
    np.testing.assert_array_equal(steps.num_draft_tokens, drafted)
    np.testing.assert_array_equal(steps.num_prompt_tokens, [sum(t for _, t in chunks) for chunks in seen.chunks])
    present = (requests.arrival <= start) & (start < requests.finish)
    np.testing.assert_array_equal(steps.num_running + steps.num_waiting, present.sum(axis=1))


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_the_server_rests_only_where_nobody_is_left(served, data):
    records, _, _ = served(data)
    requests, steps = records.requests, records.steps
    for step in 1 + np.flatnonzero(steps.start[1:] > steps.end[:-1]):
        assert steps.start[step] in requests.arrival
        assert (requests.finish[requests.arrival < steps.start[step]] <= steps.end[step - 1]).all()


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_those_in_service_are_those_who_came_first(served, data):
    records, seen, _ = served(data)
    requests, steps = records.requests, records.steps
    assert (np.diff(requests.arrival) >= 0).all()
    assert (np.diff(requests.admitted) >= 0).all()
    for start, running in zip(steps.start, seen.running, strict=True):
        unfinished = np.flatnonzero((requests.arrival <= start) & (start < requests.finish))
        assert running == unfinished[: len(running)].tolist()


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_requests_are_admitted_as_soon_as_a_limit_allows(served, data):
    records, seen, how = served(data)
    requests, steps, lost = records.requests, records.steps, lost_places(seen)
    if how.prefix_caching:  # what is found in the cache then decides as well, see test_prefixes
        return
    spare = how.max_num_batched_tokens - tokens_of(steps)
    for step in np.flatnonzero((steps.num_waiting > 0) & ~lost):
        unfinished = np.flatnonzero(steps.start[step] < requests.finish)
        head = unfinished[steps.num_running[step]]
        left, known = seen.left[step][head], requests.prompt_tokens[head] + seen.emitted[step][head]
        if how.decode_only:
            needed = known + how.shape.max_nodes
            spare[step] = how.max_num_batched_tokens - steps.num_running[step]
        elif how.admission == "context":
            needed = known
        else:
            needed = known - left + min(left, spare[step]) if how.chunked_prefill else known
        if how.admission == "whole_request":
            needed = requests.prompt_tokens[head] + requests.output_tokens[head] + how.shape.max_nodes
        assert (
            steps.num_running[step] == how.max_num_seqs
            or spare[step] <= 0
            or (not how.chunked_prefill and left > spare[step])
            or seen.in_use[step] + held(how, needed) > how.kv_tokens // how.block_size
            or (how.prefill_first and not seen.chunks[step])  # then it was the budget before decodes that was short
        )


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_prompts_and_decodes_share_steps_unless_prompts_come_first(served, data):
    records, seen, how = served(data)
    steps = records.steps
    spare = tokens_of(steps) < how.max_num_batched_tokens
    for step, running in enumerate(seen.running):
        decodes, chunks = seen.decodes[step], [request for request, _ in seen.chunks[step]]
        left = seen.left[step]
        if how.prefill_first:
            assert not (decodes and chunks)
            running = [request for request in running if (left[request] > 0) == bool(chunks)]
        served_now = sorted(decodes + chunks)
        # in order of arrival, and everybody unless the budget is spent
        assert served_now == running[: len(served_now)]
        assert not spare[step] or served_now == running
        assert decodes == sorted(decodes)
        assert chunks == sorted(chunks)
        if not how.chunked_prefill:
            assert all(tokens == left[request] for request, tokens in seen.chunks[step])


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_when_the_budget_is_short_whole_drafts_come_before_cut_ones(served, data):
    records, seen, how = served(data)
    rounds = records.rounds
    if not isinstance(how.policy, StaticPolicy) or how.share_at_least is not None:
        return
    for step in np.flatnonzero(records.steps.num_decodes):
        # whoever comes back from the host decodes at once, without drafts, however much budget there is
        stayed = np.isin(rounds.request, seen.running[step - 1] if step else [])
        verified = (rounds.step == step) & ~rounds.from_prompt & stayed
        cut = rounds.num_draft[verified] < how.shape.num_levels
        assert (np.diff(cut.astype(int)) >= 0).all()
        # a chain that is cut leaves nothing to those behind it
        assert how.shape.width > 1 or cut.sum() <= 1


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_no_run_breaks_what_a_check_looks_for(cases, data):
    case, keep_rounds = data.draw(cases(max_priority=2), "case"), data.draw(st.booleans(), "keep_rounds")
    server = case._replace(config=replace(case.config, keep_rounds=keep_rounds)).server()
    records = server.finish()
    assert (records.rounds is not None) == keep_rounds
    assert violations(records, case.config.kv_tokens) == []
    np.testing.assert_array_equal(records.requests.preemptions, server.requests.preempted)
