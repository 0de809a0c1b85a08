"""What holds of every run, whatever its requests, limits, drafts and clients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.engine.run import serve_closed_loop, serve_open_loop
from specsim.policies.static import Static

RULES = [
    "token",
    "block",
    "greedy",
    "token argmax",
    "tree with_replacement",
    "tree without_replacement",
    "tree one_hot greedy",
]
MOST_NODES = 13
SETTINGS = settings(max_examples=150, deadline=None)


@st.composite
def cases(draw):
    """Pairs of lengths and keyword arguments of ``serving``; limits are tight but every request can be served."""
    pairs = draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=12))
    conditional = draw(st.lists(st.floats(0, 1), max_size=4))
    longest = max(prompt + output for prompt, output in pairs) + MOST_NODES
    return pairs, {
        "conditional": conditional,
        "max_num_seqs": draw(st.integers(1, 8)),
        "max_num_batched_tokens": draw(st.integers(1, 64)),
        "kv_tokens": longest + draw(st.integers(0, 100)),
        "decode_only": draw(st.booleans()),
        "rule": draw(st.sampled_from(RULES)),
        "seed": draw(st.integers(0, 1000)),
    }


@pytest.fixture(scope="session")
def served(serving, lengths, ragged_policy):
    """Runs a case with the clients that ``data`` decides; returns records and how they were served."""

    def run(case, data):
        pairs, arguments = case
        policy = ragged_policy(len(arguments["conditional"])) if data.draw(st.booleans(), "ragged") else None
        how = serving(lengths(*pairs), **arguments, policy=policy)
        if data.draw(st.booleans(), "open loop"):
            gaps = data.draw(st.lists(st.floats(0, 20), min_size=len(pairs), max_size=len(pairs)), "gaps")
            return serve_open_loop(how, lengths(*pairs), np.cumsum(gaps)), how
        return serve_closed_loop(how, lengths(*pairs), data.draw(st.integers(1, 10), "concurrency")), how

    return run


def running(records):
    """[steps, requests] True where a request was admitted and not finished when the step began."""
    start, requests = records.steps.start[:, None], records.requests
    return (requests.admitted <= start) & (start < requests.finish)


@SETTINGS
@given(cases(), st.data())
def test_every_request_receives_exactly_what_it_asked_for(served, case, data):
    records, how = served(case, data)
    rounds, requests = records.rounds, records.requests
    received = np.bincount(rounds.request, rounds.num_emitted, len(requests.finish))
    np.testing.assert_array_equal(received, requests.output_tokens)
    assert (rounds.num_emitted >= 1).all()
    assert (rounds.num_accepted <= rounds.num_draft).all()
    # a round is cut short by the end of the output only, so only as a request's last
    cut = rounds.num_emitted < rounds.num_accepted + 1
    last = records.steps.end[rounds.step] == requests.finish[rounds.request]
    assert (last | ~cut).all()
    assert (rounds.num_emitted <= rounds.num_accepted + 1).all()
    # the first token comes from the prompt's last chunk, unless prompts are already in the cache
    first_rounds = np.bincount(rounds.request[rounds.from_prompt], minlength=len(requests.finish))
    assert (first_rounds == (0 if how.decode_only else 1)).all()
    prompts = 0 if how.decode_only else requests.prompt_tokens.sum()
    assert records.steps.num_prompt_tokens.sum() == prompts


@SETTINGS
@given(cases(), st.data())
def test_time_never_runs_backwards(served, case, data):
    records, _ = served(case, data)
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


@SETTINGS
@given(cases(), st.data())
def test_no_step_exceeds_a_limit(served, case, data):
    records, how = served(case, data)
    steps = records.steps
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens
    assert (tokens >= 1).all()
    assert (tokens <= how.max_num_batched_tokens).all()
    assert (steps.num_running <= how.max_num_seqs).all()
    assert (steps.kv_tokens <= how.kv_tokens).all()


@SETTINGS
@given(cases(), st.data())
def test_what_a_step_records_is_what_requests_saw(served, case, data):
    records, how = served(case, data)
    requests, steps, rounds = records.requests, records.steps, records.rounds
    present = running(records)
    reserved = requests.prompt_tokens + requests.output_tokens + how.shape.max_nodes
    np.testing.assert_array_equal(steps.num_running, present.sum(axis=1))
    np.testing.assert_array_equal(steps.kv_tokens, present @ reserved)
    verified, start = ~rounds.from_prompt, steps.start[:, None]
    np.testing.assert_array_equal(steps.num_decodes, np.bincount(rounds.step[verified], minlength=len(start)))
    drafted = np.bincount(rounds.step, rounds.num_nodes, minlength=len(start))
    np.testing.assert_array_equal(steps.num_draft_tokens, drafted)
    # a request that arrives at the very instant a step begins may be just in time or just too late
    not_admitted = requests.admitted > start
    assert (steps.num_waiting >= (not_admitted & (requests.arrival < start)).sum(axis=1)).all()
    assert (steps.num_waiting <= (not_admitted & (requests.arrival <= start)).sum(axis=1)).all()


@SETTINGS
@given(cases(), st.data())
def test_requests_are_admitted_in_order_of_arrival_and_as_soon_as_a_limit_allows(served, case, data):
    records, how = served(case, data)
    requests, steps = records.requests, records.steps
    assert (np.diff(requests.arrival) >= 0).all()
    assert (np.diff(requests.admitted) >= 0).all()
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens
    reserved = requests.prompt_tokens + requests.output_tokens + how.shape.max_nodes
    for step in np.flatnonzero(steps.num_waiting):
        head = int((requests.admitted <= steps.start[step]).sum())
        assert (
            steps.num_running[step] == how.max_num_seqs
            or tokens[step] == how.max_num_batched_tokens
            or steps.kv_tokens[step] + reserved[head] > how.kv_tokens
        )


@SETTINGS
@given(cases(), st.data())
def test_every_request_past_its_prompt_moves_unless_the_budget_is_spent(served, case, data):
    records, how = served(case, data)
    requests, steps = records.requests, records.steps
    present, start = running(records), steps.start[:, None]
    decoding = present if how.decode_only else present & (requests.first_token <= start)
    tokens = steps.num_decodes + steps.num_draft_tokens + steps.num_prompt_tokens
    spare = tokens < how.max_num_batched_tokens
    np.testing.assert_array_equal(steps.num_decodes[spare], decoding.sum(axis=1)[spare])


@SETTINGS
@given(cases(), st.data())
def test_when_the_budget_is_short_those_who_came_first_go_first(served, case, data):
    records, how = served(case, data)
    requests, steps, rounds = records.requests, records.steps, records.rounds
    present = running(records)
    decoding = present if how.decode_only else present & (requests.first_token <= steps.start[:, None])
    for step in np.flatnonzero(steps.num_decodes):
        verified = np.flatnonzero((rounds.step == step) & ~rounds.from_prompt)
        first = np.flatnonzero(decoding[step])[: steps.num_decodes[step]]
        np.testing.assert_array_equal(rounds.request[verified], first)
        if isinstance(how.policy, Static):
            # whole drafts come before cut ones; a chain that is cut leaves nothing to those behind it
            cut = rounds.num_draft[verified] < how.shape.num_levels
            assert (np.diff(cut.astype(int)) >= 0).all()
            assert how.shape.width > 1 or cut.sum() <= 1
