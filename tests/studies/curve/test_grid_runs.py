"""Which batches are looked at besides a grid."""

import numpy as np
import pytest

from specsim.studies.curve.grid_runs import _points_at_crossings, crossings_of
from specsim.studies.shared.points import Point, PointRuns


def runs_of(speedups):
    """Runs of three draft tokens and none, by batch, whose speedups hardly spread."""
    ones, spread = np.ones(3), np.array([0.999, 1.0, 1.001])
    rest = [*[ones] * 9, *[0 * ones] * 3]
    return {
        Point(batch, k): PointRuns(100 * (speedup * spread if k else ones), ones, *rest)
        for batch, speedup in speedups.items()
        for k in (0, 3)
    }


@pytest.mark.parametrize(("simulated", "looked_at"), [(64, [Point(58, 0), Point(58, 3)]), (57, [])])
def test_a_crossing_within_two_percent_of_a_batch_is_not_looked_at_again(simulated, looked_at):
    """It lies at 58: 10 % from 64, and 2 % from 57."""
    line = {batch: (58 / batch) ** 0.1 for batch in (16, simulated, 256)}
    assert crossings_of(3, runs_of(line)).crossings[0].batch == pytest.approx(58, rel=1e-5)
    assert _points_at_crossings([3], runs_of(line)) == looked_at
