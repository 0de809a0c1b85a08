"""Which limit keeps requests waiting."""

import numpy as np
import pytest

from specsim.analysis.waiting import Waiting, waiting_by_limit
from specsim.records import PARTS, StepRecords

PLACES, BUDGET, POOL, LONGEST = 8, 100, 1000, 60


def steps(*rows):
    """Each (seconds, running, waiting, tokens, KV tokens)."""
    seconds, running, waiting, tokens, held = (np.array(column) for column in zip(*rows, strict=True))
    end, zeros = np.cumsum(seconds).astype(float), np.zeros(len(rows), np.int64)
    parts = np.zeros((len(rows), len(PARTS)))
    return StepRecords(end - seconds, end, parts, tokens, zeros, zeros, running, waiting, held, zeros, zeros)


def found(*rows, window=None):
    places, budget, pool = (np.array([limit]) for limit in (PLACES, BUDGET, POOL))
    return waiting_by_limit(steps(*rows), places, budget, pool, LONGEST, window)


def test_nobody_waits():
    assert found((1, 8, 0, 100, 1000)) == Waiting(0, 0, 0)


@pytest.mark.parametrize(
    ("row", "limit"),
    [
        ((1, 8, 3, 32, 400), "places"),
        ((1, 8, 3, 100, 1000), "places"),  # of several the first
        ((1, 5, 3, 100, 400), "budget"),
        ((1, 5, 3, 90, 400), "budget"),  # the next prompt, which is computed whole, does not fit
        ((1, 5, 3, 90, 940), "budget"),
        ((1, 5, 3, 90, 941), "cache"),  # 59 tokens are left, and the largest request asks for 60
    ],
)
def test_the_limit_that_binds(row, limit):
    assert found(row) == Waiting(0, 0, 0)._replace(**{limit: 3.0})


def test_means_are_over_the_time_in_steps_and_of_a_window():
    rows = ((1, 8, 4, 10, 10), (2, 5, 0, 10, 10), (1, 5, 2, 10, 990))
    assert found(*rows) == Waiting(1.0, 0, 0.5)
    assert found(*rows, window=(1.0, 4.0)) == pytest.approx(Waiting(0, 0, 2 / 3))


def test_each_replica_has_its_own_limits():
    run = steps((1, 8, 1, 10, 10), (1, 8, 2, 10, 10))
    two = StepRecords(**(run.__dict__ | {"replica": np.array([0, 1])}))
    found = waiting_by_limit(two, np.array([8, 16]), np.array([100, 10]), np.array([1000, 1000]), LONGEST)
    assert found == Waiting(0.5, 1.0, 0)
