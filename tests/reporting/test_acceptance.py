"""Where acceptance comes from is said under every answer, and so is what makes it doubtful."""

import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.reporting.acceptance import acceptance_sentences

DEMO = "llama3.1-8b-h100-eagle3"
CONDITIONALS = "speculation.acceptance.values=[0.816, 0.777, 0.75]"  # measured, and given as marginals


def said(*sets, of=DEMO):
    return list(acceptance_sentences(load_scenario(str(of), sets)))


def test_the_source_is_said_and_nothing_else_of_a_measurement():
    (source,) = said()
    assert source.startswith("Acceptance: measured on Llama-3.1-8B-Instruct with the head")
    assert source.endswith("flat from 1 to 64 requests.")


def test_acceptance_without_a_source():
    (note,) = said("speculation.acceptance={kind: constant, overlap: 0.7}")
    assert note.startswith("speculation.acceptance (70 % of first drafts) names no source")


def test_acceptance_of_random_prompts():
    measured = "speculation.acceptance={kind: constant, overlap: 0.42, source: vllm bench with --dataset-name random}"
    source, note = said(measured)
    assert source == "Acceptance: vllm bench with --dataset-name random."
    assert note.startswith("speculation.acceptance (42 % of first drafts) was measured on random prompts")


def test_each_domain_names_its_own():
    own = "{share: 1, acceptance: {kind: constant, overlap: 0.5, source: a log}}"
    assert said(f"workload.mixture=[{own}]")[1] == "Acceptance of workload.mixture[0].acceptance: a log."


@pytest.mark.parametrize(
    ("values", "doubted"),
    [
        ("[0.816, 0.777, 0.75]", True),  # 0.82, 0.95, 0.97
        ("[0.816, 0.634, 0.4755]", False),  # the same, converted
        ("[0.59, 0.3776, 0.2643]", False),  # EAGLE-3 on an H100, whose positions improve the most: 0.59, 0.64, 0.70
        ("[0.9]", False),
        ("[1.0, 1.0]", False),
    ],
)
def test_marginals_that_are_probably_conditionals(values, doubted):
    found = any("write 'basis: conditional'" in note for note in said(f"speculation.acceptance.values={values}"))
    assert found == doubted


def test_conditionals_and_what_is_looked_up_are_not_doubted():
    assert not any("basis" in note for note in said(CONDITIONALS, "speculation.acceptance.basis=conditional"))
    ngram = "speculation.drafter={kind: ngram, host_time_per_step: 1 ms, host_time_per_sequence: 1 us}"
    assert not any("basis" in note for note in said(ngram, CONDITIONALS, "deployment.engine=vllm-0.24"))


def carried(*sets, of=DEMO):
    notes = [note for note in said(*sets, of=of) if "carried over" in note]
    assert len(notes) < 2
    return notes[0] if notes else ""


def test_another_target_or_drafter_is_told_from_the_one_the_acceptance_was_given_for(tmp_path):
    assert not carried()
    other = ("deployment.target=llama-3.1-70b", "deployment.num_devices=4", "deployment.tensor_parallel=4")
    head = "speculation.drafter={kind: draft_model, model: llama-3.2-1b}"
    assert carried(*other, head) == (
        "The acceptance was given for another target and another drafter and is only carried over: measure it for this "
        "one, and write it to speculation.acceptance."
    )
    assert carried(head).startswith("The acceptance was given for another drafter and")
    assert not carried(head, "speculation.acceptance.values=[0.7, 0.5]")
    assert not carried("speculation.drafter.weight_format=fp8", "deployment.device=h200")
    assert carried(head, "speculation.acceptance.concentration=2")


def test_a_file_that_extends_gives_acceptance_anew_or_carries_it_over(tmp_path):
    scenario = tmp_path / "mine.yaml"
    head = "drafter: {kind: draft_model, model: llama-3.2-1b}"
    scenario.write_text(f"extends: {DEMO}\nname: mine\nspeculation: {{{head}}}\n")
    assert "another drafter" in carried(of=scenario)
    below = tmp_path / "below.yaml"
    below.write_text("extends: mine.yaml\nname: below\nworkload: {num_requests: 64}\n")
    assert "another drafter" in carried(of=below)
    scenario.write_text(f"extends: {DEMO}\nname: mine\nspeculation: {{{head}, acceptance: {{values: [0.6, 0.4]}}}}\n")
    assert not carried(of=scenario)
    assert not carried(of=below)
