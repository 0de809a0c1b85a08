"""What no drafter can do, and what every drafter takes."""

import dataclasses
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.inputs.models.token_sources import NgramModels
from specsim.inputs.read import catalogue
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import decode_step, tokens_per_verify
from specsim.simulation.replica import Simulation
from specsim.studies.cost.run import step_costs

SCENARIOS = catalogue.names("scenario")
IDEAL = ("deployment.ideal=true", "deployment.engine=ideal")
ROUNDING = 1e-12


def itself(target, alpha):
    """A target that drafts for itself, on the textbook device."""
    return Simulation(
        load_scenario(
            "llama3.1-8b-h100-eagle3",
            [
                *IDEAL,
                f"deployment.target={target}",
                f"speculation.drafter={{kind: draft_model, model: {target}}}",
                f"speculation.acceptance={{kind: constant, overlap: {alpha}}}",
            ],
        )
    )


@pytest.mark.slow
@given(
    st.sampled_from(["llama-3.1-8b", "llama-3.2-1b", "mixtral-8x7b", "gpt-oss-20b"]),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.integers(1, 8),
    st.integers(1, 700),
)
@settings(max_examples=20, deadline=None)  # a scenario is read for each
def test_a_drafter_as_large_as_the_target_never_pays_on_the_ideal_device(target, alpha, num_draft_tokens, batch):
    """K passes of a token each and one of K + 1 take at least K + 1 plain steps, and yield K + 1 tokens at most."""
    simulation = itself(target, alpha)
    drafted, plain = (decode_step(simulation, batch, k, 100) for k in (num_draft_tokens, 0))
    assert drafted.tokens_per_s <= plain.tokens_per_s * (1 + ROUNDING)


def with_bandwidth(inputs, factor):
    memory = inputs.device.memory.model_copy(update={"bandwidth": inputs.device.memory.bandwidth * factor})
    return dataclasses.replace(inputs, device=inputs.device.model_copy(update={"memory": memory}))


LOADED = {name: load_scenario(name) for name in SCENARIOS}
# counting a text for every example would take seconds, and prices do not depend on where acceptance comes from
PRICED = [name for name, one in LOADED.items() if not isinstance(one.scenario.speculation.acceptance, NgramModels)]
STEPS = {name: Simulation(LOADED[name]) for name in PRICED}


@pytest.mark.slow
@given(st.sampled_from(PRICED), st.integers(1, 128), st.integers(0, 5), st.integers(1, 8000), st.floats(1.0, 4.0))
@settings(max_examples=15, deadline=None)
def test_more_bandwidth_never_slows_a_step_with_drafts(name, batch, num_draft_tokens, context, factor):
    quick = Simulation(with_bandwidth(LOADED[name], factor))
    before, after = (decode_step(s, batch, num_draft_tokens, context).seconds for s in (STEPS[name], quick))
    assert after <= before * (1 + ROUNDING)


@pytest.mark.slow
@given(st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(0, 8))
@settings(max_examples=30, deadline=None)
def test_full_acceptance_yields_most_tokens_and_none_yields_one(alpha, num_draft_tokens):
    least, some, most = (tokens_per_verify(itself("llama-3.2-1b", a), num_draft_tokens) for a in (0.0, alpha, 1.0))
    assert least == 1
    assert most == num_draft_tokens + 1
    assert least <= some <= most


DRAFTERS = [
    "{kind: eagle, model: eagle3-llama-3.1-8b, vocabulary_map: d2t}",
    "{kind: eagle, model: eagle-llama-3.1-8b, generation: eagle}",
    "{kind: draft_model, model: llama-3.2-1b}",
    "{kind: draft_model, model: llama-3.2-1b, weight_format: fp8}",
    "{kind: medusa, num_heads: 4}",
    "{kind: block_parallel, model: eagle-llama-3.1-8b, block_size: 4, fused_layers: 5}",
]


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_every_drafter_with_weights_takes_requests_from_the_pool(drafter):
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [f"speculation.drafter={drafter}", "curve.num_draft_tokens=[3]"])
    plain, loaded = step_costs(inputs, [1], [0, 3]).memory
    assert loaded.plan.kv_tokens < plain.plan.kv_tokens
    assert loaded.requests < plain.requests


@pytest.mark.parametrize("name", ["deepseek-r1-8xb200-mtp", "qwen3.5-35b-a3b-h200-mtp"])
def test_of_a_mixture_even_one_request_pays_for_verifying(name):
    """More tokens pass through more experts: a verify of K + 1 costs more with each K, drafting and host left out."""
    parts = [step_costs(LOADED[name], [1], [k]).steps[0].time for k in range(6)]
    weights = [time.weights for time in parts]
    assert all(later > 1.01 * earlier for earlier, later in pairwise(weights))
    dense = [step_costs(LOADED["llama3.1-8b-h100-eagle3"], [1], [k]).steps[0].time.weights for k in range(6)]
    # activations alone: some MB beside 16 GB of weights
    assert dense[5] < 1.01 * dense[0]
