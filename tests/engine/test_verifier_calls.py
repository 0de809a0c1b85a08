"""The verifier runs exactly once per step that decodes, and what it returns is what requests receive."""

import numpy as np
import pytest

import specsim.verification
from specsim.engine.run import serve_closed_loop
from specsim.verification import block, chain, tree

PAIRS = [(30, 7), (5, 1), (90, 12), (1, 9), (64, 3)]
VERIFIERS = {
    "token": "verify_chain",
    "block": "verify_block",
    "greedy": "verify_greedy",
    "token argmax": "verify_chain",
    "block argmax": "verify_block",
    **dict.fromkeys(["tree with_replacement", "tree without_replacement", "tree one_hot greedy"], "verify_tree"),
}


@pytest.fixture(params=VERIFIERS)
def rule(request):
    return request.param


@pytest.fixture
def calls(monkeypatch, rule):
    """The arguments and results of every call of the verifier that should run; the others must not."""
    seen = []
    genuine = getattr(specsim.verification, VERIFIERS[rule])

    def counted(*args, **kwargs):
        seen.append((args, kwargs, genuine(*args, **kwargs)))
        return seen[-1][2]

    def forbidden(*args, **kwargs):
        raise AssertionError("another verifier was called")

    monkeypatch.setattr(specsim.verification, VERIFIERS[rule], counted)
    for other in set(VERIFIERS.values()) - {VERIFIERS[rule]}:
        monkeypatch.setattr(specsim.verification, other, forbidden)
    return seen


@pytest.mark.parametrize("conditional", [(), (0.7,), (0.9, 0.6, 0.6)])
@pytest.mark.parametrize("decode_only", [False, True])
def test_one_call_per_step_with_decodes_and_none_otherwise(calls, rule, serving, lengths, conditional, decode_only):
    how = serving(
        lengths(*PAIRS), conditional=conditional, decode_only=decode_only, rule=rule, max_num_batched_tokens=40
    )
    records = serve_closed_loop(how, lengths(*PAIRS), 3)
    decoding = records.steps.num_decodes > 0
    assert len(calls) == decoding.sum()
    # each call holds the whole batch of its step
    assert [len(args[0]) for args, _, _ in calls] == records.steps.num_decodes[decoding].tolist()
    if not decode_only:
        assert not decoding.all(), "the first step computes prompts alone"


def test_requests_receive_what_the_verifier_returned(calls, rule, serving, lengths):
    records = serve_closed_loop(serving(lengths(*PAIRS), rule=rule), lengths(*PAIRS), 3)
    rounds = records.rounds
    returned = np.concatenate([result[1] for _, _, result in calls])
    verified = ~rounds.from_prompt
    np.testing.assert_array_equal(rounds.num_accepted[verified] + 1, returned)
    left = records.requests.output_tokens.copy()
    for request, accepted, emitted in zip(rounds.request, rounds.num_accepted, rounds.num_emitted, strict=True):
        assert emitted == min(accepted + 1, left[request])
        left[request] -= emitted


@pytest.mark.parametrize(("accept", "tokens_per_round"), [("none", 1), ("all", 4)])
def test_another_verifier_changes_what_requests_receive(monkeypatch, rule, serving, lengths, accept, tokens_per_round):
    """Nothing in the engine decides acceptance a second time: a stub that says otherwise is believed."""

    def stub(*args, **kwargs):
        if rule.startswith("tree"):  # down the first children, which go three levels deep
            num_draft = np.minimum(args[2], 3)
            path = np.tile([0, 3, 6], (len(num_draft), 1))
        else:
            num_draft, path = args[-1], None
        return None, np.ones_like(num_draft) if accept == "none" else num_draft + 1, path

    monkeypatch.setattr(specsim.verification, VERIFIERS[rule], stub)
    how = serving(lengths((5, 41), (9, 41)), conditional=(0.5, 0.5, 0.5), rule=rule, decode_only=True)
    rounds = serve_closed_loop(how, lengths((5, 41), (9, 41)), 2).rounds
    assert len(rounds.request) == 2 * -(-41 // tokens_per_round)
    assert set(rounds.num_emitted.tolist()) == {tokens_per_round, 1}


@pytest.mark.parametrize("rule", [rule for rule in VERIFIERS if rule.startswith("tree")], indirect=True)
def test_the_tree_verifier_gets_real_distributions_and_valid_trees(calls, rule, serving, lengths):
    serve_closed_loop(serving(lengths(*PAIRS), rule=rule), lengths(*PAIRS), 3)
    for trees, given, result in calls:
        for found, due in zip(tree.verify_tree(*trees, **given | {"validate": True}), result, strict=True):
            np.testing.assert_array_equal(found, due)
    assert {int(nodes.max()) for (_, _, nodes, *_), _, _ in calls} == {10}


@pytest.mark.parametrize("rule", ["token", "block", "token argmax", "block argmax"], indirect=True)
def test_the_verifier_gets_real_distributions_and_valid_drafts(calls, rule, serving, lengths):
    genuine = {"token": chain.verify_chain, "block": block.verify_block}[rule.split()[0]]
    serve_closed_loop(serving(lengths(*PAIRS), rule=rule), lengths(*PAIRS), 3)
    for (draft, q, p, num_draft), uniforms, result in calls:
        assert (q is None) == ("argmax" in rule)
        again = genuine(draft, q, p, num_draft, **uniforms | {"validate": True})
        np.testing.assert_array_equal(again[1], result[1])
