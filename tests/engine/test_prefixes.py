"""Prefix caching: who finds what, against sets of text; and that blocks are shared, kept and overwritten in order."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.engine.scheduler_limits import segments_of
from specsim.inputs.models.drafters import DraftModel
from specsim.workload.lengths import Lengths
from specsim.workload.prefixes import Prefixes

SETTINGS = settings(max_examples=50, deadline=None)
DRAFT_MODEL = DraftModel(kind="draft_model", model="x")


def prompts(*texts, each=4, output=2):
    """Requests whose prompts are these texts: a letter is a segment of so many tokens, of which all begin alike."""
    counts = np.array([len(text) for text in texts])
    ids = np.array([ord(letter) for text in texts for letter in text])
    ends = np.concatenate([each * np.arange(1, count + 1) for count in counts])
    starts = np.append(0, np.cumsum(counts))
    return Lengths(each * counts, np.full(len(texts), output), prefixes=Prefixes(starts, ids, ends))


def found(case, watched):
    records, server = watched(case)
    return records.requests.cached_tokens.tolist(), records, server


def one_by_one(config, make_case, lengths, **named):
    how = config(conditional=named.pop("conditional", ()), block_size=4, prefix_caching=True, **named)
    return make_case(lengths, how, np.zeros(0), concurrency=1, think=np.zeros(len(lengths.prompt)))


def test_what_was_computed_before_is_found_up_to_where_texts_part(config, make_case, watched):
    lengths = prompts("abc", "abd", "abdx", "bcd", "abcxyz")
    cached, records, _ = found(one_by_one(config, make_case, lengths), watched)
    assert cached == [0, 8, 12, 0, 12]  # "bcd" is other text: nothing comes before it
    assert records.steps.num_prompt_tokens.sum() == lengths.prompt.sum() - sum(cached)


def test_the_last_token_is_computed_in_any_case_and_whole_blocks_are(config, make_case, watched):
    cached, *_ = found(one_by_one(config, make_case, prompts("abc", "abc", "ab")), watched)
    assert cached == [0, 8, 4]


def test_a_drafter_that_takes_in_hidden_states_has_the_last_block_computed_again(config, make_case, watched):
    lengths = prompts("abc", "abd", "abc", "x", "ax")
    head, *_ = found(one_by_one(config, make_case, lengths, conditional=(0.5,)), watched)
    model, *_ = found(one_by_one(config, make_case, lengths, conditional=(0.5,), drafter=DRAFT_MODEL), watched)
    assert model == [0, 8, 8, 0, 4]
    assert head == [0, 4, 4, 0, 0]


def test_without_it_or_without_common_text_nothing_is_found(config, make_case, watched):
    lengths = prompts("abc", "abc")
    for case in (
        one_by_one(config, make_case, dataclasses.replace(lengths, prefixes=None)),
        make_case(lengths, config(conditional=(), block_size=4), np.zeros(0), concurrency=1, think=np.zeros(2)),
    ):
        cached, records, _ = found(case, watched)
        assert cached == [0, 0]
        assert records.steps.num_prompt_tokens.sum() == lengths.prompt.sum()


def test_two_at_once_share_as_soon_as_a_step_computes(config, make_case, watched):
    """As in vLLM, whose blocks have their names when they are scheduled: the second of a step finds the first's."""
    how = config(conditional=(), block_size=4, prefix_caching=True)
    cached, _, server = found(make_case(prompts("abcd", "abce"), how, np.zeros(2)), watched)
    assert cached == [0, 12]
    assert server.blocks[0].tolist() == [4, 4]
    assert server.in_use[0] == 5  # "abc" once, "d" and "e"


def test_in_a_full_pool_the_longest_unused_goes_first(config, make_case, watched):
    """8 blocks: after "ab", "cd" and "ef", each with a block for its output, "a" and "b" are gone; "cd" is there."""
    lengths = prompts("ab", "cd", "ef", "cdx", "abx")
    case = one_by_one(config, make_case, lengths, kv_tokens=32)
    cached, _, server = found(case, watched)
    assert cached == [0, 0, 0, 8, 0]
    assert max(np.add(server.in_use, server.unused)) == 8


def test_of_one_request_the_last_segment_goes_first(config, make_case, watched):
    """8 blocks: of 4 and 5 the output of "abc" goes, "h" takes 2 more, which were "c" and "b", and "a" is found."""
    lengths = prompts("abc", "defg", "h", "abcx")
    cached, *_ = found(one_by_one(config, make_case, lengths, kv_tokens=32), watched)
    assert cached == [0, 0, 0, 4]


def test_a_text_that_is_read_again_stays(config, make_case, watched):
    lengths = prompts("ab", "cd", "abx", "ef", "abx")
    cached, *_ = found(one_by_one(config, make_case, lengths, kv_tokens=32), watched)
    assert cached == [0, 0, 8, 0, 8]


def test_whoever_lost_their_place_finds_what_is_left_of_their_own(config, make_case, watched):
    """6 tokens in and 6 out each, in 4 blocks of 4; the second loses its place and a block, and keeps one."""
    lengths = Lengths(np.full(2, 6), np.full(2, 6))
    how = config(conditional=(), kv_tokens=16, block_size=4, prefix_caching=True)
    records, server = watched(make_case(lengths, how, np.zeros(2)))
    assert server.requests.preempted.tolist() == [0, 1]
    # of its 9 tokens 8 were in 2 blocks; the first took one of them, and 4 tokens are found; see test_preemption
    assert records.steps.num_prompt_tokens.tolist() == [12, 0, 0, 0, 0, 0, 5, 0, 0]


@pytest.mark.slow
@given(st.data())
@SETTINGS
def test_one_after_the_other_finds_all_that_came_before(config, make_case, watched, data):
    """With room for everything: the longest beginning that any earlier prompt had, in whole blocks."""
    texts = data.draw(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=8))
    each = data.draw(st.sampled_from([2, 4, 6]))
    cached, *_ = found(one_by_one(config, make_case, prompts(*texts, each=each)), watched)
    for i, text in enumerate(texts):
        whole = [
            k * each // 4 * 4 for k in range(1, len(text) + 1) if any(other[:k] == text[:k] for other in texts[:i])
        ]
        assert cached[i] == min(max(whole, default=0), (len(text) * each - 1) // 4 * 4)


@pytest.mark.slow
@given(st.data())
@SETTINGS
def test_blocks_are_those_of_users_and_of_the_list_of_unused(cases, watched, data):
    case = data.draw(cases(max_priority=1))
    records, server = watched(case)
    cache = server.replica.cache
    pool = case.config.kv_tokens // case.config.block_size
    assert (np.add(server.in_use, server.unused) <= pool).all()
    if not case.config.prefix_caching:
        assert max(server.unused) == 0
        return
    assert (cache.users == 0).all()
    assert server.replica.counters.blocks_in_use[0] == 0  # once all have left
    assert server.replica.counters.blocks_unused[0] == cache.size.sum() <= pool
    listed, node = [], cache.ends[0]
    while node >= 0:
        listed.append(int(node))
        node = cache.newer[node]
    assert sorted(listed) == np.flatnonzero(cache.size).tolist()
    prompt, sent_again = case.lengths.prompt.sum(), server.requests.preempted.sum()
    computed, cached = records.steps.num_prompt_tokens.sum(), records.requests.cached_tokens.sum()
    if sent_again == 0 and not case.config.decode_only:
        assert computed == prompt - cached


def test_segments_are_numbered_by_all_text_before_them():
    segments = segments_of(prompts("abc", "abd", "cb", "ab", each=6).prefixes, 4)
    assert segments.end.tolist() == [4, 12, 16, 4, 12, 16, 4, 12, 4, 12]  # 6, 12 and 18 in blocks of 4
    a, ab, abc, _, _, abd, c, cb, *_ = segments.node.tolist()
    assert len({a, ab, abc, abd, c, cb}) == 6 == segments.num_nodes
    assert segments.node.tolist() == [a, ab, abc, a, ab, abd, c, cb, a, ab]


def test_what_fills_no_block_is_no_segment():
    prefixes = Prefixes(np.array([0, 2, 2, 3]), np.array([7, 8, 7]), np.array([8, 10, 3]))
    segments = segments_of(prefixes, 4)
    assert segments.starts.tolist() == [0, 1, 1, 1]
    assert segments.end.tolist() == [8]
