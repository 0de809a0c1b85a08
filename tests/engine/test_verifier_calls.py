"""The verifier runs exactly once per step that decodes, and what it returns is what requests receive."""

import numpy as np
import pytest

import specsim.verification
from specsim.engine import verify_chains as chains
from specsim.engine.run import serve_closed_loop
from specsim.verification import verify_rows
from specsim.verification.into import BLOCKWISE, TOKEN
from specsim.verification.trees import tree

PAIRS = [(30, 7), (5, 1), (90, 12), (1, 9), (64, 3)]
CHAINS = ["token", "block", "greedy", "token argmax", "block argmax"]
TREES = ["tree with_replacement", "tree without_replacement", "tree one_hot greedy"]
RULE, NUM_DRAFT, GREEDY, OUT, NUM_OUT = 0, 2, 7, 10, 11
"""Places of arguments of ``verify_rows_into``."""

pytestmark = pytest.mark.usefixtures("plain")  # compiled code calls the same, with the same results


@pytest.fixture(params=[*CHAINS, *TREES])
def rule(request):
    return request.param


@pytest.fixture
def calls(monkeypatch, rule):
    """Of every call of the verifier that should run: arguments, keywords and tokens per request; the other must not."""
    seen, is_tree = [], rule.startswith("tree")
    genuine = specsim.verification.verify_tree if is_tree else chains.verify_rows_into

    def counted(*args, **kwargs):
        result = genuine(*args, **kwargs)
        given = tuple(np.copy(part) if isinstance(part, np.ndarray) else part for part in args)  # the next round's too
        seen.append((given, kwargs, result if is_tree else (given[OUT], given[NUM_OUT])))
        return result

    def forbidden(*args, **kwargs):
        raise AssertionError("another verifier was called")

    monkeypatch.setattr(specsim.verification, "verify_tree", counted if is_tree else forbidden)
    monkeypatch.setattr(chains, "verify_rows_into", forbidden if is_tree else counted)
    return seen


@pytest.mark.parametrize("conditional", [(), (0.7,), (0.9, 0.6, 0.6)])
@pytest.mark.parametrize("decode_only", [False, True])
def test_one_call_per_step_with_decodes_and_none_otherwise(calls, rule, config, lengths, conditional, decode_only):
    how = config(conditional=conditional, decode_only=decode_only, rule=rule, max_num_batched_tokens=40)
    records = serve_closed_loop(how, lengths(*PAIRS), 3)
    decoding = records.steps.num_decodes > 0
    assert len(calls) == decoding.sum()
    # each call holds the whole batch of its step
    assert [len(result[1]) for _, _, result in calls] == records.steps.num_decodes[decoding].tolist()
    if not decode_only:
        assert not decoding.all(), "the first step computes prompts alone"


def test_requests_receive_what_the_verifier_returned(calls, rule, config, lengths):
    records = serve_closed_loop(config(rule=rule), lengths(*PAIRS), 3)
    rounds = records.rounds
    returned = np.concatenate([result[1] for _, _, result in calls])
    verified = ~rounds.from_prompt
    np.testing.assert_array_equal(rounds.num_accepted[verified] + 1, returned)
    left = records.requests.output_tokens.copy()
    for request, accepted, emitted in zip(rounds.request, rounds.num_accepted, rounds.num_emitted, strict=True):
        assert emitted == min(accepted + 1, left[request])
        left[request] -= emitted


@pytest.mark.parametrize(("accept", "tokens_per_round"), [("none", 1), ("all", 4)])
def test_another_verifier_changes_what_requests_receive(monkeypatch, rule, config, lengths, accept, tokens_per_round):
    """Nothing in the engine decides acceptance a second time: a stub that says otherwise is believed."""

    def tree_stub(*args, **kwargs):  # down the first children, which go three levels deep
        num_draft = np.minimum(args[2], 3)
        return (
            None,
            np.ones_like(num_draft) if accept == "none" else num_draft + 1,
            np.tile([0, 3, 6], (len(num_draft), 1)),
        )

    def stub(*args):
        args[NUM_OUT][:] = 1 if accept == "none" else args[NUM_DRAFT] + 1

    monkeypatch.setattr(specsim.verification, "verify_tree", tree_stub)
    monkeypatch.setattr(chains, "verify_rows_into", stub)
    how = config(conditional=(0.5, 0.5, 0.5), rule=rule, decode_only=True)
    rounds = serve_closed_loop(how, lengths((5, 41), (9, 41)), 2).rounds
    assert len(rounds.request) == 2 * -(-41 // tokens_per_round)
    assert set(rounds.num_emitted.tolist()) == {tokens_per_round, 1}


@pytest.mark.parametrize("rule", TREES, indirect=True)
def test_the_tree_verifier_gets_real_distributions_and_valid_trees(calls, rule, config, lengths):
    serve_closed_loop(config(rule=rule), lengths(*PAIRS), 3)
    for trees, given, result in calls:
        for found, due in zip(tree.verify_tree(*trees, **given | {"validate": True}), result, strict=True):
            np.testing.assert_array_equal(found, due)
    assert {int(nodes.max()) for (_, _, nodes, *_), _, _ in calls} == {10}


@pytest.mark.parametrize("rule", CHAINS, indirect=True)
def test_the_verifier_gets_real_distributions_and_valid_drafts(calls, rule, config, lengths):
    """The public verifier, which refuses what is not a distribution or a draft of it, returns the same."""
    serve_closed_loop(config(rule=rule), lengths(*PAIRS), 3)
    for (number, draft, num_draft, q, q_row, p, p_row, greedy, accept, final, _, _), _, result in calls:
        assert number == (BLOCKWISE if rule.startswith("block") else TOKEN)
        assert (len(q) == 0) == ("argmax" in rule)
        assert greedy.all() if rule == "greedy" else len(greedy) == 0
        out, num_out = verify_rows(
            np.tile(np.arange(draft.shape[1]) - 1, (len(draft), 1)),
            draft,
            num_draft,
            q if len(q) else None,
            q_row,
            p,
            p_row,
            rule="block" if rule.startswith("block") else "token",
            greedy=greedy if len(greedy) else None,
            accept_uniforms=accept,
            final_uniforms=final,
        )
        np.testing.assert_array_equal(num_out, result[1])
        np.testing.assert_array_equal(out, result[0])
