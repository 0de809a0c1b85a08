"""The verifier runs exactly once per step that decodes, and what it returns is what requests receive."""

import numpy as np
import pytest

import specsim.verification
from specsim.engine.run import serve_closed_loop

PAIRS = [(30, 7), (5, 1), (90, 12), (1, 9), (64, 3)]
VERIFIERS = {False: "verify_chain", True: "verify_greedy"}


@pytest.fixture(params=[False, True], ids=["token", "greedy"])
def greedy(request):
    return request.param


@pytest.fixture
def calls(monkeypatch, greedy):
    """The arguments and results of every call of the verifier that should run; the other one must not."""
    seen = []
    genuine = getattr(specsim.verification, VERIFIERS[greedy])

    def counted(*args, **kwargs):
        seen.append((args, kwargs, genuine(*args, **kwargs)))
        return seen[-1][2]

    def forbidden(*args, **kwargs):
        raise AssertionError("the other verifier was called")

    monkeypatch.setattr(specsim.verification, VERIFIERS[greedy], counted)
    monkeypatch.setattr(specsim.verification, VERIFIERS[not greedy], forbidden)
    return seen


@pytest.mark.parametrize("conditional", [(), (0.7,), (0.9, 0.6, 0.6)])
@pytest.mark.parametrize("decode_only", [False, True])
def test_one_call_per_step_with_decodes_and_none_otherwise(calls, greedy, serving, lengths, conditional, decode_only):
    how = serving(
        lengths(*PAIRS), conditional=conditional, decode_only=decode_only, greedy=greedy, max_num_batched_tokens=40
    )
    records = serve_closed_loop(how, lengths(*PAIRS), 3)
    decoding = records.steps.num_decodes > 0
    assert len(calls) == decoding.sum()
    # each call holds the whole batch of its step
    assert [len(args[0]) for args, _, _ in calls] == records.steps.num_decodes[decoding].tolist()
    if not decode_only:
        assert not decoding.all(), "the first step computes prompts alone"


def test_requests_receive_what_the_verifier_returned(calls, greedy, serving, lengths):
    records = serve_closed_loop(serving(lengths(*PAIRS), greedy=greedy), lengths(*PAIRS), 3)
    rounds = records.rounds
    returned = np.concatenate([num_out for _, _, (_, num_out) in calls])
    verified = ~rounds.from_prompt
    np.testing.assert_array_equal(rounds.num_accepted[verified] + 1, returned)
    left = records.requests.output_tokens.copy()
    for request, accepted, emitted in zip(rounds.request, rounds.num_accepted, rounds.num_emitted, strict=True):
        assert emitted == min(accepted + 1, left[request])
        left[request] -= emitted


@pytest.mark.parametrize(("accept", "tokens_per_round"), [("none", 1), ("all", 4)])
def test_another_verifier_changes_what_requests_receive(
    monkeypatch, greedy, serving, lengths, accept, tokens_per_round
):
    """Nothing in the engine decides acceptance a second time: a stub that says otherwise is believed."""

    def stub(*args, **kwargs):
        num_draft = args[-1]
        return None, np.ones_like(num_draft) if accept == "none" else num_draft + 1

    monkeypatch.setattr(specsim.verification, VERIFIERS[greedy], stub)
    how = serving(lengths((5, 41), (9, 41)), conditional=(0.5, 0.5, 0.5), greedy=greedy, decode_only=True)
    rounds = serve_closed_loop(how, lengths((5, 41), (9, 41)), 2).rounds
    assert len(rounds.request) == 2 * -(-41 // tokens_per_round)
    assert set(rounds.num_emitted.tolist()) == {tokens_per_round, 1}


@pytest.mark.parametrize("greedy", [False], indirect=True, ids=["token"])
def test_the_verifier_gets_real_distributions_and_valid_drafts(calls, serving, lengths):
    serve_closed_loop(serving(lengths(*PAIRS)), lengths(*PAIRS), 3)
    for (draft, q, p, num_draft), uniforms, result in calls:
        again = specsim.verification.chain.verify_chain(draft, q, p, num_draft, **uniforms | {"validate": True})
        np.testing.assert_array_equal(again[1], result[1])
