"""What a curve says of its inputs, which draft lengths it compares, and where its closed form ends."""

import pytest

from specsim.inputs.read.scenario import load_scenario
from specsim.studies.curve.run import simulate_curve

DEMO = "llama3.1-8b-h100-eagle3"
GRID = "curve={batches: [1, 4], num_draft_tokens: [1], replications: 2, requests_per_slot: 3, min_requests: 3}"
SHORT = "workload.lengths={kind: fixed, prompt_tokens: 8, output_tokens: 12}"


def curve(*overrides):
    return simulate_curve(load_scenario(DEMO, [GRID, SHORT, *overrides]), jobs=1)


def test_the_policys_own_draft_length_is_simulated_whatever_the_grid():
    asked = load_scenario(DEMO, ["speculation.policy.num_draft_tokens=8", "curve.num_draft_tokens=[1, 2]"]).scenario
    assert asked.compared_draft_lengths == (1, 2, 8)
    none = load_scenario(DEMO, ["speculation.policy.num_draft_tokens=0", "curve.num_draft_tokens=[1, 2]"]).scenario
    assert none.compared_draft_lengths == (1, 2)
    assert set(curve("speculation.policy.num_draft_tokens=2").crossings) == {1, 2}


@pytest.mark.parametrize(
    ("acceptance", "compared"),
    [
        ("{kind: constant, overlap: 0.7}", (1, 2, 3, 4, 5)),
        ("{kind: profile, basis: marginal, values: [0.7, 0.5, 0.3]}", (1, 2, 3)),
        ("{kind: profile, basis: marginal, values: [0.7, 0.5]}", (1, 2, 3)),  # the policy asks for 3
        ("{kind: mean_length, mean_acceptance_length: 2.5, num_draft_tokens: 4, shape: geometric}", (1, 2, 3, 4)),
    ],
)
def test_nothing_drafts_beyond_what_acceptance_is_given_for_unless_asked(acceptance, compared):
    scenario = load_scenario(DEMO, [f"speculation.acceptance={acceptance}"]).scenario
    assert scenario.compared_draft_lengths == compared


@pytest.mark.parametrize(("values", "said"), [("[0.7, 0.5]", True), ("[0.7, 0.5, 0.3]", False)])
def test_positions_beyond_the_stated_ones_are_named(values, said):
    notes = curve(f"speculation.acceptance.values={values}").notes
    expected = "Acceptance is given for 2 positions; position 3 repeats the last conditional value."
    assert (expected in notes) == said


@pytest.mark.parametrize(("prompt", "said"), [(2037, True), (2036, False)])
def test_requests_longer_than_the_drafter_takes_are_named(prompt, said):
    """The head takes 2,048 positions, and outputs are 12 tokens long."""
    notes = curve(f"workload.lengths.prompt_tokens={prompt}").notes
    assert any(note.startswith("The drafter takes 2048 positions, but requests reach 2049") for note in notes) == said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "drawn"),
    [
        (["workload.lengths.prompt_tokens=12"], True),
        (["workload.lengths.prompt_tokens=13"], False),
        (["workload.lengths.prompt_tokens=13", "workload.decode_only=true"], True),
    ],
)
def test_the_closed_form_is_drawn_where_prompts_do_not_outweigh_outputs(overrides, drawn):
    result = curve(*overrides)
    assert result.closed_form.empty != drawn
    assert result.points["closed_form_speedup"].notna().all() == drawn
