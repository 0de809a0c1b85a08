"""The model's error: its scale by hand, its coverage of classes made up, and what a sweep may not decide of itself."""

import math

import numpy as np
import pytest
from scipy.stats import t

from specsim.analysis.model_error import (
    CONFIDENCE,
    PRIOR,
    Residuals,
    left_out_coverage,
    scale_of,
    steps_between,
    widest,
)

ALL = (
    Residuals("one", ("general", "dense"), (0.1, -0.1)),
    Residuals("two", ("general", "dense"), (0.2,)),
    Residuals("three", ("general", "MoE"), (0.5,)),
)


def test_a_sweep_counts_once_and_the_class_above_as_two():
    """Mean squares 0.01, 0.04 and 0.25: 0.1 of all; of dense (2 · 0.1 + 0.01 + 0.04) / 4."""
    everything = scale_of(ALL)
    assert (everything.variance, everything.freedom, everything.sweeps) == (pytest.approx(0.1), 3, 3)
    general = (PRIOR * 0.1 + 0.3) / 5
    dense = scale_of(ALL, ("general", "dense"))
    assert dense.variance == pytest.approx((PRIOR * general + 0.05) / 4)
    assert (dense.freedom, dense.sweeps) == (4, 2)


def test_the_interval_is_students():
    scale = scale_of(ALL, ("general", "dense"))
    half = t.ppf((1 + CONFIDENCE) / 2, scale.freedom) * math.sqrt(scale.variance)
    assert scale.half_width == pytest.approx(half)


def test_a_class_without_sweeps_has_what_is_above_it():
    found, above = scale_of(ALL, ("general", "MLA")), scale_of(ALL, ("general",))
    assert found.variance == pytest.approx(above.variance)
    assert found.sweeps == 0
    assert found.half_width > above.half_width  # known from two sweeps' worth


def test_without_any_sweep_nothing_is_known():
    assert scale_of([]).half_width == math.inf


def test_the_widest_is_of_the_class_that_is_most_off():
    assert widest(ALL) == scale_of(ALL, ("general", "MoE"))


def test_intervals_hold_nine_in_ten_sweeps():
    """Of normal residuals in one class the interval is exact: 12 sweeps, 1,000 draws, four standard errors."""
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(1000):
        drawn = [Residuals(str(i), (), (log,)) for i, log in enumerate(rng.normal(0, 0.1, 12).tolist())]
        cover = left_out_coverage(drawn)[()]
        shares.append(cover.within / cover.points)
    assert abs(np.mean(shares) - CONFIDENCE) <= 4 * np.std(shares, ddof=1) / math.sqrt(len(shares))


def test_a_sweep_does_not_decide_whether_it_is_covered():
    """Two sweeps at 1 and one at 3: its own residual would have covered it, the others' do not."""
    residuals = [Residuals(name, ("x",), (log,)) for name, log in (("a", 0.1), ("b", 0.1), ("c", 3.0))]
    assert left_out_coverage(residuals)["x",].within == 2
    assert scale_of(residuals, ("x",)).half_width > 3.0


def test_neighbouring_lengths_are_compared_at_equal_loads():
    """From 1 to 2 tokens 0.1, from 2 to 4 0.2 over the root of two; at the other load there is one length only."""
    found = steps_between([8, 8, 8, 16], [4, 1, 2, 1], [0.3, 0.0, 0.1, 5.0])
    assert found == pytest.approx((0.1, 0.2 / math.sqrt(2)))


def test_repeats_of_a_length_are_no_step():
    assert steps_between([8, 8], [2, 2], [0.1, 0.3]) == ()
