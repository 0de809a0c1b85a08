"""What is said of a comparison: by how much more, who is not told apart, and what scenarios do not have in common."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.analysis.intervals import Interval
from specsim.inputs.read.compared import Asked, compared_inputs
from specsim.studies.compare.frontier import cells_of, frontier
from specsim.studies.compare.run import Comparison, simulate_comparison
from specsim.studies.compare.tables import cells_table
from specsim.studies.compare.text import comparison_sentences, extra_words, frontier_sentence, more_words

DEMO = "llama3.1-8b-h100-eagle3"
SMALL = (
    "workload.lengths={kind: fixed, prompt_tokens: 100, output_tokens: 8}",
    "curve={replications: 3, requests_per_slot: 3}",
    "slo={}",
)


@pytest.fixture(scope="module")
def comparison():
    return simulate_comparison(compared_inputs(Asked([DEMO], ["again: seed=1"], SMALL, batches="1,8")), jobs=1)


@pytest.mark.parametrize(
    ("ratio", "words", "cell"),
    [
        ((1.12, 1.09, 1.15), "12.0 % [9.0, 15.0] more", "+12.0 % [+9.0, +15.0]"),
        ((0.9, 0.85, 0.95), "10.0 % [5.0, 15.0] less", "-10.0 % [-15.0, -5.0]"),
        ((1.0, 1.0, 1.0), "0.0 % [0.0, 0.0] more", "0.0 % [0.0, 0.0]"),
        ((0.999, 0.98, 1.02), "-0.1 % [-2.0, 2.0] more", "-0.1 % [-2.0, +2.0]"),
        ((1.9, 1.6, 2.3), "90 % [60, 130] more", "+90 % [+60, +130]"),
    ],
)
def test_how_much_more(ratio, words, cell):
    interval = Interval(*ratio, 0.95, 6)
    assert more_words(interval) == words
    assert extra_words(interval) == cell


def test_members_of_the_frontier_are_named_with_whom_they_are_not_told_apart_from(comparison):
    sentences = comparison_sentences(comparison, cells_of(comparison), None)
    number = len(frontier(cells_of(comparison)))
    [ties] = [sentence for sentence in sentences if "on the frontier do not differ" in sentence]
    assert ties.startswith(f"{number} of {number} on the frontier do not differ significantly from others: {DEMO} with")
    assert "from again with 3 draft tokens at 1" in ties
    assert "differ significantly" not in frontier_sentence(cells_of(comparison))


def test_outputs_of_one_token_have_no_frontier(comparison):
    def without(subject):
        points = {key: replace(runs, tokens_per_s_per_user=np.full(3, np.nan)) for key, runs in subject.points.items()}
        return replace(subject, points=points)

    bare = Comparison(tuple(map(without, comparison.subjects)), ())
    cells = cells_of(bare)
    assert frontier(cells) == []
    assert comparison_sentences(bare, cells, None)[0].startswith("Outputs have one token")
    assert not cells_table(cells).frame()["frontier"].any()


def test_requests_that_differ_are_not_paired_and_named(comparison):
    first, second = comparison.subjects
    scenario = second.inputs.scenario.model_copy(update={"seed": 5})
    other = replace(second, inputs=replace(second.inputs, scenario=scenario))
    sentences = comparison_sentences(replace(comparison, subjects=(first, other)), cells_of(comparison), None)
    assert f"Caution: the scenarios also differ in seed (1: {DEMO}; 5: again)." in sentences
    assert any(sentence.startswith(f"Requests of again are not those of {DEMO}") for sentence in sentences)
