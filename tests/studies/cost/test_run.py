"""Single steps: the same prices as the planner's closed form, taken apart; and what a drafter takes of the memory."""

from dataclasses import replace

import pytest

from specsim.errors import InputError
from specsim.inputs.models.engine import Graphs
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import decode_step, mean_context
from specsim.simulation.replica import Simulation
from specsim.studies.cost.run import RESOURCES, step_costs

SCENARIOS = catalogue.names("scenario")
DEMO = "llama3.1-8b-h100-eagle3"
MTP = "deepseek-r1-8xb200-mtp"
STAGES = ["deployment.tensor_parallel=4", "deployment.expert_parallel=4", "deployment.pipeline_parallel=2"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_step_is_the_planners_own(name):
    inputs = load_scenario(name)
    report, simulation = step_costs(inputs, [1, 64], [0, 3]), Simulation(inputs)
    assert report.context == mean_context(simulation)
    for step in report.steps:
        expected = decode_step(simulation, step.batch, step.num_draft_tokens, report.context)
        plain = decode_step(simulation, step.batch, 0, report.context)
        assert (step.seconds, step.tokens) == (expected.seconds, expected.tokens)
        assert step.over_plain == step.seconds / plain.seconds


@pytest.mark.parametrize("overrides", [[], STAGES, ["deployment.kv_format=fp8"]])
@pytest.mark.parametrize("prompt_tokens", [0, 3000])
def test_what_a_step_waits_for_adds_up_to_it(overrides, prompt_tokens):
    report = step_costs(load_scenario(MTP, overrides), [1, 8, 128], [0, 3], prompt_tokens=prompt_tokens)
    for step in report.steps:
        assert set(step.waits) == set(RESOURCES)
        assert sum(step.waits.values()) == pytest.approx(step.seconds, rel=1e-12)
        assert 0 < step.bandwidth_share < 1
        assert 0 < step.compute_share < 1


def test_limits_change_hands_as_the_load_grows():
    """One request waits for launches and weights; many short ones for arithmetic; long contexts for their KV."""
    inputs = load_scenario(DEMO)
    (few,) = step_costs(inputs, [1], [0]).steps
    (many,) = step_costs(inputs, [1024], [5], context=1).steps
    (long,) = step_costs(inputs, [256], [0], context=20_000).steps
    assert (few.limit, many.limit, long.limit) == ("weights", "compute", "kv")
    (launched,) = step_costs(load_scenario(MTP), [1], [0]).steps
    assert launched.limit == "launches"


def test_a_prompt_chunk_is_computed_beside_the_decodes():
    inputs = load_scenario(DEMO)
    (alone,), (mixed,) = (step_costs(inputs, [8], [3], prompt_tokens=n).steps for n in (0, 2000))
    assert mixed.tokens == alone.tokens
    # 2000 tokens of 7 billion weights at the full peak, at least
    assert mixed.seconds > alone.seconds + 2 * 2000 * 6.98e9 / 989e12
    assert mixed.time.draft > alone.time.draft, "the drafter takes the prompt in too"


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_drafter_takes_room_of_requests(name):
    plain, loaded = step_costs(load_scenario(name), [1], [0, 3]).memory
    assert (plain.num_draft_tokens, loaded.num_draft_tokens) == (0, 3)
    assert plain.plan.draft_weights == 0 < loaded.plan.draft_weights
    assert loaded.plan.kv_tokens < plain.plan.kv_tokens
    assert loaded.requests < plain.requests


def test_requests_are_of_the_mean_length():
    report = step_costs(load_scenario(DEMO), [1], [0, 3])
    assert report.request_tokens == 356
    assert [arm.requests for arm in report.memory] == [440_116 // 356, 420_496 // 359]


def test_without_drafts_no_drafter_is_loaded():
    assert len(step_costs(load_scenario(DEMO), [1, 8], [0]).memory) == 1


def test_a_step_that_never_runs_is_refused_with_every_reason():
    medusa = load_scenario(
        DEMO, ["speculation.drafter={kind: medusa, num_heads: 3}", "curve.num_draft_tokens=[1, 2, 3]"]
    )
    with pytest.raises(InputError) as caught:
        step_costs(medusa, [2000], [0, 5], context=200_000)
    named = [problem.where for problem in caught.value.problems]
    assert named == ["--num-draft-tokens", "--batch", "--context"]
    assert "draft for 3 positions at most" in str(caught.value)


@pytest.mark.parametrize("prompt_tokens", [0, 500])
def test_padding_to_graphs_and_launching_without_them_are_waited_for_too(prompt_tokens):
    """A step of 32 tokens runs as one of 300; one of 4 x 128 is launched layer by layer, which takes a second."""
    graphs = Graphs(sizes=(300,), eager_time_per_layer="31.25 ms", piecewise_time_per_layer="31.25 ms")
    plain = load_scenario(DEMO)
    inputs = replace(plain, engine=plain.engine.model_copy(update={"graphs": graphs, "verify_attention_factor": 2.0}))
    padded, eager = step_costs(inputs, [8, 128], [3], prompt_tokens=prompt_tokens).steps
    for step in (padded, eager):
        assert sum(step.waits.values()) == pytest.approx(step.seconds, rel=1e-12)
    assert eager.limit == "launches"
    assert eager.seconds > 1
    if not prompt_tokens:
        assert padded.flops_per_s * padded.seconds > 2 * 300 * 6.98e9
