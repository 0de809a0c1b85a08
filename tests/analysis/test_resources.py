"""Shares of a device, of the run in conftest, by hand."""

import dataclasses
import math

import numpy as np

from specsim.analysis.resources import bandwidth_share, busy_share, flops_share, kv_share

USED = np.array([[60.0, 5, 0.5], [80, 5, 0.25], [40, 5, 0.25], [100, 5, 1.0]])
"""Bytes, operations and seconds at full peaks of the four steps, which take 1, 2, 2 and 1 s."""


def test_bandwidth_and_flops_are_over_the_time_in_steps(run):
    steps = dataclasses.replace(run.steps, used=USED)
    assert bandwidth_share(steps, 100.0) == 280 / 600
    assert flops_share(steps) == 2.0 / 6
    # of the steps that end after 1 and up to 5 s
    assert bandwidth_share(steps, 100.0, (1, 5)) == 120 / 400
    assert flops_share(steps, (1, 5)) == 0.5 / 4
    assert math.isnan(flops_share(steps, (6, 7)))


def test_what_is_not_known_has_no_share(run):
    assert math.isnan(bandwidth_share(run.steps, 100.0))
    assert math.isnan(flops_share(run.steps))


def test_the_pool_in_use_is_weighted_by_time_and_its_peak_is_of_the_whole_run(run):
    assert kv_share(run.steps, 40) == ((0 + 64 + 72 + 20) / 6 / 40, 36 / 40)
    assert kv_share(run.steps, 40, (5, 6)) == (20 / 40, 36 / 40)


def test_a_server_rests_where_no_step_runs(run):
    late = dataclasses.replace(run.steps, start=run.steps.start + 6, end=run.steps.end + 6)
    assert busy_share(late, (0, 12)) == 0.5
