"""Runs that seem to begin with a ramp are made longer, up to a limit, and the answer says so."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.studies.shared import points
from specsim.studies.shared.notes import run_length_notes
from specsim.studies.shared.points import LONGEST, Point, run_point

TINY = (
    "workload.lengths={kind: fixed, prompt_tokens: 20, output_tokens: 12}",
    "curve={batches: [2, 4], num_draft_tokens: [1], replications: 2, requests_per_slot: 3, min_requests: 3}",
)


@pytest.fixture(scope="module")
def inputs():
    return load_scenario("theory-h100-ideal", TINY)


def after(number, monkeypatch):
    """Drift is seen until runs have so many requests."""
    monkeypatch.setattr(points, "drift_matters", lambda runs, windows: len(runs[0].requests.finish) < number)


def test_requests_are_doubled_until_no_drift_is_seen(inputs, monkeypatch):
    after(40, monkeypatch)
    found = run_point(inputs, Point(4, 1))
    assert (found.num_requests, found.drifts) == (48, False)
    after(0, monkeypatch)
    assert run_point(inputs, Point(4, 1)).num_requests == 12


def test_and_no_further_than_the_limit(inputs, monkeypatch):
    after(1_000_000, monkeypatch)
    found = run_point(inputs, Point(2, 0))
    assert (found.num_requests, found.drifts) == (6 * LONGEST, True)


def test_runs_that_could_not_be_served_are_not_made(inputs, monkeypatch):
    """Lengths without a bound: among more requests is one that fits nowhere."""
    from specsim.errors import InfeasibleError, Problem
    from specsim.simulation.replica import Simulation

    def checked(self, num_requests, *rest):
        if num_requests > limit:
            raise InfeasibleError([Problem("", "", "", "")])
        return self.lengths(num_requests, 0)

    limit = points.num_drawn(24)
    monkeypatch.setattr(Simulation, "lengths_checked", checked)
    after(1_000_000, monkeypatch)
    found = run_point(inputs, Point(4, 1))
    assert (found.num_requests, found.drifts) == (24, True)


def test_the_answer_says_so(inputs):
    found = points.PointRuns(*[np.ones(2)] * 14, num_requests=6)
    four = replace(found, num_requests=48, drifts=True)
    assert list(run_length_notes(inputs, [(Point(2, 0), found), (Point(2, 1), found)])) == []
    assert list(run_length_notes(inputs, [(Point(2, 0), found), (Point(4, 1), four)])) == [
        "Runs of 1 of 2 points were made up to 4 times as long, since they seemed to begin with a ramp.",
        "Throughput still drifts at batch 4: intervals there may miss the long run. Raise curve.requests_per_slot.",
    ]
