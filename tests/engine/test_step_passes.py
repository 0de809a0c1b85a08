"""The forward passes that the engine has priced are those that its requests needed."""

from dataclasses import replace

import numpy as np
import pytest

from specsim.analysis.acceptance import acceptance
from specsim.engine.run import serve_closed_loop
from specsim.forward import Pass, attended
from specsim.inputs.models.drafters import DraftModel, EagleHead

DRAFT_MODEL = DraftModel(kind="draft_model", model="x")
EAGLE3 = EagleHead(kind="eagle", model="x", generation="eagle3")


def test_one_request_from_prompt_to_end_by_hand(config, lengths):
    """A prompt of 10 in chunks of at most 8, then 4 output tokens with one draft, always accepted."""
    how = config(conditional=(1.0,), max_num_batched_tokens=8)
    serve_closed_loop(how, lengths((10, 4)), 1)
    chunk = Pass(8, 0, 1, context_tokens=8, query_context=36, prompt_query_context=36, prompt_tokens=8)
    end_of_prompt = Pass(2, 1, 1, 10, query_context=9 + 10, prompt_query_context=9 + 10, prompt_tokens=2)
    assert how.cost.asked == [
        (chunk, [chunk._replace(fused_tokens=8)]),
        # the drafter takes in prompts without predicting from them
        (end_of_prompt, [end_of_prompt._replace(logit_rows=0, fused_tokens=2)]),
        # 11 tokens so far, the newest not yet in the cache: it and its draft see 11 and 12 entries
        (Pass(2, 2, 1, 12, 11 + 12, verify_context=12), [Pass(1, 1, 1, 11, 11, fused_tokens=1)]),
        # two tokens came out, so the head catches up with two
        (Pass(2, 2, 1, 14, 13 + 14, verify_context=14), [Pass(2, 1, 1, 13, 12 + 13, fused_tokens=2)]),
    ]


def test_an_engine_that_hands_the_whole_round_on_has_rejected_drafts_computed_too(config, lengths):
    how = config(conditional=(0.0,), decode_only=True)
    serve_closed_loop(replace(how, first_pass_over_verified=True), lengths((10, 4)), 1)
    # the one draft is never accepted; the first pass after the prompt has nothing else to take in
    assert [drafts[0].tokens for _, drafts in how.cost.asked] == [1, 2, 2, 2]


def test_a_tree_from_step_to_step_by_hand(config, lengths):
    """Two levels of 2 and 2 nodes, the second below the first child; all accepted, so 3 tokens a step out of 6."""
    pairs = lengths((10, 6))
    how = config(conditional=(1.0, 1.0), rule="tree one_hot", children=((2,), (2, 0)), decode_only=True)
    records = serve_closed_loop(how, pairs, 1)
    assert how.cost.asked == [
        # the root sees 10 entries, the first level one more each, the second two; 4 more are read than the context
        (
            Pass(5, 5, 1, 14, 10 + 2 * 11 + 2 * 12, verify_context=14),
            [Pass(1, 1, 1, 10, 10, fused_tokens=1), Pass(1, 1, 1, 11, 11)],
        ),
        (
            Pass(5, 5, 1, 17, 13 + 2 * 14 + 2 * 15, verify_context=17),
            [Pass(3, 1, 1, 13, 11 + 12 + 13, fused_tokens=3), Pass(1, 1, 1, 14, 14)],
        ),
    ]
    assert records.steps.num_draft_tokens.tolist() == [4, 4]
    # 10 tokens and 4 nodes, then 13 and 4, in blocks of 16
    assert records.steps.kv_tokens.tolist() == [16, 32]
    assert (records.rounds.num_draft.tolist(), records.rounds.num_nodes.tolist()) == ([2, 2], [4, 4])
    assert acceptance(records.requests, records.rounds).wasted_draft_fraction == 0.5


def test_a_draft_model_catches_up_with_leaves_that_were_accepted(config, lengths):
    """The only candidates are at the first level: a draft model computed none of them."""
    pairs = lengths((10, 5))
    how = config(conditional=(1.0,), rule="tree one_hot", children=((2,),), decode_only=True, drafter=DRAFT_MODEL)
    serve_closed_loop(how, pairs, 1)
    assert [drafts[0].tokens for _, drafts in how.cost.asked] == [1, 2, 2]


def test_decodes_and_prompt_chunks_share_a_step(config, lengths):
    pairs = lengths((4, 3), (9, 2))
    how, ending = config(conditional=(), max_num_batched_tokens=8), attended(5, 9)
    serve_closed_loop(how, pairs, 2)
    assert how.cost.asked == [
        # 4 tokens end the first prompt, 4 begin the second
        (Pass(8, 1, 2, 4 + 4, 10 + 10, prompt_query_context=10 + 10, prompt_tokens=8), []),
        # a decode at context 5 beside the other 5 prompt tokens, which end the prompt
        (Pass(1 + 5, 1 + 1, 2, 5 + 9, 5 + ending, prompt_query_context=ending, prompt_tokens=5), []),
        (Pass(2, 2, 2, 6 + 10, 6 + 10), []),
    ]


def replayed(records, drafter):
    """Every decode step's target pass and first draft pass, request by request from the rounds."""
    prompt = records.requests.prompt_tokens
    context, lacking = prompt.copy(), np.ones_like(prompt)
    rounds = records.rounds
    for step in range(len(records.steps.start)):
        target, first = Pass(0, 0, 0, 0, 0), Pass(0, 0, 0, 0, 0)
        for row in np.flatnonzero(rounds.step == step):
            request, drafts = rounds.request[row], rounds.num_draft[row]
            keys = context[request] + drafts
            pairs, several = attended(1 + drafts, keys), keys if drafts else 0
            target = added(target, Pass(1 + drafts, 1 + drafts, 1, keys, pairs, verify_context=several))
            emitted, unseen = rounds.num_accepted[row] + 1, lacking[request]
            if drafts:
                fused = unseen if drafter == EAGLE3 else 0
                first = added(first, Pass(unseen, 1, 1, context[request], attended(unseen, context[request]), fused))
                # the drafter has now computed its own drafts but the last; an EAGLE head computes them anew
                known = 0 if drafter == EAGLE3 else min(emitted - 1, drafts - 1)
                unseen = -known
            lacking[request] = unseen + emitted
            context[request] += emitted
        yield target, first


def added(one, other):
    return Pass(*(int(a + b) for a, b in zip(one, other, strict=True)))


@pytest.mark.parametrize("drafter", [DRAFT_MODEL, EAGLE3], ids=["draft model", "eagle3"])
@pytest.mark.parametrize("budget", [256, 11], ids=["ample budget", "drafts cut by the budget"])
def test_ragged_decodes_are_those_of_a_replay(config, lengths, ragged_policy, drafter, budget):
    """A policy that sometimes asks for no draft leaves the drafter behind: it catches up when it is next asked."""
    pairs = lengths((30, 20), (5, 31), (17, 26), (64, 9), (2, 40))
    how = config(
        policy=ragged_policy(3),
        decode_only=True,
        drafter=drafter,
        max_num_batched_tokens=budget,
        cost=None,
    )
    records = serve_closed_loop(how, pairs, 4)
    for (target, drafts), (expected, first) in zip(how.cost.asked, replayed(records, drafter), strict=True):
        assert target == expected
        assert (drafts[0] if drafts else Pass(0, 0, 0, 0, 0)) == first
    assert (records.rounds.num_draft == 0).any()


def test_drafts_that_are_looked_up_cost_no_pass_but_a_look_for_each_request_that_drafts(config, lengths, ragged_policy):
    pairs = lengths((30, 20), (5, 31), (17, 26))
    how = config(policy=ragged_policy(3), rule="token argmax", at_least=(1.0, 1.0, 1.0))
    rounds = serve_closed_loop(how, pairs, 3).rounds
    assert all(drafts == [] for _, drafts in how.cost.asked)
    drafting = np.bincount(rounds.step, rounds.num_draft > 0, minlength=len(how.cost.asked))
    np.testing.assert_array_equal(how.cost.lookups, drafting)
    assert {0, 1, 2, 3} == set(how.cost.lookups)


def test_without_drafts_no_draft_pass_is_priced(config, lengths):
    how = config(conditional=())
    serve_closed_loop(how, lengths((30, 20), (5, 31)), 2)
    assert all(drafts == [] for _, drafts in how.cost.asked)


@pytest.mark.parametrize(("kv_tokens", "together"), [(32, 2), (31, 1)])
def test_the_pool_has_to_hold_all_nodes(config, lengths, kv_tokens, together):
    """Two requests of 10 tokens with 4 nodes each in blocks of 16; blocks that are not whole are of no use."""
    pairs = lengths((10, 2), (10, 2))
    how = config(
        conditional=(1.0, 1.0), rule="tree one_hot", children=((2,), (2, 0)), kv_tokens=kv_tokens, decode_only=True
    )
    assert serve_closed_loop(how, pairs, 2).steps.num_running.max() == together


def test_a_pool_that_needs_more_room_for_a_token_holds_fewer(config, lengths):
    """As where a drafter's cache is counted in the target's tokens: 10 tokens and a draft take the room of 22."""
    pairs = lengths((10, 2), (10, 2))
    how = config(conditional=(1.0,), kv_tokens=48, decode_only=True, pool_tokens=lambda tokens: 2 * tokens)
    steps = serve_closed_loop(how, pairs, 2).steps
    assert steps.kv_tokens.tolist() == [32, 32]
    assert steps.num_running.tolist() == [1, 1]
