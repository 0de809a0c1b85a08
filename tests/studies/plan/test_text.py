"""What kind of number a plan's rate is, in words."""

import math

import numpy as np
import pytest

from specsim.analysis.intervals import t_quantile
from specsim.analysis.model_error import Scale
from specsim.inputs.models.plan import Limit
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.bound import Capacity
from specsim.studies.plan.demand import Demand
from specsim.studies.plan.result import ArmResult, PlanResult
from specsim.studies.plan.text import bound_sentences, plan_sentences
from specsim.studies.shared.model_error import ModelError


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


def planned(rates, *, unmeasured=()):
    """A plan of one arm at 70 requests/s for 200 requests/s, under an error of 20 %."""
    error = ModelError("rate", Scale((math.log(1.2) / t_quantile(0.9, 5)) ** 2, 5, 4), ("general", "dense", "BF16"))
    found = ArmResult(Arm(None), Capacity(np.array(rates), 1000, 100.0, None), (), None, 10.0, None)
    demand = Demand(np.array([3600.0]), np.array([200.0]))
    return PlanResult(
        (Limit("ttft", 99, 0.5),), (found,), demand, 1, None, None, model_error=error._replace(unmeasured=unmeasured)
    )


def test_the_models_error_of_a_rate_and_what_it_does_to_the_replicas():
    """70 requests/s are 58 to 84: 3 replicas by the bound, 3 to 4 within the error."""
    inputs, plan = load_scenario("llama3.1-8b-h100-eagle3"), planned([70.0, 70.0])
    sentences = plan_sentences(inputs, plan)
    assert "serves 70 requests/s (90 % model 58.3 to 84) without speculation" in sentences[0]
    assert "Within the model's error it takes 3 to 4 at the peak." in sentences
    assert plan.serving(plan.best).replicas.tolist() == [3]


def test_what_was_never_measured_is_planned_at_the_low_end():
    inputs = load_scenario("llama3.1-8b-h100-eagle3")
    plan = planned([70.0, 70.0], unmeasured=("MLA",))
    assert plan.serving(plan.best).replicas.tolist() == [4]
    sentences = plan_sentences(inputs, plan)
    assert "Nothing like it was measured, so replicas are those of the low end of the model's error." in sentences
    assert any("not validated: no measurement with MLA" in sentence for sentence in sentences)
