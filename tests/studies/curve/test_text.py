"""The answer in words: what each shape of curve says, and what it must not say."""

import pandas as pd
import pytest

from specsim.inputs.models.scenario import Curve
from specsim.studies.curve.run import CurveResult
from specsim.studies.curve.text import curve_sentences, curve_table, featured_draft_length, limits


@pytest.fixture
def said(curve, scenario):
    def first(speedups, batches=(1, 4, 16, 64, 256), **options):
        return curve_sentences(scenario(batches=batches), curve(speedups, batches=batches, **options))[0]

    return first


def test_one_crossing(said):
    sentence = said([2, 2, 1.8, 1.4, 0.8])
    # a straight line in the logarithm of the batch: 64 · 4^(ln 1.4 / ln 1.75) = 147
    assert sentence.startswith("With 3 draft tokens speculation pays up to batch 147 [146, 149]; beyond, it costs ")
    assert "up to 20 %. Verifying stops being free near batch 67." in sentence


def test_always_pays(said):
    assert said([2, 2, 1.8, 1.4, 1.2]).startswith(
        "With 3 draft tokens speculation pays at every batch simulated, 1 to 256: 1.20× to 2.00×."
    )


def test_never_pays(said):
    assert said([0.9, 0.85, 0.8, 0.7, 0.55]).startswith(
        "With 3 draft tokens speculation pays at no batch simulated, 1 to 256: it costs 10 % to 45 %."
    )


def test_several_crossings(said):
    sentence = said([1.5, 0.8, 1.4, 1.2, 0.7])
    assert sentence.count("stops paying at batch") == 2
    assert sentence.count("starts paying at batch") == 1
    assert "pays up to" not in sentence


def test_starts_paying(said):
    sentence = said([0.8, 0.9, 1.1, 1.2, 1.3])
    assert "speculation starts paying at batch 8 [" in sentence
    assert "stops paying" not in sentence


def test_undecided(said):
    assert said([1, 1.001, 0.999, 1, 1], spread=0.05).startswith(
        "With 3 draft tokens speculation is undecided at batch 1 to 256; run more replications."
    )


def test_undecided_at_the_end_only(said):
    """The rest is clear and must be said."""
    sentence = said([2, 1.8, 1.6, 1.4, 1.0005], spread=0.002)
    assert sentence.startswith("With 3 draft tokens speculation clearly pays at batch 1 to 25")
    assert "is undecided elsewhere; run more replications." in sentence


@pytest.mark.parametrize(
    ("speedup", "words"),
    [(2, "speculation pays at batch 1: 2.00×."), (0.9, "speculation does not pay at batch 1: it costs 10 %.")],
)
def test_a_single_batch(said, speedup, words):
    assert words in said([speedup], batches=(1,))


def test_verifying_that_is_never_free(said):
    assert "Verifying is never free here" in said([2, 2, 2, 2, 2], free=0)


def test_best_draft_length_by_batch(curve, scenario):
    sentences = curve_sentences(scenario(), curve([2, 2, 1.8, 1.4, 0.8]))
    assert "Best number of draft tokens by batch: 3 from 1 to 64; none at 256." in sentences


def test_requests_that_wait(curve, scenario):
    sentences = curve_sentences(scenario(), curve([2] * 5, running=[1, 4, 16, 50, 51]))
    assert any(
        sentence.startswith("About 51 requests run at once") and sentence.endswith("from batch 64 on the rest wait.")
        for sentence in sentences
    )


def test_requests_that_wait_with_some_draft_lengths_alone(scenario):
    """States for each draft token can leave room for fewer requests with long drafts than with short ones or none."""
    asked = scenario().model_copy(update={"curve": Curve(batches=(1, 64), num_draft_tokens=(1, 3))})
    rows = [(1, 0, 1), (1, 1, 1), (1, 3, 1), (64, 0, 64), (64, 1, 63.8), (64, 3, 50.2)]
    points = pd.DataFrame(rows, columns=["batch", "num_draft_tokens", "mean_running_batch"])
    (sentence,) = limits(asked, CurveResult((1, 64), points, pd.DataFrame(), {}, {}))
    assert sentence.startswith("At batch 64, memory and the engine's limits let only some requests run at once: ")
    assert sentence.endswith(": 50 with 3 draft tokens; the rest wait.")


def test_nothing_waits(curve, scenario):
    assert not any("wait" in sentence for sentence in curve_sentences(scenario(), curve([2] * 5)))


def test_what_the_inputs_leave_open_is_said(curve, scenario):
    assert "The drafter is short." in curve_sentences(scenario(), curve([2] * 5, notes=("The drafter is short.",)))


def test_the_answer_is_about_the_policy(curve, scenario):
    assert featured_draft_length(scenario("speculation.policy.num_draft_tokens=3"), curve([2] * 5)) == 3


def test_where_the_policy_is_none_it_says_so_and_answers_about_the_best(curve, scenario):
    off = scenario("speculation.policy.num_draft_tokens=0")
    assert featured_draft_length(off, curve([2] * 5)) == 3
    expected = "Speculation is off in this scenario; if it were on: With 3 draft tokens speculation pays"
    assert curve_sentences(off, curve([2] * 5))[0].startswith(expected)


def test_the_table_has_a_row_a_batch(curve, scenario):
    grid = curve_table(scenario(), curve([2, 2, 1.8, 1.4, 0.8])).shown()
    assert [column.header for column in grid.columns] == ["batch", "without", "3 draft tokens"]
    cells = [list(column.cells) for column in grid.columns]
    assert cells[0] == ["1", "4", "16", "64", "256"]
    assert cells[2][0].markup == "200 [green]2.00±0.01[/green]"
    assert cells[2][4].markup.startswith("80 [red]0.80±")
