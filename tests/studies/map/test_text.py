"""A map's sentences say what its cells bear out, whichever side of 1.0 they lie on."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from specsim.analysis.crossings import find_crossings
from specsim.inputs.read.scenario import load_scenario
from specsim.reporting.text import as_text
from specsim.studies.map.changes import Change, changes
from specsim.studies.map.grid import lengths_at
from specsim.studies.map.required import required
from specsim.studies.map.run import MapResult
from specsim.studies.map.text import headline, map_sentences, map_tables

BATCHES = (1, 32, 512)
TOKENS = 2.5
NOISE = np.array([0.99, 1.0, 1.01])


@pytest.fixture(scope="module")
def inputs():
    return load_scenario("llama3.1-8b-h100-eagle3")


def mapped(inputs, speedups, running=math.inf, **changes):
    """A map of three draft tokens, of speedups by batch at each context, where ``running`` tokens fit at once."""
    rows, crossings = [], {}
    for context, values in speedups.items():
        at_once = [batch for batch in BATCHES if batch * context <= running]
        noisy = np.outer(NOISE, values)
        if at_once:
            crossings[context, 3] = find_crossings(at_once, noisy[:, : len(at_once)])
        for i, batch in enumerate(BATCHES):
            shared = {"context": context, "batch": batch, "all_run": batch in at_once}
            limit = "" if batch in at_once else "KV cache"
            shared |= {"mean_running_batch": min(batch, running / context), "limit": limit}
            rows.append(shared | {"num_draft_tokens": 0, "tokens_per_s": 100.0, "speedup": 1.0})
            needed = required(np.full(3, TOKENS), noisy[:, i], 3, inputs.scenario.speculation)
            named = {"required_tokens": needed.tokens, "required_overlap": needed.overlap}
            ends = {f"{name}{end}": getattr(found, key) for name, found in named.items()
                    for end, key in (("", "estimate"), ("_low", "low"), ("_high", "high"))}  # fmt: skip
            own = {"num_draft_tokens": 3, "tokens_per_s": 100 * values[i], "speedup": values[i]}
            own |= {"speedup_low": 0.98 * values[i], "speedup_high": 1.02 * values[i]}
            own |= {"acceptance_length": TOKENS, "acceptance_length_low": TOKENS, "acceptance_length_high": TOKENS}
            rows.append(shared | own | ends)
    lengths = {context: lengths_at(inputs, context) for context in speedups}
    return MapResult(BATCHES, (3,), 3, lengths, pd.DataFrame(rows), crossings, **changes)


def text_of(inputs, result):
    return as_text(map_sentences(inputs, result), *(table.shown() for table in map_tables(inputs, result)))


@pytest.mark.parametrize(
    ("speedups", "said"),
    [
        (
            {256: (2, 1.8, 0.5), 1024: (2, 1.9, 1.5)},
            r"At 256 tokens of context speculation with 3 draft tokens pays up to batch \d+ \[\d+, \d+\]; "
            r"at 1,024 tokens it pays at every batch simulated, 1 to 512",
        ),
        (
            {256: (0.5, 0.4, 0.3), 512: (0.5, 1.8, 0.5), 1024: (0.6, 0.4, 0.3)},
            "At 256 tokens of context speculation with 3 draft tokens pays at no batch simulated, 1 to 512; at 1,024 "
            "tokens it pays at no batch simulated, 1 to 512",
        ),
        (
            {256: (2, 2, 2), 1024: (2, 2, 2)},
            "Speculation with 3 draft tokens pays at every batch simulated, 1 to 512, whatever the context, 256 to "
            "1,024 tokens",
        ),
        (
            {256: (2, 2, 2)},
            "At 256 tokens of context speculation with 3 draft tokens pays at every batch simulated, 1 to 512$",
        ),
        ({256: (1, 1, 1)}, "At 256 tokens of context .* is undecided at batch 1 to 512"),
    ],
)  # fmt: skip
def test_the_headline(inputs, speedups, said):

    assert re.match(said, headline(inputs.scenario, mapped(inputs, speedups)))


def test_what_it_takes_is_said_at_the_scenarios_own_load(inputs):
    """228 tokens in mid-decode and 32 in flight."""
    result = mapped(inputs, {256: (2, 1.25, 0.5), 1024: (2, 1.9, 1.5)})
    (found,) = [sentence for sentence in map_sentences(inputs, result) if "tokens per verify" in sentence]
    assert found.startswith("At batch 32 and 256 tokens of context speculation with 3 draft tokens pays from 2.00 [")
    assert "(α ≥ 0.54)" in found  # 1 + .54 + .54² + .54³ = 2.00
    assert found.endswith("it gets 2.50.")


def test_where_no_acceptance_would_do_it_is_said(inputs):
    result = mapped(inputs, {256: (2, 0.5, 0.4)})
    (found,) = [sentence for sentence in map_sentences(inputs, result) if "tokens per verify" in sentence]
    assert "cannot pay: it would take 5.00 tokens per verify, and there are 4 at most" in found
    text = text_of(inputs, result)
    assert "5.00: never" in text
    assert "none suffices" in text


def test_batches_that_do_not_run_at_once_are_said_and_leave_no_figures(inputs):
    result = mapped(inputs, {256: (2, 1.8, 1.7), 1024: (2, 1.8, 3.33)}, running=200_000)
    sentences = map_sentences(inputs, result)
    assert sentences[0].endswith("; at 1,024 tokens it pays at every batch simulated, 1 to 32.")
    (found,) = [sentence for sentence in sentences if "some requests wait" in sentence]
    assert "for the limit in brackets: 512 at 1,024 tokens (KV cache)." in found
    text = text_of(inputs, result)
    assert "195 run" in text
    assert "3.33" not in text


def test_a_context_at_which_no_batch_runs_is_left_out_of_the_answer(inputs):
    result = mapped(inputs, {256: (2, 1.8, 1.7), 512: (2, 1.8, 1.7)}, running=300)
    assert result.decided == (256,)
    assert headline(inputs.scenario, result).startswith("At 256 tokens of context")
    assert "1 at 512 tokens" in " ".join(map_sentences(inputs, result))
    text_of(inputs, result)


def test_best_lengths_of_both_ends(inputs):
    result = mapped(inputs, {256: (2, 1.8, 0.5), 1024: (2, 1.9, 1.5)})
    assert map_sentences(inputs, result)[1] == (
        "Best number of draft tokens by batch: at 256 tokens 3 from 1 to 32; none at 512, and at 1,024 tokens 3 from 1 "
        "to 512."
    )


def test_what_changes_between_contexts_at_the_same_batch_is_said(inputs):
    """It pays everywhere at 1,024 tokens and costs everywhere at 256: no break-even batch shows where that changes."""
    result = mapped(inputs, {256: (0.9, 0.8, 0.7), 1024: (1.2, 1.3, 1.4)})
    assert list(changes(result)) == [Change(batch, 256, 1024, True) for batch in BATCHES]
    batches = f"{BATCHES[0]}, {BATCHES[1]} and {BATCHES[2]}"
    said = f"Between 256 and 1,024 tokens of context it starts paying at batch {batches}."
    assert said in map_sentences(inputs, result)


def test_what_break_evens_show_is_not_said_again(inputs):
    result = mapped(inputs, {256: (1.5, 0.9, 0.8), 1024: (1.6, 1.2, 0.9)})
    assert list(changes(result)) == []
