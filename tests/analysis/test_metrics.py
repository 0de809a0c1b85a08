"""Metrics of the run in conftest, computed by hand."""

import dataclasses
import math

import numpy as np
import pytest

from specsim.analysis.acceptance import acceptance_length
from specsim.analysis.latencies import (
    LatencyLimits,
    chunk_gaps,
    decode_rate,
    e2e,
    itl,
    itl_per_token,
    summarise_latency,
    tpot,
    ttft,
)
from specsim.analysis.metrics import mean_running_batch, output_tokens_per_s
from specsim.analysis.run_view import RunView, Server


def test_latencies_per_request(run):
    np.testing.assert_array_equal(ttft(run.requests), [1, 1, 1])
    np.testing.assert_array_equal(e2e(run.requests), [6, 5, 1])
    np.testing.assert_array_equal(tpot(run.requests), [5 / 6, 2.0, np.nan])


def test_inter_token_latencies_are_gaps_between_chunks(run):
    # Request 0 at 1, 3, 5, 6; request 1 at 1, 3, 5; request 2 once.
    np.testing.assert_array_equal(itl(run.steps, run.rounds), [2, 2, 1, 2, 2])
    gaps, tokens, _ = chunk_gaps(run.steps, run.rounds)
    np.testing.assert_array_equal(tokens, [3, 2, 1, 1, 1])
    np.testing.assert_array_equal(itl_per_token(gaps, tokens), [2 / 3, 2 / 3, 2 / 3, 1, 1, 1, 2, 2])


def test_a_users_rate_is_that_of_the_tokens_after_the_first(run):
    np.testing.assert_array_equal(decode_rate(run.requests), [6 / 5, 1 / 2, np.nan])


def test_an_output_that_comes_whole_in_one_step_has_no_rate(run):
    """Its tokens are there at once: dividing by no time would make the mean of all infinite."""
    at_once = dataclasses.replace(run.requests, finish=run.requests.first_token)
    np.testing.assert_array_equal(decode_rate(at_once), [np.nan] * 3)
    assert math.isnan(RunView(dataclasses.replace(run, requests=at_once)).user_rate)


def test_the_acceptance_length_of_a_request_is_over_its_own_verifies():
    accepted = np.array([[1, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]], np.int32)
    np.testing.assert_array_equal(acceptance_length(accepted), [(1 + 2 + 8) / 4, np.nan, 1])


def test_a_summary_leaves_nan_out_and_interpolates():
    summary = summarise_latency(np.array([4.0, np.nan, 1.0, 2.0, 3.0, 5.0]))
    assert dataclasses.astuple(summary) == pytest.approx((3.0, 3.0, 4.6, 4.96, 5))
    empty = summarise_latency(np.array([np.nan]))
    assert empty.count == 0
    assert math.isnan(empty.p99)


def test_throughput_over_the_whole_run(run):
    metrics = RunView(run)
    assert metrics.duration == 6
    assert metrics.client_tokens_per_s == 11 / 6
    assert metrics.requests_per_s == 3 / 6
    assert metrics.window is None


def test_a_window_counts_what_was_ready_within_it(run):
    # Of the steps ending at 1, 3, 5, 6, those in (1, 5] emitted 4 and 3.
    assert output_tokens_per_s(run, (1, 5)) == 7 / 4
    metrics = RunView(run, (1, 5))
    assert metrics.tokens_per_s == 7 / 4
    assert metrics.running_batch == 2


def test_adjoining_windows_add_up(run):
    whole = output_tokens_per_s(run, (0, 6)) * 6
    assert whole == output_tokens_per_s(run, (0, 3)) * 3 + output_tokens_per_s(run, (3, 6)) * 3 == 11


def test_load_is_weighted_by_time(run):
    assert mean_running_batch(run.steps) == pytest.approx(11 / 6)
    # Half of the third step and the whole of the last.
    assert mean_running_batch(run.steps, (4, 6)) == pytest.approx(3 / 2)
    assert math.isnan(mean_running_batch(run.steps, (6, 9)))


def test_idle_time_is_not_part_of_the_load_but_of_the_duration(run):
    late = dataclasses.replace(run.steps, start=run.steps.start + 6, end=run.steps.end + 6)
    requests = dataclasses.replace(run.requests, finish=run.requests.finish + 6)
    metrics = RunView(dataclasses.replace(run, steps=late, requests=requests))
    assert metrics.running_batch == pytest.approx(11 / 6)


def served(run, **limits):
    return RunView(run, server=Server(LatencyLimits(**limits), np.array([1]), np.array([1.0]), 1))


def test_requests_within_limits_and_goodput(run):
    # Request 2 has no TPOT and meets any.
    assert served(run).within_limits == 1
    assert served(run, tpot=1.0).within_limits == 2 / 3
    assert served(run, tpot=1.0, e2e=5.0).within_limits == 1 / 3
    assert served(run, ttft=1.0).within_limits == 1
    assert served(run, ttft=0.999).within_limits == 0
    assert served(run, tpot=1.0).goodput == 2 / 6
