"""What kind of number a plan's rate is, in words."""

import numpy as np
import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.studies.plan.bound import Capacity
from specsim.studies.plan.text import bound_sentences


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([70.0, 72.0, 74.0], "95 % of fresh runs of 1,000 requests meet the limits at these rates"),
        # nothing is known of a spread that is smaller than the grid, so no probability is claimed
        ([71.0, 71.0, 71.0], "all 3 seeds meet the limits at one rate of the grid and none at the next"),
    ],
)
def test_a_probability_is_claimed_where_seeds_differ(rates, words):
    found = Capacity(np.array(rates), 1000, 100.0, 0)
    first, *_ = bound_sentences(load_scenario("llama3.1-8b-h100-eagle3").scenario, found)
    assert words in first
    assert ("95 %" in first) == (len(set(rates)) > 1)
