"""How costs lie to each other, in words."""

import pytest

from specsim.analysis.intervals import Interval
from specsim.studies.optimize.text import less


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ((0.84, 0.83, 0.86), "16.0 % [14.0, 17.0] below"),
        ((1.2, 1.1, 1.3), "20.0 % [10.0, 30.0] above"),
        ((0.98, 0.95, 1.01), "not distinguishable (-2.0 % [-5.0, +1.0]) from"),
        (  # nearer than rates are tried, but its interval excludes 0
            (0.993, 0.993, 0.993),
            "below by no more than the grid of rates resolves (-0.7 % [-0.7, -0.7], steps of 1 %)",
        ),
        ((1.02, 1.005, 1.03), "above by no more than the grid of rates resolves (+2.0 % [+0.5, +3.0], steps of 1 %)"),
    ],
)
def test_what_lies_within_the_noise_or_the_grid_is_not_told_apart(ratio, words):
    assert less(Interval(*ratio, 0.95, 6), resolution=0.01) == words
