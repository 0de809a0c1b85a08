"""Acceptance that comes out of the verifiers equals, position by position, the acceptance that was put in."""

import numpy as np
import pytest

from specsim.drafting.acceptance import PositionAcceptance
from specsim.streams import stream
from specsim.verification import verify_chain, verify_greedy

ROWS = 100_000
PROFILES = {
    "constant": [0.8, 0.8, 0.8, 0.8],
    "eagle-3": [0.683, 0.690, 0.703, 0.716, 0.675],
    "rising": [0.2, 0.9, 0.5],
    "one sure": [1.0, 0.4],
    "one hopeless": [0.6, 0.0, 0.9],
}


def sampled(conditional, *, greedy, num_draft=None, vocabulary=32, seed=11, argmax=False):
    """Accepted drafts per row of a large batch."""
    longest = len(conditional)
    rng = stream(seed, "sampled acceptance")
    source = PositionAcceptance(conditional, vocabulary, stream(seed, "distributions"), sampled=not argmax)
    draft = source.propose(rng.random((ROWS, longest)))
    num_draft = np.full(ROWS, longest) if num_draft is None else num_draft
    if greedy:
        # the target's own choices: a draft with its conditional acceptance, another token otherwise and at the end
        agree = rng.random((ROWS, longest)) < np.array(conditional)
        choices = np.zeros((ROWS, longest + 1), dtype=np.int64)
        choices[:, :-1] = np.where(agree, draft, (draft + 1) % vocabulary)
        _, num_out = verify_greedy(draft, choices, num_draft)
    else:
        _, num_out = verify_chain(draft, *source.score(draft), num_draft, rng=rng, validate=False)
    return num_out - 1


def assert_bernoulli(successes, trials, probability):
    """A count within 4 standard errors; equal where the probability leaves no chance."""
    standard_error = np.sqrt(trials * probability * (1 - probability))
    assert abs(successes - trials * probability) <= 4 * standard_error


@pytest.mark.parametrize(("greedy", "argmax"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("profile", PROFILES)
def test_each_position_is_accepted_as_often_as_stated(profile, greedy, argmax):
    conditional = PROFILES[profile]
    accepted = sampled(conditional, greedy=greedy, argmax=argmax)
    for position, alpha in enumerate(conditional):
        assert_bernoulli((accepted > position).sum(), (accepted >= position).sum(), alpha)


@pytest.mark.parametrize("profile", PROFILES)
def test_temperature_zero_has_the_marginals_of_the_token_rule(profile):
    conditional = PROFILES[profile]
    token, greedy = (sampled(conditional, greedy=mode, seed=seed) for mode, seed in ((False, 1), (True, 2)))
    positions = np.arange(len(conditional))[:, None]
    marginal = np.cumprod(conditional)
    difference = (token > positions).mean(axis=1) - (greedy > positions).mean(axis=1)
    standard_error = np.sqrt(2 * marginal * (1 - marginal) / ROWS)
    assert (np.abs(difference) <= 4 * standard_error).all()


@pytest.mark.parametrize("vocabulary", [2, 5, 200])
def test_acceptance_does_not_depend_on_the_size_of_the_vocabulary(vocabulary):
    accepted = sampled([0.7, 0.7], greedy=False, vocabulary=vocabulary)
    assert_bernoulli((accepted >= 1).sum(), ROWS, 0.7)
    assert_bernoulli((accepted >= 2).sum(), ROWS, 0.49)


@pytest.mark.parametrize("greedy", [False, True], ids=["token", "greedy"])
def test_ragged_drafts_are_accepted_as_often_and_never_beyond_their_end(greedy):
    num_draft = stream(5, "ragged").integers(0, 4, ROWS)
    accepted = sampled([0.6, 0.6, 0.6], greedy=greedy, num_draft=num_draft)
    assert (accepted <= num_draft).all()
    for position in range(3):
        reached = (accepted >= position) & (num_draft > position)
        assert_bernoulli((accepted[reached] > position).sum(), reached.sum(), 0.6)
