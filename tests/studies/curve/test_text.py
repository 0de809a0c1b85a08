"""The answer in words: what each shape of curve says, and what it must not say."""

import math
from dataclasses import replace

import pytest

from specsim.analysis.crossings import find_crossings
from specsim.analysis.intervals import t_quantile
from specsim.analysis.model_error import Scale
from specsim.studies.curve.grid_runs import crossings_of
from specsim.studies.curve.text import curve_sentences, curve_table, featured_draft_length, headline, limits
from specsim.studies.curve.waiting import Binding
from specsim.studies.shared.model_error import ModelError


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


def test_one_crossing_with_the_models_error(curve, scenario):
    """An error of 10 % moves the ends to where the line is at ln 0.9 and ln 1.1: 147 · 4^(± 0.0953 / ln 1.75)."""
    error = ModelError("speedup", Scale((math.log(1.1) / t_quantile(0.9, 5)) ** 2, 5, 4), ("general", "dense", "BF16"))
    result = replace(curve([2, 2, 1.8, 1.4, 0.8]), model_error=error)
    first, *others = curve_sentences(scenario(), result)
    at = 64 * 4 ** (math.log(1.4) / math.log(1.75))
    low, high = (at * 4 ** (sign * math.log(1.1) / math.log(1.75)) for sign in (-1, 1))
    model = f"90 % model {math.floor(low)} to {math.ceil(high)}"
    assert f"pays up to batch 147 (95 % luck 146–149, {model}); beyond" in first
    assert (
        "Model: nine in ten measured speedups lie between 9 % below and 10 % above those predicted (4 sw" in others[1]
    )
    assert "model" not in headline(scenario(), result, model=False)


def test_a_models_interval_that_runs_out_of_the_batches_says_so(curve, scenario):
    error = ModelError("speedup", Scale(0.04, 5, 4), ("general", "dense", "BF16"))
    first = curve_sentences(scenario(), replace(curve([2, 2, 1.8, 1.4, 0.8]), model_error=error))[0]
    assert "to beyond 256)" in first


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


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            Binding("max_num_seqs", "speculation_max_num_seqs", 48, (64, 256), (3,), (48.0, 48.0)),
            "From batch 64 on, 48 requests run at once with drafts and the rest wait: "
            "the engine's 48 places are taken (speculation_max_num_seqs).",
        ),
        (
            Binding("KV cache", "KV cache", 440112, (256,), (0, 3), (111.4, 116.6)),
            "At batch 256, 111 to 117 requests run at once and the rest wait: the KV cache of 440,112 tokens is full.",
        ),
        (
            Binding("max_num_batched_tokens", "max_num_batched_tokens", 8192, (16, 64), (0,), (13.0, 54.0)),
            "At batch 16 and 64, 13 to 54 requests run at once without drafts and the rest wait: "
            "the engine's 8,192 tokens of a step are taken (max_num_batched_tokens).",
        ),
    ],
)
def test_the_limit_that_binds_is_named_with_its_batches_and_arms(curve, scenario, found, said):
    (sentence,) = limits(scenario(), replace(curve([2] * 5), waiting=(found,)))
    assert sentence == said


def test_the_verdict_is_about_batches_that_run(curve, scenario):
    """From 64 on only 50 run: what is lost there is the limit's, and neither costs nor a range are said of it."""
    result = curve([2, 1.9, 1.8, 0.7, 0.4], running=[1, 4, 16, 50, 51])
    assert result.running == [1, 4, 16]
    result = replace(result, crossings={3: find_crossings((1, 4, 16), [[2, 1.9, 1.8], [2.01, 1.91, 1.81]])})
    assert curve_sentences(scenario(), result)[0].startswith(
        "With 3 draft tokens speculation pays at every batch simulated, 1 to 16 (larger ones do not run at once): "
        "1.80× to 2.00×."
    )
    assert "No break-even is sought where not all run at once." in limits(scenario(), result)


def test_where_no_batch_runs_nothing_is_judged(curve, scenario):
    result = curve([2] * 5, running=[0.5, 2, 8, 32, 64])
    result = replace(result, crossings={3: crossings_of(3, {})})
    assert curve_sentences(scenario(), result)[0].startswith(
        "With 3 draft tokens speculation is not judged: at every batch simulated some requests wait; write smaller "
        "ones in curve.batches."
    )


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
