"""A tree's mean acceptance length is not that of its first candidates: it is refused with those that have it."""

import re

import pytest

from specsim.errors import InputError
from specsim.inputs.read.scenario import load_scenario
from specsim.simulation.expected import tokens_per_verify
from specsim.simulation.replica import Simulation

TREE = "llama3.1-8b-h100-eagle3-tree"


def refused(length, *sets):
    mean = f"{{kind: mean_length, mean_acceptance_length: {length}, num_draft_tokens: 5, shape: geometric}}"
    with pytest.raises(InputError) as error:
        Simulation(load_scenario(TREE, [f"speculation.acceptance={mean}", *sets]))
    (problem,) = error.value.problems
    assert problem.path == "speculation.acceptance.mean_acceptance_length"
    return problem.remedy


@pytest.mark.parametrize("siblings", ["one_hot", "without_replacement"])
def test_what_is_offered_has_the_mean_length(siblings):
    tree = ("speculation.tree.branching=[3, 2, 1]", f"speculation.tree.siblings={siblings}")
    three = ("speculation.policy.num_draft_tokens=3", "speculation.acceptance.num_draft_tokens=3")
    offered = re.search(r"\{kind: constant, overlap: ([\d.]+)\}", refused(2.6, *tree, *three))
    stated = f"speculation.acceptance={{kind: constant, overlap: {offered[1]}}}"
    found = tokens_per_verify(Simulation(load_scenario(TREE, [*tree, three[0], stated])), 3)
    # lengths lie within [1, 4], so their s.d. is 1.5 at most; samples of 4,096 and 16,384; overlaps rounded to 0.0005
    assert found == pytest.approx(2.6, abs=4 * 1.5 * (1 / 4096 + 1 / 16384) ** 0.5 + 0.0005 * 6)


def test_a_length_that_the_tree_cannot_have():
    shorter = ("speculation.tree.branching=[3, 2, 1]", "speculation.policy.num_draft_tokens=3")
    assert "3 levels yields at most 4 tokens per verify" in refused(4.5, *shorter)
