"""Which replica a router chooses, from what it sees and what it has sent."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.fleet.routers import new_router
from specsim.inputs.models.fleet import KVAware, LeastLoaded, PrefixAware, Random, RoundRobin
from specsim.workload.lengths import Lengths
from specsim.workload.prefixes import Prefixes

BLOCK = 10
POOL = 1000


class Load(NamedTuple):
    """What a router sees of a replica."""

    num_requests: int = 0
    kv_share: float = 0.0


def loads(*requests):
    return [Load(number) for number in requests]


def router_of(stated, *, prompts=(), replicas=2, uniforms=(), pool=POOL):
    """A router of prompts that are lists of blocks, all of them full."""
    counts = np.array([len(prompt) for prompt in prompts], np.int64)
    ids = np.array([block for prompt in prompts for block in prompt], np.int64)
    ends = np.array([BLOCK * (place + 1) for prompt in prompts for place in range(len(prompt))], np.int64)
    prefixes = Prefixes(np.append(0, np.cumsum(counts)), ids, ends)
    lengths = Lengths(BLOCK * counts, np.ones_like(counts), prefixes=prefixes)
    return new_router(stated, np.array(uniforms), lengths, [pool] * replicas)


def prefix_aware(**stated):
    return PrefixAware(kind="prefix_aware", **stated)


def test_replicas_take_turns_whatever_request_comes():
    router = router_of(RoundRobin(kind="round_robin"))
    assert [router.choose(request, loads(9, 0, 0)) for request in (7, 3, 3, 8, 1)] == [0, 1, 2, 0, 1]


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=9), st.integers(1, 5))
def test_chance_is_the_requests_own(uniforms, replicas):
    chosen = []
    for order in (range(len(uniforms)), reversed(range(len(uniforms)))):
        router = router_of(Random(kind="random"), uniforms=uniforms)
        chosen.append({request: router.choose(request, loads(*range(replicas))) for request in order})
    assert chosen[0] == chosen[1]
    assert all(int(uniform * replicas) == chosen[0][request] for request, uniform in enumerate(uniforms))


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 2)), min_size=1, max_size=6))
def test_the_least_is_chosen_and_the_first_of_equals(seen):
    replicas = [Load(*pair) for pair in seen]
    for stated, value in ((LeastLoaded(kind="least_loaded"), 0), (KVAware(kind="kv_aware"), 1)):
        values = [load[value] for load in replicas]
        assert router_of(stated).choose(0, replicas) == values.index(min(values))


def test_equal_prefixes_go_to_the_same_replica_and_new_text_to_the_one_that_had_least():
    prompts = [[1, 2, 3], [7, 8], [1, 2, 4], [7, 8, 9], [5, 6], [1, 2, 4, 10]]
    router = router_of(prefix_aware(), prompts=prompts)
    assert [router.choose(request, loads(0, 0)) for request in range(6)] == [0, 1, 0, 1, 1, 0]


@pytest.mark.parametrize(("threshold", "chosen"), [(0.5, 1), (0.49, 0)])
def test_a_replica_is_preferred_for_more_than_a_share_of_the_prompt(threshold, chosen):
    router = router_of(prefix_aware(cache_threshold=threshold), prompts=[[1, 2], [1, 3]])
    assert [router.choose(request, loads(0, 0)) for request in range(2)] == [0, chosen]


def test_only_the_beginning_of_a_prompt_counts():
    router = router_of(prefix_aware(), prompts=[[1, 2, 3], [9, 2, 3]])
    assert [router.choose(request, loads(0, 0)) for request in range(2)] == [0, 1]


@pytest.mark.parametrize(
    ("most", "least", "chosen"),
    [(64, 0, 0), (65, 0, 1), (200, 136, 0), (200, 135, 0), (200, 133, 1), (195, 130, 0), (196, 130, 1)],
)
def test_out_of_balance_the_fewest_requests_decide(most, least, chosen):
    """More than 64 and more than half above the least, as SGLang's router has it."""
    router = router_of(prefix_aware(), prompts=[[1, 2, 3]] * 2)
    assert router.choose(0, loads(0, 0)) == 0
    assert router.choose(1, loads(most, least)) == chosen


def test_what_was_sent_long_ago_is_forgotten_its_end_before_its_beginning():
    """Room for four blocks. The last prompt but one pushes 3 out, then 2; what begins with 1 is still known."""
    prompts = [[1, 2, 3], [4], [1, 2], [5], [1, 2, 3]]
    router = router_of(prefix_aware(), prompts=prompts, replicas=1, pool=4 * BLOCK)
    known = []
    for request in range(5):
        known.append(router._sent[0].known(router._parts(request)))
        router.choose(request, loads(0))
        assert router._sent[0].tokens <= 4 * BLOCK
    assert known == [0, 0, 2 * BLOCK, 0, 2 * BLOCK]


def test_the_own_text_of_prompts_counts_as_sent():
    """Three prompts of a block, of which nothing is known to be shared, and then a longer one."""
    tokens = np.array([10, 10, 50, 10, 10])
    lengths = Lengths(tokens, np.ones(5, np.int64), prefixes=Prefixes(np.zeros(6, np.int64), *2 * [tokens[:0]]))
    router = new_router(prefix_aware(), np.zeros(5), lengths, [POOL] * 2)
    assert [router.choose(request, loads(0, 0)) for request in range(5)] == [0, 1, 0, 1, 1]


def test_a_prompt_longer_than_the_pool_is_remembered_from_its_beginning():
    router = router_of(prefix_aware(), prompts=[[1, 2, 3], [1, 2, 3]], pool=2 * BLOCK)
    assert [router.choose(request, loads(0, 0)) for request in range(2)] == [0, 0]
    assert router._sent[0].tokens == 2 * BLOCK
