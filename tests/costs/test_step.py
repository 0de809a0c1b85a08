"""A step is its target pass, its draft passes and the host's time, by part, and nothing else."""

import pytest

from specsim.costs.passes import PassCost
from specsim.costs.shapes import drafter_shape, target_shape
from specsim.costs.step import StepCost
from specsim.forward import Pass
from specsim.inputs.models.drafters import EagleHead
from specsim.inputs.read.scenario import read_device, read_engine, read_model
from specsim.records import PARTS, StepTime

EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")
VERIFY = Pass(tokens=40, logit_rows=38, sequences=10, context_tokens=5000, query_context=20_000)
DRAFTS = [Pass(25, 10, 10, 4970, 12_000, 25), Pass(10, 10, 10, 4980, 4980), Pass(10, 10, 10, 4990, 4990)]


@pytest.fixture(scope="module")
def target():
    return PassCost(target_shape(read_model("llama-3.1-8b"), 1), read_device("h100-sxm"), ideal=False)


@pytest.fixture(scope="module")
def drafter():
    shape = drafter_shape(EAGLE3, read_model("eagle3-llama-3.1-8b"), 1)
    return PassCost(shape, read_device("h100-sxm"), ideal=False)


@pytest.fixture(scope="module")
def engine():
    """Host times that tell each of the four terms apart."""
    host = {
        "host_time_per_step": 1.0,
        "host_time_per_sequence": 1e-2,
        "host_time_per_draft_pass": 1e-4,
        "host_time_per_verified_row": 1e-6,
    }
    return read_engine("vllm").model_copy(update=host)


def test_the_parts_are_those_that_records_keep():
    assert StepTime._fields == PARTS


def test_a_step_is_the_sum_of_its_passes_and_the_host(target, drafter, engine):
    time = StepCost(target, drafter, engine).price(VERIFY, DRAFTS)
    assert time[:5] == target.price(VERIFY)
    assert time.draft == pytest.approx(sum(sum(drafter.price(work)) for work in DRAFTS), rel=1e-15)
    assert time.host == pytest.approx(1 + 10 * 1e-2 + 3 * 1e-4 + 38 * 1e-6, rel=1e-15)


def test_without_an_engine_the_host_takes_no_time(target, drafter):
    assert StepCost(target, drafter, None).price(VERIFY, DRAFTS).host == 0


def test_without_drafts_nothing_is_added(target, drafter, engine):
    time = StepCost(target, drafter, engine).price(VERIFY)
    assert time.draft == 0
    assert time == StepCost(target, None, engine).price(VERIFY)


def test_draft_passes_may_come_one_by_one(target, drafter, engine):
    cost = StepCost(target, drafter, engine)
    assert cost.price(VERIFY, iter(DRAFTS)) == cost.price(VERIFY, DRAFTS)


def test_a_deployment_without_a_drafter_cannot_draft(target, engine):
    with pytest.raises(ValueError, match="a draft pass was asked of a deployment without a drafter"):
        StepCost(target, None, engine).price(VERIFY, DRAFTS)
