"""What is left of a ramp is found and cut; a series without one is left as it is, or nearly."""

import dataclasses

import numpy as np

from specsim.analysis.settling import drift_matters, mser_cut, settled_windows
from specsim.records import RequestRecords, RunRecords, StepRecords


def test_a_ramp_is_cut_where_it_ends():
    noise = np.random.default_rng(1).normal(0, 0.01, 20)
    ramp = np.array([0.5, 0.7, 0.85, 0.95] + [1.0] * 16)
    assert mser_cut(ramp + noise) in (3, 4, 5)
    assert mser_cut(np.ones(20)) == 0


def test_mser_is_whites_statistic():
    """By its definition: of all cuts up to half, the one with the least Σ(y − ȳ)² / (n − d)²."""
    series = np.random.default_rng(2).normal(size=14).cumsum()
    scores = [series[d:].var() / (14 - d) for d in range(8)]
    assert mser_cut(series) == int(np.argmin(scores))


def steps_of(rate, number=400):
    """Steps of a second in which ``rate(step)`` tokens are emitted; of four in flight one finishes every other step."""
    ones, start = np.ones(number, np.int64), np.arange(number, dtype=np.float64)
    emitted = np.array([rate(i) for i in range(number)])
    steps = StepRecords(start, start + 1, np.zeros((number, 7)), ones, ones, ones, ones, ones, ones, ones, emitted)
    finish = 2.0 * np.arange(1, number // 2 + 1)
    arrival = np.append(np.zeros(4), finish[:-4])
    counts = np.zeros(len(finish), np.int64)
    requests = RequestRecords(arrival, arrival, finish, finish, counts, counts, counts, counts, received=counts)
    return RunRecords(requests, steps, None)


def runs_of(ramp, seed=3):
    """Six runs whose throughput is lower by a share at first, and noisy."""
    rng = np.random.default_rng(seed)
    return [steps_of(lambda i: (1 - ramp * np.exp(-i / 8)) * (1000 + rng.normal(0, 5))) for _ in range(6)]


def test_all_replications_are_cut_alike_and_after_the_ramp():
    windows = settled_windows(runs_of(0.8), begun_settled=True)
    assert len(set(windows)) == 1
    opens, closes = windows[0]
    assert 20 <= opens <= 100
    assert closes == max(run.requests.arrival.max() for run in runs_of(0.8))


def test_a_ramp_within_the_window_is_noticed_and_none_without():
    """It biases the mean by 0.5 · 8 / 390 = 1 %; the interval's half-width is 2.6 · 0.005 / √(390 · 6) ≈ 0.03 %."""
    whole = [(2.0, 392.0)] * 6
    assert drift_matters(runs_of(0.5), whole)
    assert not drift_matters(runs_of(0.0), whole)


def test_noise_passes_for_a_ramp_in_few_cases():
    """The interval of the ramp excludes 0 in 5 % of cases; of 60 in 3 ± 1.7, so within 4 standard errors in 9."""
    whole = [(2.0, 392.0)] * 6

    def runs(seed):
        rng = np.random.default_rng(seed)
        return [steps_of(lambda i: 1000 + rng.normal(0, 200)) for _ in range(6)]

    assert sum(drift_matters(runs(seed), whole) for seed in range(60)) <= 9


def test_a_run_too_short_has_no_window():
    run = steps_of(lambda i: 1, number=4)
    requests = dataclasses.replace(run.requests, arrival=np.zeros(2))
    assert settled_windows([dataclasses.replace(run, requests=requests)], begun_settled=True) == [None]
    assert drift_matters([run], [None])


def test_a_run_that_begins_empty_is_read_from_when_all_that_began_it_are_done():
    (run, *_) = runs_of(0.0)
    (window,) = settled_windows([run], begun_settled=False)
    assert window[0] >= 8.0
    assert 2.0 < settled_windows([run], begun_settled=True)[0][0] <= window[0]
