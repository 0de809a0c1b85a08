"""A decision in words: what is set, what it gains, what one length loses, and what engines are told."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from specsim.analysis.intervals import t_quantile
from specsim.analysis.model_error import Scale
from specsim.inputs.read.scenario import load_scenario
from specsim.studies.curve.run import CurveResult
from specsim.studies.decide.answer import fixed_table, schedule_table
from specsim.studies.decide.run import decision_of
from specsim.studies.decide.schedules import schedule_of
from specsim.studies.decide.text import decision_sentences, engine_settings, settings_text
from specsim.studies.shared.model_error import ModelError
from specsim.studies.shared.points import Point

LUCK = np.array([0.9, 1.0, 1.1])
FALLING = {1: {0: 100, 1: 150, 3: 200}, 8: {0: 400, 1: 500, 3: 480}, 64: {0: 800, 1: 700, 3: 600}}
ALWAYS = {1: {0: 100, 1: 150, 3: 200}, 8: {0: 400, 1: 500, 3: 600}}
NEVER = {1: {0: 100, 1: 90, 3: 80}, 8: {0: 400, 1: 300, 3: 200}}


def decided(table):
    """A schedule that does as well as the length that it drafts."""
    found = {Point(b, k): mean * LUCK for b, lengths in table.items() for k, mean in lengths.items()}
    rows = [{"batch": b, "mean_running_batch": b, "limit": "", "num_draft_tokens": k} for b, k in found]
    curve = CurveResult(tuple(table), pd.DataFrame(rows), pd.DataFrame(), {}, {}, throughputs=found)
    schedule = schedule_of(found, curve.batches, (1, 3))
    under = {Point(b, schedule.num_draft_tokens): max(lengths.values()) * LUCK for b, lengths in table.items()}
    return replace(decision_of(curve, schedule, under), warnings=("Mind the gap.",))


@pytest.fixture(scope="module")
def inputs():
    return load_scenario("llama3.1-8b-h100-eagle3")


def test_the_answer(inputs):
    """(2 · 1.25 · 1)^(1/3) = 1.357; 3 always is at (480/500 · 600/800)^(1/3) = 0.896 of it and 0.75 at 64.

    1 meets none at 8 · 8^(ln 1.25 / (ln 1.25 + ln(8/7))) = 29.4.
    """
    first, second, *others = decision_sentences(inputs, decided(FALLING))
    assert first == (
        "Set 3 draft tokens up to batch 6, 1 up to 29, none beyond: +35.7 % [+35.7, +35.7] output tokens/s vs no "
        "speculation, averaged over batches 1 to 64."
    )
    assert second == (
        "The best single setting, 3 draft tokens, loses 10.4 % [10.4, 10.4] vs the schedule on average, and at most "
        "25.0 % [25.0, 25.0] (batch 64)."
    )
    assert "Warning: Mind the gap." in others
    assert not any("The last range" in sentence for sentence in others)


def test_the_models_error_is_said_and_where_a_gain_lies_within_it(inputs):
    """The gain is 2 at 1, 1.25 at 8, within an error of 30 %."""
    decision = decided(FALLING)
    error = ModelError("speedup", Scale((math.log(1.3) / t_quantile(0.9, 5)) ** 2, 5, 4), ("general", "dense", "BF16"))
    decision = replace(decision, curve=replace(decision.curve, model_error=error), step_error=math.log(1.05))
    first, *others = decision_sentences(inputs, decision)
    assert "+35.7 % [+35.7, +35.7] (90 % model +4 % to +76 %) output tokens/s" in first
    assert "Lengths that differ by less than the model's error (±5 % for one token, more for several)" in others[2]
    within = (
        "The gain over no speculation lies within the model's error at batch 8: measure there before you rely on it."
    )
    assert within in others


def test_one_length_is_enough(inputs):
    sentences = decision_sentences(inputs, decided(ALWAYS))
    assert sentences[0].startswith("Set 3 draft tokens at every batch: ")
    assert "One length is enough: no table of lengths by batch gains more than the noise." in sentences
    beyond = "The last range also covers batches 9 to 1024, which the engine allows and the simulation did not reach."
    assert beyond in sentences


def test_off(inputs):
    off = decided(NEVER)
    assert decision_sentences(inputs, off)[0] == (
        "Leave speculation off: no draft length clearly pays at any batch simulated, 1 to 8."
    )
    assert engine_settings(inputs, off) == {}
    assert settings_text(inputs, off, {}, named=False) == ""


def test_what_is_pasted(inputs):
    """SGLang gets the one length with least regret, 3, and counts 4."""
    decision = decided(FALLING)
    settings = engine_settings(inputs, decision)
    text = settings_text(inputs, decision, settings, named=False)
    assert '"num_speculative_tokens_per_batch_size": {"1-6": 3, "7-29": 1, "30-1024": 0}' in settings["vLLM"].text
    assert settings["TensorRT-LLM"].text.endswith("draft_len_schedule:\n    6: 3\n    29: 1")
    assert "--speculative-num-draft-tokens 4" in settings["SGLang"].text
    assert all(setting.text in text for setting in settings.values())
    assert "# vLLM: +35.7 % [+35.7, +35.7] vs no speculation, +11.6 % [+11.6, +11.6] vs always 3" in text
    assert "+21.6 % [+21.6, +21.6] vs no speculation, 10.4 % [10.4, 10.4] lost vs a schedule" in text
    assert "eagle3-llama-3.1-8b is a placeholder" in text


def test_the_checkpoint_that_was_named(inputs):
    decision = decided(FALLING)
    settings = engine_settings(inputs, decision, "org/head")
    assert '"model": "org/head"' in settings["vLLM"].text
    assert "--checkpoint" not in settings_text(inputs, decision, settings, named=True)


def test_sglang_without_speculation(inputs):
    """One length for all loses more than none: 1.5 · 0.4 · 0.4 and 2 · 0.3 · 0.3 over three batches."""
    table = {1: {0: 100, 1: 150, 3: 200}, 64: {0: 800, 1: 320, 3: 240}, 128: {0: 800, 1: 320, 3: 240}}
    assert "best single setting is no speculation" in engine_settings(inputs, decided(table))["SGLang"].instead


def test_tables(inputs):
    decision = decided(FALLING)
    cells = [list(column.cells) for column in schedule_table(decision).shown().columns]
    assert cells[:3] == [["1", "8", "64"], ["3", "1", "0"], ["200", "500", "800"]]
    assert list(fixed_table(decision).shown().columns[0].cells) == ["none", "1", "3"]
