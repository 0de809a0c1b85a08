"""The passes that drafters run, worked out by hand: who takes part, with how many tokens and how much context."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.drafting.drafters import catch_up_tokens, draft_passes
from specsim.drafting.passes import PromptChunks
from specsim.drafting.shape import chain, tree
from specsim.forward import Pass, attended
from specsim.inputs.models.drafters import (
    BlockParallelHead,
    DraftModel,
    EagleHead,
    MedusaHeads,
    MTPLayers,
    SequentialCorrection,
)

DRAFT_MODEL = DraftModel(kind="draft_model", model="x")
EAGLE = EagleHead(kind="eagle", model="x", generation="eagle")
EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")
MTP = MTPLayers(kind="mtp")
MEDUSA = MedusaHeads(kind="medusa", num_heads=4)
BLOCK = BlockParallelHead(kind="block_parallel", model="x", block_size=8, fused_layers=5)
DRAFTERS = [DRAFT_MODEL, EAGLE, EAGLE3, MTP]  # those that draft a token a pass


def ints(*values):
    return np.array(values, dtype=np.int64)


def passes(drafter, num_draft, catch_up, context, **prompts):
    rows = ints(*num_draft), ints(*catch_up), ints(*context)
    return list(draft_passes(drafter, chain(8), *rows, PromptChunks(**prompts)))


def test_what_a_causal_mask_lets_queries_attend_to():
    # the last 3 of 10 tokens see 8, 9 and 10 of them
    assert attended(3, 10) == 8 + 9 + 10
    assert attended(10, 10) == 55
    assert attended(1, 7) == 7


def test_a_draft_model_catches_up_and_then_adds_a_token_per_pass():
    assert passes(DRAFT_MODEL, (3, 3), (1, 2), (10, 20)) == [
        # one token sees 10 entries, two tokens see 19 and 20
        Pass(tokens=3, logit_rows=2, sequences=2, context_tokens=30, query_context=10 + 19 + 20),
        Pass(tokens=2, logit_rows=2, sequences=2, context_tokens=11 + 21, query_context=11 + 21),
        Pass(tokens=2, logit_rows=2, sequences=2, context_tokens=12 + 22, query_context=12 + 22),
    ]


@pytest.mark.parametrize(("drafter", "fused"), [(EAGLE, 0), (MTP, 0), (EAGLE3, 5)])
def test_an_eagle_head_takes_in_the_targets_states_on_its_first_pass_only(drafter, fused):
    assert passes(drafter, (2, 2), (4, 1), (10, 20)) == [
        Pass(5, 2, 2, 30, 7 + 8 + 9 + 10 + 20, fused_tokens=fused),
        Pass(2, 2, 2, 11 + 21, 11 + 21, fused_tokens=0),
    ]


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_of_ragged_drafts_the_longest_decides_and_the_batch_shrinks(drafter):
    ran = passes(drafter, (1, 3, 0, 2), (1, 1, 1, 1), (10, 20, 30, 40))
    assert [work.sequences for work in ran] == [3, 2, 1]
    assert [work.context_tokens for work in ran] == [10 + 20 + 40, 21 + 41, 22]


@pytest.mark.parametrize("drafter", [*DRAFTERS, MEDUSA, BLOCK])
def test_nothing_runs_where_nobody_wants_a_draft(drafter):
    assert passes(drafter, (0, 0), (1, 1), (10, 20)) == []
    assert passes(drafter, (), (), ()) == []


def test_prompt_chunks_join_the_first_pass_without_logits():
    chunk = {"tokens": 64, "sequences": 1, "context_tokens": 100, "query_context": attended(64, 100)}
    assert passes(EAGLE3, (2,), (1,), (10,), **chunk) == [
        Pass(
            65,
            1,
            2,
            110,
            10 + attended(64, 100),
            fused_tokens=65,
            prompt_query_context=attended(64, 100),
            prompt_tokens=64,
        ),
        Pass(1, 1, 1, 11, 11),
    ]
    pairs = attended(64, 100)
    assert passes(EAGLE3, (), (), (), **chunk) == [
        Pass(64, 0, 1, 100, pairs, fused_tokens=64, prompt_query_context=pairs, prompt_tokens=64)
    ]


def test_a_draft_model_has_computed_all_but_what_the_verifier_added():
    # only where every draft survived had the last of them never been an input
    every_draft_survived = np.array([False, False, True, False])
    assert catch_up_tokens(DRAFT_MODEL, ints(0, 2, 3, 0), every_draft_survived).tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize("drafter", [EAGLE, EAGLE3, MTP, BLOCK])
def test_what_reads_the_targets_states_takes_in_the_whole_round(drafter):
    every_draft_survived = np.array([False, False, True, False])
    assert catch_up_tokens(drafter, ints(0, 2, 3, 0), every_draft_survived).tolist() == [1, 3, 4, 1]


@pytest.mark.parametrize(("drafter", "more"), [(EAGLE, 0), (EAGLE3, 0), (MTP, 0), (BLOCK, 0), (DRAFT_MODEL, 1)])
def test_engines_that_hand_the_whole_round_on_have_its_rejected_drafts_computed_too(drafter, more):
    """A draft model's tokens are not the round's shifted by one, so what the verifier added comes on top."""
    every_draft_survived = np.array([False, False, True, False])
    found = catch_up_tokens(drafter, ints(0, 2, 3, 0), every_draft_survived, ints(4, 4, 4, 1))
    assert found.tolist() == [4 + more, 4 + more, 4 + more, 1 + more]


def test_medusa_heads_read_one_state_whatever_the_engine_hands_on():
    assert catch_up_tokens(MEDUSA, ints(0, 3), np.array([False, True]), ints(4, 4)).tolist() == [1, 1]


TREE = tree([[3], [2, 1, 0], [1, 1, 2]])


@pytest.mark.parametrize(("drafter", "fused"), [(DRAFT_MODEL, 0), (EAGLE, 0), (MTP, 0), (EAGLE3, 3)])
def test_a_tree_runs_a_pass_for_each_level_over_the_nodes_that_have_children(drafter, fused):
    rows = ints(3, 2), ints(1, 2), ints(10, 20)
    assert list(draft_passes(drafter, TREE, *rows)) == [
        # all three candidates come from the logits of the newest token
        Pass(tokens=3, logit_rows=2, sequences=2, context_tokens=30, query_context=10 + 19 + 20, fused_tokens=fused),
        # two of them have children; each sees the context and itself, and the entries of both are read
        Pass(tokens=4, logit_rows=4, sequences=2, context_tokens=12 + 22, query_context=2 * 11 + 2 * 21),
        # of the second level all three, for the one request that wants a third; each sees one ancestor and itself
        Pass(tokens=3, logit_rows=3, sequences=1, context_tokens=10 + 2 + 3, query_context=3 * 12),
    ]


def test_the_candidates_of_a_medusa_tree_come_from_one_pass():
    assert list(draft_passes(MEDUSA, TREE, ints(3, 2), ints(1, 1), ints(10, 20))) == [Pass(2, 2, 2, 0, 0)]


def test_medusa_heads_run_once_without_a_cache_and_take_in_no_prompt():
    chunk = {"tokens": 64, "sequences": 1, "context_tokens": 100, "query_context": attended(64, 100)}
    assert passes(MEDUSA, (3, 0, 1), (4, 1, 2), (10, 20, 30), **chunk) == [Pass(2, 2, 2, 0, 0)]
    assert passes(MEDUSA, (), (), (), **chunk) == []
    assert catch_up_tokens(MEDUSA, ints(0, 3), np.array([False, True])).tolist() == [1, 1]


def test_a_block_is_computed_in_one_pass_and_sees_itself_whole():
    """Two requests draft 3 and 1 of a block of 8, which sees 10 + 8 and 20 + 8 tokens; 4 + 2 states are fused."""
    assert passes(BLOCK, (3, 1, 0), (4, 2, 1), (10, 20, 30)) == [
        Pass(tokens=16, logit_rows=4, sequences=2, context_tokens=46, query_context=8 * 46, fused_tokens=6)
    ]


def test_positions_of_a_block_are_corrected_one_after_another_for_those_that_want_them():
    head = BLOCK.model_copy(update={"sequential_correction": SequentialCorrection(rank=256)})
    block, *corrections = passes(head, (3, 1, 0), (4, 2, 1), (10, 20, 30))
    assert [block] == passes(BLOCK, (3, 1, 0), (4, 2, 1), (10, 20, 30))
    assert corrections == [Pass(0, 0, rows, 0, 0, corrected_rows=rows) for rows in (2, 1, 1)]
    assert passes(head, (0, 0), (1, 1), (10, 20)) == []


def test_prompts_only_become_keys_and_values_of_a_block_parallel_head():
    chunk = {"tokens": 64, "sequences": 1, "context_tokens": 100, "query_context": attended(64, 100)}
    assert passes(BLOCK, (), (), (), **chunk) == [Pass(0, 0, 0, 0, 0, fused_tokens=64)]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(6, 1000)), max_size=6),
    st.sampled_from(DRAFTERS),
)
def test_the_passes_are_those_of_a_loop_over_requests(requests, drafter):
    num_draft, catch_up, context = zip(*requests, strict=True) if requests else ((), (), ())
    ran = passes(drafter, num_draft, catch_up, context)
    assert len(ran) == max(num_draft, default=0)
    for position, work in enumerate(ran):
        drafting = [(c if position == 0 else 1, n + position) for k, c, n in requests if k > position]
        tokens = sum(queries for queries, _ in drafting)
        assert work == Pass(
            tokens=tokens,
            logit_rows=len(drafting),
            sequences=len(drafting),
            context_tokens=sum(keys for _, keys in drafting),
            query_context=sum(attended(queries, keys) for queries, keys in drafting),
            fused_tokens=tokens if drafter == EAGLE3 and position == 0 else 0,
        )
