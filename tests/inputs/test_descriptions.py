"""A text that describes values does not survive a change of those values."""

import pytest

from specsim.inputs.read.scenario import load_scenario

DEMO = "llama3.1-8b-h100-eagle3"


def source(*overrides):
    return load_scenario(DEMO, overrides).scenario.speculation.acceptance.source


def test_the_demo_describes_itself_and_its_source():
    scenario = load_scenario(DEMO).scenario
    assert "short questions" in scenario.description
    assert "GSM8K" in scenario.speculation.acceptance.source


@pytest.mark.parametrize("override", ["values=[0.5]", "basis=conditional", "vocabulary=16"])
def test_other_acceptance_has_no_claim_to_the_source(override):
    assert source(f"speculation.acceptance.{override}") == ""
    stated = "speculation.acceptance.source=our own logs"
    assert source(f"speculation.acceptance.{override}", stated) == "our own logs"


@pytest.mark.parametrize("override", ["deployment.device=h200", "speculation.policy.num_draft_tokens=2", "seed=2"])
def test_what_leaves_acceptance_alone_leaves_its_source(override):
    assert "GSM8K" in source(override)


@pytest.mark.parametrize(("override", "kept"), [("deployment.device=h200", False), ("curve.replications=3", True)])
def test_another_deployment_is_not_the_one_described(override, kept):
    assert bool(load_scenario(DEMO, [override]).scenario.description) == kept


def test_a_scenario_that_extends_the_demo_has_its_own_description_or_none(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(f"extends: {DEMO}\nname: mine\nspeculation: {{acceptance: {{values: [0.72, 0.53]}}}}\n")
    scenario = load_scenario(str(file)).scenario
    assert (scenario.description, scenario.speculation.acceptance.source) == ("", "")
