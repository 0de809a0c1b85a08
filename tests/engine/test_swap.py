"""Swapping: whoever loses their place keeps what they computed, and moving it takes time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.records import PARTS
from specsim.workload.lengths import Lengths

SETTINGS = settings(max_examples=50, deadline=None)
COMMUNICATION = PARTS.index("communication")


def two_that_do_not_fit(config, make_case, **named):
    """As in test_preemption: in step 3 the first takes a block from the other, which had 9 tokens."""
    how = config(conditional=(), kv_tokens=16, block_size=4, **named)
    return make_case(Lengths(np.full(2, 6), np.full(2, 6)), how, np.zeros(2))


@pytest.mark.parametrize("host_tokens", [8, 12])  # room for exactly the two blocks, or for more
def test_nothing_is_computed_again_and_blocks_take_their_time(config, make_case, watched, host_tokens):
    case = two_that_do_not_fit(config, make_case, host_tokens=host_tokens, seconds_per_token=0.5)
    records, server = watched(case)
    steps = records.steps
    assert server.requests.preempted.tolist() == [0, 1]
    assert steps.num_prompt_tokens.tolist() == [12, 0, 0, 0, 0, 0, 0, 0, 0]
    # 2 blocks out in step 3 and back in step 6, in which it decodes at once; 4 tokens a block
    assert steps.parts[:, COMMUNICATION].tolist() == [0, 0, 0, 4, 0, 0, 4, 0, 0]
    assert steps.num_decodes.tolist() == [0, 2, 2, 1, 1, 1, 1, 1, 1]
    assert [blocks[1] for blocks in server.on_host] == [0, 0, 0, 2, 2, 2, 0, 0, 0]


def test_what_the_host_has_no_room_for_is_computed_again(config, make_case, watched):
    lost, _ = watched(two_that_do_not_fit(config, make_case))
    full, _ = watched(two_that_do_not_fit(config, make_case, host_tokens=7, seconds_per_token=0.5))
    np.testing.assert_array_equal(full.steps.num_prompt_tokens, lost.steps.num_prompt_tokens)
    assert full.steps.parts[:, COMMUNICATION].sum() == 0


@pytest.mark.parametrize("prefill_first", [False, True])
def test_prompts_are_computed_once_and_every_token_is_received_once(config, make_case, watched, prefill_first):
    """Whoever computes anew has another round from a prompt, as in test_preemption; here nobody has."""
    how = {"prefill_first": prefill_first, "host_tokens": 100, "seconds_per_token": 0.5}
    for named, again in ((how, 0), ({"prefill_first": prefill_first}, 1)):
        records, server = watched(two_that_do_not_fit(config, make_case, **named))
        rounds = records.rounds
        assert server.requests.preempted.tolist() == [0, 1]
        assert np.bincount(rounds.request[rounds.from_prompt]).tolist() == [1, 1 + again]
        assert np.bincount(rounds.request, rounds.num_emitted).tolist() == [6, 6]


@pytest.mark.slow
@given(st.data())
@SETTINGS
def test_the_host_holds_what_it_has_room_for_and_all_of_it_comes_back(cases, watched, data):
    case = data.draw(cases(max_priority=1))
    records, server = watched(case)
    most = case.config.host_tokens // case.config.block_size
    held = np.array(server.on_host)
    assert (held.sum(axis=1) <= most).all()
    assert (server.requests.on_host == 0).all()
    moved = records.steps.parts[:, COMMUNICATION].sum()
    out = np.maximum(np.diff(held, axis=0, prepend=0), 0).sum()
    per_block = case.config.seconds_per_token * case.config.block_size
    assert moved >= 2 * out * per_block * (1 - 1e-12)  # at least there and back; more where both were in one step
