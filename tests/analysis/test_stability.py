"""Whether a server keeps up: queues of which theory knows it, and runs too short to tell."""

import math

import numpy as np
import pytest

from specsim.analysis.stability import TOLERATED, Balance, balance, verdict
from specsim.records import RequestRecords


def records(arrival, admitted, finish):
    number = len(arrival)
    ones = np.ones(number, np.int64)
    return RequestRecords(arrival, admitted, finish, finish, ones, ones, np.zeros(number, np.int64), 0 * ones)


def one_server(load, number, rng):
    """M/D/1, a service of 1 s each, by Lindley's recursion; it keeps up below a load of 1."""
    gaps = rng.exponential(1 / load, number)
    ahead = np.cumsum(np.where(np.arange(number) > 0, 1 - gaps, 0))
    arrival = np.cumsum(gaps)
    admitted = arrival + ahead - np.minimum.accumulate(ahead)
    return records(arrival, admitted, admitted + 1)


def all_served(rate, number, rng):
    """M/G/infinity, services of 1 s in the mean that differ: it keeps up with any rate."""
    arrival = np.cumsum(rng.exponential(1 / rate, number))
    return records(arrival, arrival, arrival + rng.uniform(0.5, 1.5, number))


def verdicts(queue, of, number, trials, replications=4):
    rng = np.random.default_rng(1)
    return [verdict([balance(queue(of, number, rng)) for _ in range(replications)]) for _ in range(trials)]


def share(found, said):
    return found.count(said) / len(found)


@pytest.mark.parametrize(("load", "number"), [(0.5, 256), (0.9, 256), (0.95, 3000)])
def test_a_queue_that_keeps_up_is_seldom_said_to_fall_behind(load, number):
    """In fewer than 2 of 100 (4 standard errors above)."""
    trials = 300
    assert share(verdicts(one_server, load, number, trials), "falls behind") < 0.02 + 4 * math.sqrt(0.02 / trials)


@pytest.mark.parametrize(("load", "number", "least"), [(1.3, 256, 0.9), (1.1, 3000, 0.9), (3.0, 60, 0.9)])
def test_a_queue_that_falls_behind_is_mostly_seen_and_never_said_to_keep_up(load, number, least):
    """Each of these grows by more than what is tolerated: 1 - 1/load of the requests sent."""
    assert 1 - 1 / load > TOLERATED
    trials = 100
    found = verdicts(one_server, load, number, trials)
    assert share(found, "falls behind") > least - 4 * math.sqrt(least * (1 - least) / trials)
    assert share(found, "keeps up") < 0.025 + 4 * math.sqrt(0.025 / trials)  # one side of a 95 % interval


def test_many_requests_show_that_a_server_keeps_up():
    trials = 60
    for queue, of, number in ((one_server, 0.5, 1000), (all_served, 30.0, 2000)):
        found = verdicts(queue, of, number, trials)
        assert share(found, "keeps up") > 0.9 - 4 * math.sqrt(0.09 / trials)


@pytest.mark.parametrize("rate", [1000.0, 1e6])
def test_a_burst_that_is_over_before_a_request_ends_says_nothing(rate):
    assert set(verdicts(all_served, rate, 200, 20)) == {"unknown"}


def test_few_requests_say_nothing_even_in_balance():
    assert share(verdicts(all_served, 30.0, 60, 50), "keeps up") < 0.025 + 4 * math.sqrt(0.025 / 50)


def test_one_run_alone_shows_no_balance():
    run = balance(one_server(0.5, 1000, np.random.default_rng(1)))
    assert verdict([run]) == "unknown"
    assert verdict([run, run]) == "keeps up"  # a replay without chance: all runs are equal


def test_nobody_waits_so_nobody_falls_behind():
    """More in flight may be served at a higher rate, so that growth alone proves no overload."""
    grows = Balance(sending_share=0.5, growth=3.0, wait=0.0, drift=0.5, empty=0.0)
    assert verdict([grows] * 4) == "unknown"
    assert verdict([grows._replace(wait=2.0)] * 4) == "falls behind"


def test_the_number_in_the_system_grows_as_theory_says():
    """Services of 1 s every 0.8 s: of each request sent, 0.2 stay. The window is thirds of hundreds of requests."""
    arrival = 0.8 * np.arange(4000)
    run = records(arrival, np.arange(4000.0), np.arange(4000.0) + 1)
    assert balance(run).drift == pytest.approx(0.2, abs=1e-3)  # a third holds some 1,000 requests
    served = records(arrival, arrival, arrival + 1)
    assert balance(served).drift == pytest.approx(0, abs=1e-3)


def test_a_server_that_idles_keeps_up_and_few_requests_show_it():
    """M/D/1 at a load of 0.2 is empty for 0.8 of the time."""
    rng = np.random.default_rng(2)
    runs = [balance(one_server(0.2, 4000, rng)) for _ in range(8)]
    empty = np.array([run.empty for run in runs])
    assert abs(empty.mean() - 0.8) < 4 * empty.std(ddof=1) / math.sqrt(len(runs))
    assert share(verdicts(one_server, 0.2, 40, 50), "keeps up") > 0.9 - 4 * math.sqrt(0.09 / 50)
