"""Simulation against theory: decode only, constant α, the textbook device, rounds untouched by the end of the output.

Tokens per verify against (1 − α^(γ+1))/(1 − α), and speedup against E·t(B) / (γ·t_draft + t(B·(γ+1))), where t is the
time of a pass of the target over so many tokens. The drafter is a model of its own, and at these batches all of its
passes stream weights, so they all take t_draft. With a fixed number of rounds of each request, chosen beforehand,
rounds are independent and the mean has the standard error that the law of accepted counts gives.
"""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from specsim.analysis import closed_form as law
from specsim.analysis.acceptance import untouched
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import read_model
from specsim.simulation.expected import decode_step
from specsim.simulation.replica import Simulation

RIDGE = law.ridge_tokens(peak=989e12, bandwidth=3.35e12)
ALPHAS = [0.0, 0.5, 0.8, 1.0]
GAMMAS = [0, 1, 2, 4, 8]
# batch → (requests, rounds of each); at 128 a verify of 2 drafts or more is past the ridge, and a draft pass is not
CASES = {1: (20, 60), 128: (128, 16)}


def matrices(name):
    """Numbers that one token's pass streams: the layers' matrices and the LM head."""
    model = read_model(name)
    return model.matrix_parameters + model.vocab_size * model.hidden_size


DRAFT_COST = matrices("llama-3.2-1b") / matrices("llama-3.1-8b")


class Rounds(NamedTuple):
    """The first rounds of every request, and the time that their steps took."""

    tokens: np.ndarray
    seconds: float


def first_rounds(scenario, batch, gamma):
    """Decodes with ``batch`` requests in lockstep; takes the rounds that the output cannot end in, whatever happens."""
    num_requests, num_rounds = CASES[batch]
    records = Simulation(scenario).run(
        ClosedLoop(kind="closed_loop", concurrency=batch),
        num_draft_tokens=gamma,
        num_requests=num_requests,
        replication=0,
    )
    rounds, steps = records.rounds, records.steps
    free = untouched(records.requests, rounds)
    earlier = Counter[int]()
    chosen = np.zeros(len(free), dtype=np.bool_)
    for row, request in enumerate(rounds.request.tolist()):
        chosen[row] = earlier[request] < num_rounds
        earlier[request] += 1
    assert chosen.sum() == num_requests * num_rounds
    assert free[chosen].all()
    taken = np.unique(rounds.step[chosen])
    assert (steps.num_decodes[taken] == batch).all()
    return Rounds(rounds.num_emitted[chosen], (steps.end - steps.start)[taken].sum())


def standard_error(alpha, gamma, num_rounds):
    """Of the mean of accepted counts N, where P(N ≥ i) = α^i for i ≤ γ."""
    survival = alpha ** np.arange(1, gamma + 1)
    variance = ((2 * np.arange(1, gamma + 1) - 1) * survival).sum() - survival.sum() ** 2
    # where nothing is left to chance the variance is zero but for rounding
    return math.sqrt(variance / num_rounds) if 0 < alpha < 1 else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("batch", CASES)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_tokens_per_verify_and_speedup_are_those_of_the_closed_form(ideal, batch, alpha, gamma):
    scenario = ideal(alpha, CASES[batch][1] * (gamma + 1) + gamma)
    speculative, plain = first_rounds(scenario, batch, gamma), first_rounds(ideal(alpha, CASES[batch][1]), batch, 0)
    expected = float(law.expected_tokens(alpha, gamma))
    error = standard_error(alpha, gamma, len(speculative.tokens))
    assert abs(speculative.tokens.mean() - expected) <= 4 * error

    speedup = (speculative.tokens.sum() / speculative.seconds) / (plain.tokens.sum() / plain.seconds)
    predicted = float(law.speedup_at_batch(batch, RIDGE, alpha, gamma, DRAFT_COST))
    # times are not random here, so the speedup has the relative error of the tokens; the clock, of some 10 s at most,
    # rounds by 2^-50 s where a step takes 4 ms or more
    assert abs(speedup / predicted - 1) <= 4 * error / expected + 1e-12


@pytest.mark.parametrize("batch", CASES)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_planners_closed_form_is_the_textbooks(ideal, batch, gamma):
    simulation = Simulation(ideal(0.8, 64))
    step, plain = (decode_step(simulation, batch, k, context=100) for k in (gamma, 0))
    predicted = law.speedup_at_batch(batch, RIDGE, 0.8, gamma, DRAFT_COST)
    assert step.tokens_per_s / plain.tokens_per_s == pytest.approx(float(predicted), rel=1e-12)


def test_the_two_batches_lie_on_either_side_of_the_ridge():
    assert RIDGE > 1 * (8 + 1)
    # 2 drafts and more are past it; a drafter catching up with two tokens of each request is not
    assert 128 * 2 < RIDGE < 128 * (2 + 1)
    assert law.speedup_at_batch(128, RIDGE, 0.8, 2, DRAFT_COST) < law.speedup_at_batch(1, RIDGE, 0.8, 2, DRAFT_COST)
