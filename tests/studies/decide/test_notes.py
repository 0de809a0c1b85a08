"""Each warning where it applies and nowhere else, with numbers that are known."""

from dataclasses import replace

import pytest

from specsim.inputs.models.schedule import SchedulePolicy
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.replica import Simulation
from specsim.studies.decide.notes import decision_notes

DEMO = "llama3.1-8b-h100-eagle3"
DRAFT_MODEL = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
ITSELF = "speculation.drafter={kind: draft_model, model: llama-3.1-8b}"
NGRAM = "speculation.drafter={kind: ngram, host_time_per_step: 0 us, host_time_per_sequence: 0 us}"


def schedule(*rows):
    starts = [1, *(last + 1 for last, _ in rows[:-1])]
    table = [{"batch": [first, last], "num_draft_tokens": k} for first, (last, k) in zip(starts, rows, strict=True)]
    return SchedulePolicy(kind="schedule", table=table)


def notes(*overrides, rows=((None, 3),), largest=64, scenario=DEMO):
    return list(decision_notes(Simulation(load_scenario(scenario, overrides)), schedule(*rows), largest))


def that_says(words, found):
    return [note for note in found if words in note]


def test_a_drafter_as_large_as_its_target():
    """On the ideal device a pass of either takes as long as reading the weights: no draft length can pay."""
    (note,) = that_says("drafter is large", notes("deployment.ideal=true", ITSELF))
    assert "drafting 3 takes 3.00 of a step without speculation (1.00 per pass)" in note
    assert "at most 4 / 4.00 = 1.00" in note


@pytest.mark.parametrize("drafter", ["speculation.temperature=1.0", NGRAM])
def test_small_drafters_and_lookups_are_not_large(drafter):
    assert not that_says("drafter is large", notes(drafter))


def test_host_time_of_draft_passes_counts():
    """A pass takes as long as the host needs for it: 10 ms here, more than a step of the target."""
    inputs = load_scenario(DEMO)
    slow = inputs.engine.model_copy(update={"host_time_per_draft_pass": 0.01, "host_time_per_draft_pass_of": None})
    assert that_says(
        "drafter is large", decision_notes(Simulation(replace(inputs, engine=slow)), schedule((None, 3)), 64)
    )


def test_the_cache_lost_to_the_drafter():
    simulation = Simulation(load_scenario(DEMO))
    plain, loaded = simulation.memory(False).kv_tokens, simulation.memory(True).kv_tokens
    (note,) = that_says("of the KV pool", notes())
    assert f"takes {100 * (1 - loaded / plain):.0f} % of the KV pool, {loaded:,} tokens instead of {plain:,}" in note
    assert not that_says("of the KV pool", notes(NGRAM))


def test_graphs_that_do_not_hold_the_drafts():
    """Sizes up to 512: 128 requests of 4 tokens, 170 of 3."""
    found = that_says(
        "CUDA graphs", notes("deployment.engine=vllm-0.24", rows=((160, 3), (170, 2), (None, 1)), largest=400)
    )
    assert found == [
        "CUDA graphs hold up to 512 tokens, 128 requests of 4 tokens each: steps of 129 to 160 requests with 3 drafts "
        "are launched kernel by kernel. Capture sizes up to 640 tokens.",
        "CUDA graphs hold up to 512 tokens, 256 requests of 2 tokens each: steps of 257 to 400 requests with 1 draft "
        "are launched kernel by kernel. Capture sizes up to 800 tokens.",
    ]


@pytest.mark.parametrize("rows", [((128, 3), (None, 0)), ((None, 0),)])
def test_graphs_that_hold_all(rows):
    assert not that_says("CUDA graphs", notes("deployment.engine=vllm-0.24", rows=rows, largest=4096))


def test_an_engine_without_graph_sizes():
    assert not that_says("CUDA graphs", notes("deployment.engine=vllm", largest=4096))


def test_a_head_of_a_smaller_vocabulary():
    (note,) = that_says("The head drafts", notes())
    assert "32,000 of the target's 128,256 tokens (25 %)" in note
    assert not that_says("The head drafts", notes(DRAFT_MODEL))


def test_vocabularies_taken_for_padded():
    padded = "speculation.drafter={kind: draft_model, model: qwen3-0.6b, vocabulary_map: prefix}"
    (note,) = that_says("tokenizers", notes(padded))
    assert "151,936 tokens and the target's 128,256" in note
    assert not that_says("tokenizers", notes(DRAFT_MODEL))


def test_gains_of_the_block_rule():
    assert that_says("block verification", notes("speculation.verifier=block"))
    assert not that_says("block verification", notes())
