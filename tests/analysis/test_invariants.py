"""A good run breaks nothing, and whatever is wrong with one is found, named and placed."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.analysis.invariants import violations
from specsim.records import RoundTally

POOL = 36

# table, column, place, value that is wrong, and what has to be said of it
BROKEN = [
    ("requests", "finish", 1, np.nan, "request 1: has nan as the time of finish"),
    ("requests", "arrival", 1, np.inf, "request 1: has inf as the time of arrival"),
    ("requests", "admitted", 2, 4.0, "request 2: is admitted at 4.0 s, sent at 5.0 s"),
    ("requests", "first_token", 2, 5.0, "request 2: has its first token at 5.0 s, not after it was admitted at 5.0 s"),
    ("requests", "finish", 2, 5.5, "request 2: finishes at 5.5 s, before its first token at 6.0 s"),
    ("requests", "output_tokens", 2, 0, "request 2: has 0 output tokens"),
    ("requests", "cached_tokens", 0, 4, "steps: all compute 60 prompt tokens, and requests brought 56"),
    ("requests", "preemptions", 0, -1, "request 0: lost its place -1 times"),
    ("requests", "output_tokens", 0, 8, "steps: all yield 11 output tokens, and requests asked for 12"),
    ("requests", "output_tokens", 0, 8, "request 0: has 8 output tokens, and its rounds 7"),
    ("requests", "first_token", 0, 2.0, "request 0: has 2.0 s as the time of its first token, and its rounds 1.0"),
    ("requests", "finish", 1, 5.5, "request 1: has 5.5 s as the time of its last token, and its rounds 5.0"),
    ("requests", "finish", 1, 5.5, "step 3: has 1 in service and 1 waiting, and 3 are sent and not finished"),
    ("requests", "finish", 1, 5.5, "Little's law: 2.0 requests were there on average, and 0.5 came per second"),
    ("requests", "arrival", 2, 2.5, "Little's law: "),
    ("requests", "admitted", 0, 0.5, "request 0: is admitted at 0.5 s, when no step begins"),
    ("requests", "first_token", 0, 0.5, "request 0: has its first token at 0.5 s, when no step ends"),
    ("requests", "finish", 0, 7.0, "request 0: finishes at 7.0 s, when no step ends"),
    ("steps", "end", 2, 3.0, "step 2: ends at 3.0 s, begins at 3.0 s"),
    ("steps", "end", 2, np.nan, "step 2: ends at nan s, begins at 3.0 s"),
    ("steps", "start", 3, 4.5, "step 3: begins at 4.5 s, before the last one ends at 5.0 s"),
    ("steps", "end", 1, 2.5, "step 1: lasts 1.5 s, and its parts 2.0 s"),
    ("steps", "kv_tokens", 1, POOL + 1, "step 1: holds 37 KV tokens, and the pool 36"),
    ("steps", "kv_tokens", 1, -1, "step 1: has -1 as kv_tokens"),
    ("steps", "num_waiting", 1, -1, "step 1: has -1 as num_waiting"),
    ("steps", "num_waiting", 1, 1, "step 1: has 2 in service and 1 waiting, and 2 are sent and not finished"),
    ("steps", "num_prompt_tokens", 0, 0, "step 0: computes no token"),
    ("steps", "num_decodes", 3, 2, "step 3: decodes 2 requests, and 1 are in service"),
    ("steps", "num_decodes", 1, 1, "step 1: has 1 decodes, and its rounds 2"),
    ("steps", "num_draft_tokens", 1, 3, "step 1: has 3 draft tokens, and its rounds 4"),
    ("steps", "num_emitted", 1, 3, "step 1: has 3 output tokens, and its rounds 4"),
    ("steps", "num_emitted", 1, 3, "steps: all yield 10 output tokens, and requests asked for 11"),
    ("rounds", "step", 0, 4, "round 0: is of step 4 and request 0, which do not exist"),
    ("rounds", "request", 7, -1, "round 7: is of step 3 and request -1, which do not exist"),
    ("rounds", "num_accepted", 3, 3, "round 3: accepts 3 of 2 positions with 2 tokens"),
    ("rounds", "num_draft", 3, 3, "round 3: accepts 0 of 3 positions with 2 tokens"),
    ("rounds", "num_emitted", 3, 2, "round 3: yields 2 tokens, and 0 passed before the last"),
    ("rounds", "num_emitted", 4, 1, "round 4: yields 1 tokens, and 1 passed before the last"),
    ("rounds", "num_emitted", 5, 0, "round 5: yields 0 tokens, and 2 passed before the last"),
    ("rounds", "from_prompt", 3, True, "step 1: has 2 decodes, and its rounds 1"),
    ("tally", "count", 0, 2, "steps: all have 5 decodes, and 6 were counted"),
    ("tally", "num_nodes", 0, 1, "steps: all have 10 draft tokens, and 9 were counted"),
    ("tally", "num_emitted", 0, 9, "steps: -3 tokens come from prompts, which were whole at most 3 times"),
    ("tally", "num_emitted", 0, 2, "steps: 4 tokens come from prompts, which were whole at most 3 times"),
    ("tally", "gap_count", 1, 3, "requests: received tokens 5 times after their first, and 4 gaps were counted"),
]  # fmt: skip


def tally_of(rounds):
    """An entry for each verify; chunks of output are 2, 2 and 1 s, and 2 and 2 s apart."""
    verified = ~rounds.from_prompt
    columns = (column[verified] for column in (rounds.num_draft, rounds.num_nodes, rounds.num_accepted))
    ones = np.ones(int(verified.sum()), np.int64)
    gap, gap_count = np.array([1.0, 2.0]), np.array([1, 4])
    return RoundTally(*columns, rounds.num_emitted[verified], ones > 0, ones, gap, ones[:2], gap_count, 9.0)


@pytest.fixture
def whole(run):
    """The run made by hand, with a tally."""
    return replace(run, tally=tally_of(run.rounds))


def test_a_good_run_breaks_nothing(whole):
    assert violations(whole, POOL) == []
    assert violations(whole) == []
    assert violations(replace(whole, rounds=None), POOL) == []


@pytest.mark.parametrize(("table", "column", "place", "value", "told"), BROKEN)
def test_what_is_wrong_is_found(whole, table, column, place, value, told):
    records = getattr(whole, table)
    values = getattr(records, column).copy()
    values[place] = value
    found = violations(replace(whole, **{table: replace(records, **{column: values})}), POOL)
    assert any(line.startswith(told) for line in found), found


def test_gaps_add_up_to_the_time_between_first_and_last_tokens(whole):
    found = violations(replace(whole, tally=replace(whole.tally, gap_sum=9.5)), POOL)
    assert found == ["requests: took 9.0 s from their first token to their last, and their gaps 9.5 s"]


def test_the_server_may_not_rest_while_somebody_is_there(whole):
    later = {name: getattr(whole.steps, name) + np.array([0, 0, 1, 1]) for name in ("start", "end")}
    found = violations(replace(whole, steps=replace(whole.steps, **later)), POOL)
    assert "step 2: begins after a rest, with 2 requests there" in found


def test_each_kind_of_mistake_is_told_once_with_how_many_there_are(whole):
    steps = replace(whole.steps, kv_tokens=whole.steps.kv_tokens + POOL + 1)
    assert violations(replace(whole, steps=steps), POOL) == [
        f"step 0: holds {POOL + 1} KV tokens, and the pool {POOL} (and 3 more)"
    ]


def test_the_time_of_day_does_not_matter(whole):
    """At the largest clock that a scenario may have, and steps of milliseconds: sums round, and are not far off."""
    shift, scale = 1e8, 2.0**-10
    times = {
        name: shift + scale * getattr(whole.requests, name) for name in ("arrival", "admitted", "first_token", "finish")
    }
    requests = replace(whole.requests, **times)
    spans = {name: shift + scale * getattr(whole.steps, name) for name in ("start", "end")}
    steps = replace(whole.steps, **spans, parts=scale * whole.steps.parts)
    tally = replace(whole.tally, gap_sum=scale * whole.tally.gap_sum)
    assert violations(replace(whole, requests=requests, steps=steps, tally=tally), POOL) == []
