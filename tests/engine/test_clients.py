"""A closed loop keeps its number in flight until all are sent; an open loop sends when it is told to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.engine.run import serve_closed_loop, serve_open_loop
from specsim.streams import stream
from specsim.workload.arrivals import poisson_arrivals

pairs_of_lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=20)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(pairs_of_lengths, st.integers(1, 10))
def test_a_closed_loop_keeps_its_number_in_flight_until_all_are_sent(config, lengths, pairs, concurrency):
    records = serve_closed_loop(config(max_num_seqs=4), lengths(*pairs), concurrency)
    requests, start = records.requests, records.steps.start[:, None]
    in_flight = ((requests.arrival <= start) & (start < requests.finish)).sum(axis=1)
    unfinished = (start < requests.finish).sum(axis=1)
    np.testing.assert_array_equal(in_flight, np.minimum(concurrency, unfinished))


@settings(max_examples=100, deadline=None)
@given(pairs_of_lengths, st.integers(1, 10))
def test_a_user_sends_its_next_request_the_moment_its_last_is_answered(config, lengths, pairs, concurrency):
    records = serve_closed_loop(config(), lengths(*pairs), concurrency)
    arrival, finish = records.requests.arrival, records.requests.finish
    assert (arrival[:concurrency] == 0).all()
    later = arrival[concurrency:]
    np.testing.assert_array_equal(later, np.sort(finish)[: len(later)])


@settings(max_examples=100, deadline=None)
@given(pairs_of_lengths, st.integers(1, 10))
def test_the_answer_to_a_completion_joins_the_very_next_step(config, lengths, pairs, concurrency):
    how = config(max_num_seqs=10, max_num_batched_tokens=10_000)
    requests = serve_closed_loop(how, lengths(*pairs), concurrency).requests
    np.testing.assert_array_equal(requests.admitted, requests.arrival)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(pairs_of_lengths, st.integers(1, 10), st.data())
def test_a_user_thinks_before_it_sends_again(config, lengths, pairs, concurrency, data):
    """As many sends as answers so far, each so long after one of them; requests are numbered as they arrive."""
    think = np.array(data.draw(st.lists(st.floats(0, 9), min_size=len(pairs), max_size=len(pairs)), "think"))
    requests = serve_closed_loop(config(), lengths(*pairs), concurrency, think).requests
    assert (np.diff(requests.arrival) >= 0).all()
    later = requests.arrival[concurrency:]
    answered = np.sort(requests.finish)[: len(later)]
    np.testing.assert_array_equal(np.sort(answered + think[concurrency:]), later)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 5) | st.just(0.0), min_size=1, max_size=20))
def test_an_open_loop_sends_when_it_is_told_to_however_busy_the_server(config, lengths, gaps):
    arrivals, pairs = np.cumsum(gaps), [(8, 2)] * len(gaps)
    records = serve_open_loop(config(max_num_seqs=1), lengths(*pairs), arrivals)
    np.testing.assert_array_equal(records.requests.arrival, arrivals)
    assert np.isfinite(records.requests.finish).all()


def test_requests_may_arrive_at_the_same_instant(config, lengths):
    """As in a trace whose clock ticks coarsely; a clock that is advanced by differences would round past it here."""
    ulp = np.spacing(1.0)
    arrivals = np.array([1.5 * ulp, 1 + 3 * ulp, 1 + 3 * ulp, 1 + 3 * ulp])
    assert arrivals[0] + (arrivals[1] - arrivals[0]) > arrivals[1], "the rounding that this test is about"
    pairs = [(4, 1)] * len(arrivals)
    records = serve_open_loop(config(), lengths(*pairs), arrivals)
    np.testing.assert_array_equal(records.requests.arrival, arrivals)
    assert (records.requests.admitted >= arrivals).all()


def test_an_idle_server_starts_at_once_and_waits_for_nobody(config, lengths):
    arrivals = np.array([3.0, 100.0, 1000.0])
    pairs = [(8, 3)] * 3
    records = serve_open_loop(config(), lengths(*pairs), arrivals)
    np.testing.assert_array_equal(records.requests.admitted, arrivals)
    assert not records.steps.num_waiting.any()


def test_poisson_arrivals_are_those_of_the_workload(config, lengths):
    arrivals = poisson_arrivals(200, 0.05, stream(1, "arrivals", 0))
    pairs = [(8, 4)] * 200
    records = serve_open_loop(config(), lengths(*pairs), arrivals)
    np.testing.assert_array_equal(records.requests.arrival, arrivals)
