"""Acceptance of the run in conftest by hand, and of long runs against the closed form."""

import dataclasses
import math

import numpy as np
import pytest

from specsim.analysis.acceptance import acceptance, untouched
from specsim.analysis.closed_form import expected_tokens
from specsim.records import RequestRecords, RoundRecords

ALPHA, GAMMA = 0.8, 4


def test_by_hand(run):
    summary = acceptance(run.requests, run.rounds)
    # Five verifies of two drafts each: accepted 2 0 1 2 0, emitted 3 1 2 1 1.
    assert summary.verifies == 5
    assert summary.acceptance_length == 8 / 5
    np.testing.assert_allclose(summary.marginal, [3 / 5, 2 / 5])
    np.testing.assert_allclose(summary.conditional, [3 / 5, 2 / 3])
    # Request 1's last round accepted two drafts and its output took one of them: 2 + 0 + 1 + 1 + 0 of 10 were used.
    assert summary.wasted_draft_fraction == pytest.approx(6 / 10)


def test_the_end_of_an_output_is_told_by_what_was_left_before_the_round(run):
    # Left before each round, in the order of the table: 7 3 6 2 3 1 1 1; the longest draft is 2.
    np.testing.assert_array_equal(untouched(run.requests, run.rounds), [1, 1, 1, 0, 1, 0, 0, 0])
    summary = acceptance(run.requests, run.rounds)
    assert summary.untouched_verifies == 2
    assert summary.untouched_acceptance_length == 5 / 2


def test_one_plus_the_marginals_is_the_mean_accepted_plus_one(run):
    ragged = dataclasses.replace(run.rounds, num_draft=np.array([0, 0, 2, 1, 4, 2, 3, 0]))
    summary = acceptance(run.requests, ragged)
    assert summary.marginal.shape == (4,)
    assert 1 + summary.marginal.sum() == pytest.approx(1 + 5 / 5)
    # Position 2 was reached by the three rounds that accepted any; position 3 by none that drafted it.
    np.testing.assert_allclose(summary.conditional, [3 / 5, 2 / 3, np.nan, np.nan])


def test_nothing_drafted(run):
    silent = dataclasses.replace(run.rounds, num_draft=np.zeros_like(run.rounds.num_draft))
    summary = acceptance(run.requests, silent)
    assert (summary.verifies, summary.untouched_verifies, summary.marginal.size) == (0, 0, 0)
    assert math.isnan(summary.acceptance_length)
    assert math.isnan(summary.wasted_draft_fraction)


def test_no_rounds_at_all(run):
    none = RoundRecords(*(getattr(run.rounds, field.name)[:0] for field in dataclasses.fields(RoundRecords)))
    assert acceptance(run.requests, none).verifies == 0


def simulate(rng, outputs):
    """Rounds of requests decoded one after the other with constant acceptance, cut at the end of their outputs."""
    rows = []
    for request, length in enumerate(outputs):
        left = length
        while left > 0:
            accepted = int(np.argmin(np.append(rng.random(GAMMA) < ALPHA, False)))
            emitted = min(accepted + 1, left)
            left -= emitted
            rows.append((len(rows), request, GAMMA, accepted, emitted))
    step, request, drafted, accepted, emitted = np.array(rows).T
    return RoundRecords(step, request, drafted, drafted, accepted, emitted, np.zeros(len(rows), dtype=bool))


def test_untouched_rounds_agree_with_the_closed_form_and_touched_ones_fall_short():
    rng = np.random.default_rng(8)
    outputs = rng.integers(1, 25, size=4000)
    times = np.zeros(outputs.size)
    requests = RequestRecords(times, times, times, times, outputs, outputs, 0 * outputs, 0 * outputs)
    rounds = simulate(rng, outputs)
    summary = acceptance(requests, rounds)
    expected = float(expected_tokens(ALPHA, GAMMA))
    accepted = np.arange(GAMMA + 1)
    law = ALPHA**accepted * np.where(accepted < GAMMA, 1 - ALPHA, 1)
    deviation = math.sqrt(law @ (accepted + 1 - expected) ** 2)
    assert abs(summary.untouched_acceptance_length - expected) <= 4 * deviation / math.sqrt(summary.untouched_verifies)
    # Choosing the rounds that were not cut instead is biased by far more than that.
    uncut = rounds.num_emitted == rounds.num_accepted + 1
    assert abs(rounds.num_emitted[uncut].mean() - expected) > 8 * deviation / math.sqrt(uncut.sum())
    error = 4 * np.sqrt(ALPHA ** np.arange(1, 5) / summary.verifies)
    assert np.all(np.abs(summary.marginal - ALPHA ** np.arange(1, 5)) <= error)
