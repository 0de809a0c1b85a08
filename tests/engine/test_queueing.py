"""In the degenerate case of one request at a time the engine is an M/G/1 queue; of equal requests, an M/D/1 queue.

Mean wait = λ E[S²]/(2(1 − ρ)) for service times S and ρ = λ E[S] (Pollaczek–Khinchine). Every wait also follows from
the arrivals by Lindley's recursion, whatever their law.
"""

import numpy as np
import pytest

from specsim.engine.run import serve_open_loop
from specsim.streams import stream
from specsim.workload.arrivals import poisson_arrivals

STEP = 0.5
PROMPT, OUTPUT = 30, 3
SERVICE = OUTPUT * STEP  # the prompt's step yields the first token
NUM_REQUESTS = 4000


@pytest.fixture(scope="module")
def waits(config, lengths, constant_cost):
    def run(arrivals, output=None):
        output = np.full(len(arrivals), OUTPUT) if output is None else output
        requests = lengths(*((PROMPT, tokens) for tokens in output.tolist()))
        how = config(conditional=(), max_num_seqs=1, cost=constant_cost(STEP))
        records = serve_open_loop(how, requests, arrivals).requests
        np.testing.assert_allclose(records.finish - records.admitted, STEP * output, atol=1e-8)
        return records.admitted - records.arrival

    return run


def test_every_wait_follows_from_the_one_before_it(waits):
    arrivals = poisson_arrivals(2000, 0.8 / SERVICE, stream(2, "arrivals"))
    expected = np.zeros(len(arrivals))
    for i, gap in enumerate(np.diff(arrivals), start=1):
        expected[i] = max(0.0, expected[i - 1] + SERVICE - gap)
    # the clock has reached some 4,000 s and rounds a few times per request
    np.testing.assert_allclose(waits(arrivals), expected, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_the_mean_wait_is_that_of_an_m_d_1_queue(waits, load):
    arrivals = poisson_arrivals(NUM_REQUESTS, load / SERVICE, stream(3, "arrivals"))
    wait = waits(arrivals)
    mean, standard_error = mean_wait(wait)
    assert abs(mean - load / (2 * (1 - load)) * SERVICE) <= 4 * standard_error
    assert standard_error < 0.15 * mean, "enough cycles for the test to mean something"


def mean_wait(wait):
    """The mean and its standard error.

    Requests that find the server idle start independent cycles; the mean wait is a ratio of means over cycles.
    """
    starts = np.flatnonzero(wait == 0)
    cycles = np.add.reduceat(wait, starts)[:-1], np.diff(starts)
    mean = cycles[0].sum() / cycles[1].sum()
    return mean, np.sqrt(((cycles[0] - mean * cycles[1]) ** 2).sum()) / cycles[1].sum()


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.6])
def test_the_mean_wait_of_unequal_requests_is_that_of_an_m_g_1_queue(waits, load):
    """Outputs of 1 or 9 tokens, 3 on average, so E[S²] is 21 steps² and not the 9 of equal requests."""
    few, many, share = 1, 9, 0.25
    rng = stream(4, "lengths")
    output = np.where(rng.random(NUM_REQUESTS) < share, many, few)
    rate = load / SERVICE
    mean, standard_error = mean_wait(waits(poisson_arrivals(NUM_REQUESTS, rate, stream(4, "arrivals")), output))
    second_moment = STEP**2 * (share * many**2 + (1 - share) * few**2)
    assert abs(mean - rate * second_moment / (2 * (1 - load))) <= 4 * standard_error
    assert standard_error < 0.15 * mean, "enough cycles for the test to mean something"
