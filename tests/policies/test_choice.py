"""What policies decide, against definitions and slow loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from specsim.inputs.models.policy import Policy
from specsim.policies.choice import choose_by_goodput, choose_by_table, next_length, remember
from specsim.policies.form import INITIAL_WEIGHT, TRIED, first_memory, policy_form

MAX_NUM_SEQS = 64


def stated(**fields):
    return TypeAdapter(Policy).validate_python(fields)


def chosen(policy, *batches, context=100):
    """What a table says of one batch after the other."""
    form, memory = policy_form(policy, MAX_NUM_SEQS), first_memory(policy)
    return [choose_by_table(form, memory, batch, batch * context) for batch in batches]


def test_speculation_is_off_above_a_batch():
    assert chosen(stated(kind="off_above", num_draft_tokens=4, batch=10), 1, 10, 11, 10) == [4, 4, 0, 4]


def test_with_hysteresis_it_comes_back_later():
    policy = stated(kind="off_above", num_draft_tokens=4, batch=10, resume_at=6)
    assert chosen(policy, 10, 11, 10, 7, 6, 10, 11) == [4, 0, 0, 0, 4, 4, 0]


TABLE = [
    {"batch": [1, 8], "context": [0, 1000], "num_draft_tokens": 5},
    {"batch": [9, None], "context": [0, 1000], "num_draft_tokens": 2},
    {"batch": [1, 32], "context": [1000, None], "num_draft_tokens": 4},
    {"batch": [33, None], "context": [1000, None], "num_draft_tokens": 0},
]


@given(st.integers(0, MAX_NUM_SEQS), st.integers(1, 5000))
def test_a_schedule_is_looked_up_by_batch_and_mean_context(batch, context):
    (found,) = chosen(stated(kind="schedule", table=TABLE), batch, context=context)
    for row in TABLE if batch else ():
        (first, last), (begin, end) = row["batch"], row["context"]
        if first <= batch <= (last or batch) and begin <= context < (end or context + 1):
            assert found == row["num_draft_tokens"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 8], [10, None]], "batch: no range covers 9 to 9"),
        ([[1, 8], [8, None]], r"batch: \[1, 8\] overlaps the range from 8"),
        ([[2, None]], "batch: the first range begins at 2; write 1"),
        ([[1, 8]], "batch: the last range ends at 8; write null"),
        ([[1, None], [9, None]], r"batch: \[1, null\] overlaps the range from 9"),
        ([[1, 8], [9, 7], [8, None]], "overlaps"),
    ],
)
def test_a_schedule_says_one_thing_of_every_batch(rows, message):
    with pytest.raises(ValidationError, match=message):
        stated(kind="schedule", table=[{"batch": batch, "num_draft_tokens": 1} for batch in rows])


def test_a_schedule_says_one_thing_of_every_context():
    rows = [{"batch": [1, None], "context": c, "num_draft_tokens": 1} for c in ([0, 100], [200, None])]
    with pytest.raises(ValidationError, match="context: no range covers 100 to 199"):
        stated(kind="schedule", table=rows)


rates = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6)


@pytest.mark.slow
@given(rates, st.data())
def test_goodput_takes_the_draft_length_with_the_most_expected_tokens_a_second(conditional, data):
    longest = len(conditional)
    policy = stated(kind="goodput", num_draft_tokens=longest)
    seconds = np.array(data.draw(st.lists(st.floats(0.5, 5), min_size=longest + 1, max_size=longest + 1)))
    memory = first_memory(policy)
    memory[TRIED : TRIED + longest], memory[TRIED + longest :] = 10.0, 10 * np.array(conditional)
    found = choose_by_goodput(policy_form(policy, MAX_NUM_SEQS), memory, seconds, np.ones(len(seconds) - 1))
    goodput = [(1 + np.cumprod(conditional[:k]).sum()) / seconds[k] for k in range(longest + 1)]
    assert goodput[found] >= max(goodput) * (1 - 1e-12)


def test_what_was_seen_counts_half_after_its_half_life():
    policy = stated(kind="goodput", num_draft_tokens=1, half_life=100, initial_acceptance=0.5)
    form, memory = policy_form(policy, MAX_NUM_SEQS), first_memory(policy)
    memory[TRIED], memory[TRIED + 1] = 1e6, 1e6  # all accepted so far, so often that what follows is little beside it
    before = memory.copy()
    for _ in range(100):
        remember(form, memory, 1, 0)
    assert memory[TRIED + 1] == pytest.approx(before[TRIED + 1] / 2, rel=1e-4)


def test_a_position_is_judged_if_all_before_it_were_accepted():
    policy = stated(kind="goodput", num_draft_tokens=4, half_life=10**9, initial_acceptance=0.5)
    form, memory = policy_form(policy, MAX_NUM_SEQS), first_memory(policy)
    for num_draft, accepted in [(4, 2), (2, 2), (1, 0), (3, 3)]:
        remember(form, memory, num_draft, accepted)
    tried, passed = memory[TRIED : TRIED + 4] - INITIAL_WEIGHT, memory[TRIED + 4 :] - INITIAL_WEIGHT / 2
    np.testing.assert_allclose(tried, [4, 3, 2, 0], atol=1e-5)
    np.testing.assert_allclose(passed, [3, 3, 1, 0], atol=1e-5)


@given(st.integers(1, 8), st.data())
def test_a_requests_own_length_grows_by_two_or_shrinks_by_one(longest, data):
    length = data.draw(st.integers(1, longest))
    accepted = data.draw(st.integers(0, length))
    assert next_length(length, accepted, longest) == (
        min(length + 2, longest) if accepted == length else max(length - 1, 1)
    )
