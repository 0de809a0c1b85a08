"""Where even plain decoding computes: every pass grows with its tokens, catching up costs, and drafting cannot pay.

At a batch of 320 the drafter's first pass takes in the token that the verifier added and, of requests whose drafts all
survived, the last draft too: 320·(1 + α^γ) tokens on average. Past the ridge time is linear in tokens, so the mean step
time is known exactly, and throughput is a ratio of means over independent steps.
"""

import numpy as np
import pytest

from specsim.analysis import closed_form as law
from specsim.inputs.models.workload import ClosedLoop
from specsim.inputs.read.scenario import read_model
from specsim.simulation.replica import Simulation

PEAK, BATCH, NUM_STEPS = 989e12, 320, 24


def seconds(model, tokens, logit_rows):
    """A pass past the ridge: two operations for each number of its matrices and each row."""
    layers = model.matrix_parameters
    return 2 * (layers * tokens + model.vocab_size * model.hidden_size * logit_rows) / PEAK


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("gamma", [1, 2, 4, 8])
def test_throughput_is_that_of_linear_passes(ideal, alpha, gamma):
    scenario = ideal(alpha, (NUM_STEPS + 1) * (gamma + 1))
    records = Simulation(scenario).run(
        ClosedLoop(kind="closed_loop", concurrency=BATCH),
        num_draft_tokens=gamma,
        num_requests=BATCH,
        replication=0,
    )
    durations = (records.steps.end - records.steps.start)[: NUM_STEPS + 1]
    tokens = np.bincount(records.rounds.step, records.rounds.num_emitted)[:NUM_STEPS]

    target, drafter = read_model("llama-3.1-8b"), read_model("llama-3.2-1b")
    verify = seconds(target, BATCH * (gamma + 1), BATCH * (gamma + 1))
    catch_up = seconds(drafter, BATCH * (1 + alpha**gamma), BATCH)
    step = verify + catch_up + (gamma - 1) * seconds(drafter, BATCH, BATCH)
    predicted = BATCH * float(law.expected_tokens(alpha, gamma)) / step

    # the tokens of a step decide what the next one's drafter has to catch up with, so these two belong together
    caught_up = durations[1:]
    simulated = tokens.sum() / caught_up.sum()
    residuals = tokens - predicted * caught_up
    standard_error = np.sqrt((residuals**2).sum()) / caught_up.sum() if 0 < alpha < 1 else 0.0
    assert abs(simulated - predicted) <= 4 * standard_error + 1e-12 * predicted
    assert predicted < BATCH / seconds(target, BATCH, BATCH), "plain decoding is faster, even where all is accepted"
