"""What fits a step, against a slow loop that hands out the budget token by token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.engine.kv_cache import KVPool
from specsim.engine.scheduler import fit_chunks, fit_decodes

drafts = st.lists(st.integers(0, 5), max_size=12)
budgets = st.integers(0, 60)


def decodes_by_loop(num_draft, budget):
    """Pairs (request, drafts): each request in turn takes a token of the budget for itself and one for each draft."""
    scheduled = []
    for request, wanted in enumerate(num_draft):
        taken = 0
        for _ in range(1 + wanted):
            if budget > 0:
                budget, taken = budget - 1, taken + 1
        if taken:
            scheduled.append((request, taken - 1))
    return scheduled


def chunks_by_loop(remaining, budget):
    chunks = []
    for tokens in remaining:
        taken = 0
        while budget > 0 and taken < tokens:
            budget, taken = budget - 1, taken + 1
        if taken:
            chunks.append(taken)
    return chunks


@given(drafts, budgets)
def test_decodes_are_those_of_the_loop(num_draft, budget):
    requests = np.arange(len(num_draft))
    fitted = fit_decodes(requests, np.array(num_draft, dtype=np.int64), budget)
    assert list(zip(*(column.tolist() for column in fitted), strict=True)) == decodes_by_loop(num_draft, budget)


@given(drafts, budgets)
def test_decodes_take_the_whole_budget_or_all_they_want(num_draft, budget):
    fitted = fit_decodes(np.arange(len(num_draft)), np.array(num_draft, dtype=np.int64), budget)
    assert fitted.num_tokens == min(budget, len(num_draft) + sum(num_draft))


@given(st.lists(st.integers(1, 30), max_size=10), budgets)
def test_chunks_are_those_of_the_loop(remaining, budget):
    assert fit_chunks(remaining, budget) == chunks_by_loop(remaining, budget)


@pytest.mark.parametrize(
    ("budget", "scheduled"),
    [(8, [(7, 3), (9, 3)]), (7, [(7, 3), (9, 2)]), (5, [(7, 3), (9, 0)]), (4, [(7, 3)]), (1, [(7, 0)]), (0, [])],
)
def test_drafts_are_cut_before_a_request_is_left_out(budget, scheduled):
    fitted = fit_decodes(np.array([7, 9]), np.array([3, 3]), budget)
    assert list(zip(*(column.tolist() for column in fitted), strict=True)) == scheduled


@given(st.lists(st.integers(0, 20), max_size=20), st.integers(0, 60))
def test_the_pool_never_holds_more_than_its_capacity_and_ends_empty(sizes, capacity):
    pool, held = KVPool(capacity), []
    for tokens in sizes:
        fits = sum(held) + tokens <= capacity
        assert pool.reserve(tokens) == fits
        held += [tokens] * fits
        assert pool.reserved == sum(held)
    for tokens in held:
        pool.release(tokens)
    assert pool.reserved == 0


def test_the_pool_refuses_to_take_back_more_than_it_gave():
    pool = KVPool(10)
    pool.reserve(4)
    with pytest.raises(ValueError, match="5 KV tokens released, but only 4 are reserved"):
        pool.release(5)
