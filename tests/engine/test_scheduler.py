"""What fits a step, against a slow loop that hands out the budget token by token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.drafting.shape import chain, tree
from specsim.engine.kv_cache import KVPool
from specsim.engine.scheduler import fit_chunks, fit_decodes

TREE = tree([[3], [2, 1, 0], [1, 1, 2], [1, 0, 1, 1], [2, 0, 0]])
drafts = st.lists(st.integers(0, 5), max_size=12)
budgets = st.integers(0, 60)


def decodes_by_loop(num_draft, budget, num_nodes=range(6)):
    """Triples (request, levels, tokens): each request in turn takes a token of the budget, then whole levels."""
    scheduled = []
    for request, wanted in enumerate(num_draft):
        if budget <= 0:
            break
        levels = 0
        while levels < wanted and 1 + num_nodes[levels + 1] <= budget:
            levels += 1
        budget -= 1 + num_nodes[levels]
        scheduled.append((request, levels, num_nodes[levels]))
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


def fitted(requests, num_draft, budget, shape):
    return fit_decodes(np.array(requests, dtype=np.int64), np.array(num_draft, dtype=np.int64), budget, shape.num_nodes)


def rows(decodes):
    return list(zip(*(column.tolist() for column in decodes[:3]), strict=True))


@pytest.mark.parametrize("shape", [chain(5), TREE], ids=["chain", "tree"])
@given(drafts, budgets)
def test_decodes_are_those_of_the_loop(shape, num_draft, budget):
    found = fitted(range(len(num_draft)), num_draft, budget, shape)
    assert rows(found) == decodes_by_loop(num_draft, budget, shape.num_nodes.tolist())
    assert found.num_tokens == sum(1 + tokens for _, _, tokens in rows(found)) <= budget


@given(drafts, budgets)
def test_decodes_take_the_whole_budget_or_all_they_want(num_draft, budget):
    found = fitted(range(len(num_draft)), num_draft, budget, chain(5))
    assert found.num_tokens == min(budget, len(num_draft) + sum(num_draft))


@given(st.lists(st.integers(1, 30), max_size=10), budgets)
def test_chunks_are_those_of_the_loop(remaining, budget):
    assert fit_chunks(remaining, budget) == chunks_by_loop(remaining, budget)


@pytest.mark.parametrize(
    ("budget", "scheduled"),
    [(8, [(7, 3), (9, 3)]), (7, [(7, 3), (9, 2)]), (5, [(7, 3), (9, 0)]), (4, [(7, 3)]), (1, [(7, 0)]), (0, [])],
)
def test_drafts_are_cut_before_a_request_is_left_out(budget, scheduled):
    assert [row[:2] for row in rows(fitted([7, 9], [3, 3], budget, chain(3)))] == scheduled


@pytest.mark.parametrize(
    ("budget", "scheduled"),
    [
        (14, [(7, 2, 6), (9, 2, 6)]),
        (13, [(7, 2, 6), (9, 1, 2)]),  # 6 tokens are left for the second: its root and a level of two, not two levels
        (9, [(7, 2, 6), (9, 0, 0)]),
        (6, [(7, 1, 2), (9, 1, 2)]),  # what a tree that is cut leaves over goes to the next
        (4, [(7, 1, 2), (9, 0, 0)]),
    ],
)
def test_trees_are_cut_by_whole_levels(budget, scheduled):
    assert rows(fitted([7, 9], [2, 2], budget, tree([[2], [2, 2]]))) == scheduled


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
