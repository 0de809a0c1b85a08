"""Where a warm-up ends: by hand, in closed loops, and in the open loop whose theory is known."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.analysis.steady import seconds_within, sent_within, steady_window


def sent(run, arrival, finish):
    """Requests of the run in conftest, three or more of them, sent and finished at these times."""
    return dataclasses.replace(run.requests, arrival=np.array(arrival), finish=np.array(finish))


def test_equal_requests_of_a_closed_loop_are_whole_waves(run):
    # Four waves of three requests, each 2 s long: ramp is the first wave, tail the last.
    start = np.repeat([0.0, 2.0, 4.0, 6.0], 3)
    requests = sent(run, start, start + 2)
    assert steady_window(requests) == (2.0, 6.0)
    assert sent_within(requests, (2.0, 6.0)).tolist() == [False] * 3 + [True] * 6 + [False] * 3


def test_an_open_loop_opens_after_twice_a_service(run):
    # One request a second, each served in 4 s: at 8 s the fifth finishes (0 to 4), and those of 5 to 8 are there.
    arrival = np.arange(20.0)
    assert steady_window(sent(run, arrival, arrival + 4)) == (7.0, 19.0)


def test_a_server_that_falls_behind_for_good_has_no_steady_part(run):
    # Four requests a second, served one by one at one a second: while they come, most are waiting.
    arrival = np.arange(40) / 4
    assert steady_window(sent(run, arrival, np.arange(1.0, 41.0))) is None


def test_a_run_that_is_over_too_soon_has_none(run):
    assert steady_window(sent(run, [0.0, 0.0, 5.0], [6.0, 5.0, 6.0])) is None
    assert steady_window(sent(run, [0.0], [1.0])) is None


@given(st.data(), st.integers(1, 6), st.integers(1, 40))
def test_in_a_closed_loop_it_is_the_nth_completion(data, clients, number):
    """The rule that curves have always had, whatever the services: N completions, and N are in the system."""
    service = data.draw(st.lists(st.integers(1, 9), min_size=number, max_size=number))
    free, arrival, finish = [0] * min(clients, number), [], []
    for seconds in service:
        at = min(free)
        free[free.index(at)] = at + seconds
        arrival.append(float(at))
        finish.append(float(at + seconds))
    requests = dataclasses.replace(empty(), arrival=np.array(arrival), finish=np.array(finish))
    nth = sorted(finish)[clients - 1] if number >= clients else np.inf
    closes = max(arrival)
    assert steady_window(requests) == ((nth, closes) if nth < closes else None)


def empty():
    from specsim.records import RequestRecords

    times, counts = np.zeros(0), np.zeros(0, np.int64)
    return RequestRecords(times, times, times, times, counts, counts, counts, counts)


@pytest.mark.parametrize("spread", [False, True], ids=["equal services", "exponential services"])
def test_between_ramp_and_tail_as_many_are_there_as_with_infinitely_many_servers(spread):
    """λ·E[S] on average where services are equal, and over the whole run, ramp and tail included, clearly fewer.

    Of exponential services some of the ramp is left when the window opens at t: it lacks λS·exp(-(u - t)/S) at a later
    u if the window opened at 0, and so λS² in all at most, which is S over the window of what there is.
    """
    rng, rate, service = np.random.default_rng(5), 5.0, 4.0
    steady, whole, windows = [], [], []
    for _ in range(400):
        arrival = np.cumsum(rng.exponential(1 / rate, 300))
        services = rng.exponential(service, 300) if spread else np.full(300, service)
        requests = dataclasses.replace(empty(), arrival=arrival, finish=arrival + services)
        window = steady_window(requests)
        steady.append(mean_number(requests, window))
        whole.append(mean_number(requests, (0.0, float(requests.finish.max()))))
        windows.append(window[1] - window[0])
    expected, error = rate * service, np.std(steady, ddof=1) / np.sqrt(len(steady))
    left = service / np.mean(windows) if spread else 0.0
    assert expected * (1 - left) - 4 * error <= np.mean(steady) <= expected + 4 * error
    assert np.mean(whole) < np.mean(steady) - 4 * error


def mean_number(requests, window):
    there = np.minimum(requests.finish, window[1]) - np.maximum(requests.arrival, window[0])
    return np.maximum(there, 0).sum() / (window[1] - window[0])


def test_what_of_a_step_lies_within(run):
    assert seconds_within(run.steps, (0.5, 4.0)).tolist() == [0.5, 2.0, 1.0, 0.0]
    assert seconds_within(run.steps, None).tolist() == pytest.approx([1, 2, 2, 1])
