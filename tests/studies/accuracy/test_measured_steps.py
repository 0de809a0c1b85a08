"""A measured step is priced as the engine prices it."""

import pytest

from specsim.costs.passes import PassCost
from specsim.costs.shapes import target_shape
from specsim.errors import InputError
from specsim.forward import Pass, attended
from specsim.inputs.measured.steps import LocatedStep, Step
from specsim.inputs.read.scenario import load_scenario, read_device, read_model
from specsim.simulation.expected import decode_step, tokens_per_verify
from specsim.simulation.replica import Simulation
from specsim.studies.accuracy.validate.steps import price_steps, step_seconds

STEP = {
    "use_device": "h100-sxm",
    "use_engine": "vllm",
    "use_model": "llama-3.1-8b",
    "measured": "step",
    "mode": "graph",
    "requests": 16,
    "query_tokens": (1,),
    "context": (500,),
    "ms": 8.0,
}
EAGLE3 = "{kind: eagle, model: eagle3-llama-3.1-8b, vocabulary_map: d2t}"


def step(**changes):
    return Step.model_validate(STEP | changes)


def priced(*rows, **options):
    return price_steps([LocatedStep(i + 2, row) for i, row in enumerate(rows)], where="a table", **options)


@pytest.mark.parametrize("k", [0, 3, 5])
@pytest.mark.parametrize("batch", [1, 64])
def test_a_step_is_the_engines_decode_step(batch, k):
    """The step that the planner's closed form takes, told its mean tokens per verify."""
    simulation = Simulation(load_scenario("llama3.1-8b-h100-eagle3"))
    length = tokens_per_verify(simulation, k)
    drafts = {"use_drafter": EAGLE3, "num_draft_tokens": k, "acceptance_length": length} if k else {}
    row = step(requests=batch, query_tokens=(1 + k,), context=(500 + k,), **drafts)
    assert priced(row)[0].ms == pytest.approx(1e3 * decode_step(simulation, batch, k, 500).seconds, rel=1e-12)


def test_looked_up_drafts_add_their_host_time_to_the_verify():
    """A step of plain decoding with as many tokens, and what the row's drafter says of 16 lookups."""
    shape = {"query_tokens": (4,), "context": (503,)}
    drafter = "{kind: ngram, host_time_per_step: 100 us, host_time_per_sequence: 20 us}"
    plain, looked_up = priced(step(**shape), step(**shape, use_drafter=drafter, num_draft_tokens=3))
    assert looked_up.ms == pytest.approx(plain.ms + 0.1 + 16 * 0.02, rel=1e-12)


def test_drafting_of_a_tree_is_not_taken_for_a_chains():
    bare = {"use_device": "", "use_engine": "", "use_model": ""}
    plain, drafted = priced(step(**bare), step(**bare, num_draft_tokens=3), scenario="llama3.1-8b-h100-eagle3-tree")
    assert plain.ms == priced(step())[0].ms
    assert drafted.ms is None
    assert "trees" in drafted.reason


def test_a_forward_pass_has_neither_host_nor_drafting():
    cost = PassCost(target_shape(read_model("llama-3.1-8b"), 1), read_device("h100-sxm"), ideal=False)
    row = step(measured="forward", query_tokens=(4,), context=(504,), logit_rows=0)
    pairs = 16 * attended(4, 504)
    expected = sum(cost.price(Pass(64, 0, 16, 16 * 504, pairs)))
    assert priced(row)[0].ms == pytest.approx(1e3 * expected, rel=1e-12)


def test_a_list_of_equal_requests_is_the_one_number_for_all():
    one, listed = priced(step(), step(query_tokens=(1,) * 16, context=(500,) * 16))
    assert one.ms == pytest.approx(listed.ms, rel=1e-12)


def test_a_mixed_step_costs_more_than_its_decodes():
    decodes, mixed = priced(step(), step(requests=17, query_tokens=(1,) * 16 + (512,), context=(500,) * 16 + (512,)))
    assert mixed.ms > decodes.ms


def test_a_scenario_fills_what_rows_leave_out():
    bare = step(use_device="", use_engine="", use_model="")
    (filled,) = priced(bare, scenario="llama3.1-8b-h100-eagle3")
    (named,) = priced(step())
    assert filled.ms == named.ms


def test_what_cannot_be_priced_is_listed_with_the_reason():
    _, nameless, misspelt = priced(step(), step(use_device=""), step(use_model="llama-3.1-9b"))
    assert nameless.reason == "no use_device"
    assert "did you mean" in misspelt.reason
    with pytest.raises(InputError, match="no step can be priced: no use_device"):
        priced(step(use_device=""))


def test_step_seconds_are_those_of_the_step_cost():
    simulation = Simulation(load_scenario("llama3.1-8b-h100-eagle3"))
    price = simulation.step_cost(False).price(Pass(16, 16, 16, 8000, 8000))
    assert step_seconds(simulation, step()) == pytest.approx(sum(price), rel=1e-12)
