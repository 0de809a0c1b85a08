"""What fits a step, against a slow loop over lists that hands out tokens one by one."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.drafting.shape import chain, tree
from specsim.engine.kv_cache import new_cache
from specsim.engine.schedule import schedule
from specsim.engine.scheduler_limits import FOR_ALL, FOR_CHUNK, FOR_CONTEXT, SchedulerLimits, no_segments
from specsim.engine.slots import admit
from specsim.engine.state import new_replica, new_requests
from specsim.engine.wait_queue import join
from specsim.uniforms import uniforms_key

TREE = tree([[3], [2, 1, 0], [1, 1, 2], [1, 0, 1, 1], [2, 0, 0]])
CHAIN = chain(5)
KEY = uniforms_key(1, 0)
PLENTY, OUTPUT = 100_000, 20
ADMISSIONS = [FOR_CHUNK, FOR_CONTEXT, FOR_ALL]


@dataclass
class Served:
    """A request in the words of the slow loop."""

    known: int
    left: int
    wanted: int
    blocks: int = 0


def make_limits(shape=CHAIN, budget=PLENTY, num_blocks=PLENTY, block_size=4, **stated):
    modes = {"chunked_prefill": True, "prefill_first": False, "decode_only": False, "looks_up": False}
    modes |= {"caches_prefixes": False, "drops_last": False, "segments": no_segments(64)}
    modes |= {"admission": FOR_CHUNK, "host_blocks": 0, "seconds_per_block": 0.0}
    return SchedulerLimits(
        max_num_seqs=12,
        max_num_batched_tokens=budget,
        num_blocks=num_blocks,
        block_size=block_size,
        blocks_of=-(-np.arange(200) // block_size),
        num_nodes=shape.num_nodes,
        total_depth=shape.total_depth,
        share_at_least=np.ones(shape.num_levels),
        **modes | stated,
    )


def scheduled(running, waiting, limits):
    """(decodes with their levels, chunks with their tokens, in service, blocks in use) of the engine."""
    everybody = [*running, *waiting]
    ones = np.ones(len(everybody), np.int64)
    requests = new_requests(ones * [one.known for one in everybody], ones * OUTPUT, 0 * ones, 0 * ones)
    replica = new_replica(len(everybody), max(limits.max_num_seqs, 1), 1, 1, 8, (1, 0), 5, np.zeros(1), new_cache(0))
    for request, one in enumerate(running):
        join(replica, requests, request)
        assert admit(replica, requests, limits._replace(admission=FOR_CHUNK), KEY, request, 0, 0)
        requests.blocks[request] = one.blocks
        replica.batch.wanted[requests.slot[request]] = one.wanted
        replica.counters.blocks_in_use[0] += one.blocks
    for request in range(len(running), len(everybody)):
        join(replica, requests, request)
    requests.left[:] = [one.left for one in everybody]
    schedule(replica, requests, limits, KEY)
    count, batch = replica.counters, replica.batch
    decodes = list(zip(batch.decodes[: count.decodes[0]].tolist(), batch.num_draft_tokens.tolist(), strict=False))
    chunks = list(zip(batch.chunks[: count.chunks[0]].tolist(), batch.chunk_tokens.tolist(), strict=False))
    assert requests.blocks.sum() == count.blocks_in_use[0]
    return decodes, chunks, batch.running[: count.running[0]].tolist(), int(count.blocks_in_use[0])


class SlowLoop:
    """The same from lists. Requests are their numbers; the state of each is a ``Served``."""

    def __init__(self, running, waiting, limits):
        self.state, self.limits = [*running, *waiting], limits
        self.service, self.line = list(range(len(running))), list(range(len(running), len(self.state)))
        self.blocks = {request: self.state[request].blocks for request in self.service}
        self.budget, self.lost, self.decodes, self.chunks = limits.max_num_batched_tokens, False, [], []

    def free(self):
        return self.limits.num_blocks - sum(self.blocks.values())

    def prompt_part(self, left):
        part = 0
        while part < left and part < self.budget:
            part += 1
        return part if self.limits.chunked_prefill or part == left else 0

    def serve_all(self, kinds):
        for request in list(self.service):
            kind = "prompt" if self.state[request].left else "decode"
            if kind in kinds and request in self.service and self.budget:
                self.serve(request, self.state[request])

    def serve(self, request, one):
        nodes, part = self.limits.num_nodes, self.prompt_part(one.left)
        if one.left and not part:
            return
        levels = max(k for k in range(one.wanted + 1) if 1 + nodes[k] <= self.budget)
        tokens, in_cache = (part, one.known - one.left) if one.left else (1 + int(nodes[levels]), one.known - 1)
        needed = max(self.limits.blocks_of[in_cache + tokens], self.blocks[request])
        while request in self.service and needed - self.blocks[request] > self.free():
            self.lost = True
            del self.blocks[self.service.pop()]
        if request in self.service:
            self.blocks[request] = needed
            self.budget -= tokens
            (self.chunks if one.left else self.decodes).append((request, part if one.left else levels))

    def take_in(self):
        while self.line and not self.lost and len(self.service) < self.limits.max_num_seqs and self.budget:
            part = self.prompt_part(self.state[self.line[0]].left)
            known, most = self.state[self.line[0]].known, int(self.limits.num_nodes.max())
            needed = {FOR_CHUNK: part, FOR_CONTEXT: known, FOR_ALL: known + OUTPUT + most}[self.limits.admission]
            if not part or self.limits.blocks_of[needed] > self.free():
                return
            request = self.line.pop(0)
            self.service.append(request)
            self.chunks.append((request, part))
            self.blocks[request] = self.limits.blocks_of[needed if self.limits.admission == FOR_ALL else part]
            self.budget -= part


def by_loop(*state):
    loop = SlowLoop(*state)
    if loop.limits.prefill_first:
        loop.serve_all({"prompt"})
        if not loop.limits.decode_only:
            loop.take_in()
        if not loop.chunks:
            loop.serve_all({"decode"})
    else:
        loop.serve_all({"prompt", "decode"})
        if not loop.limits.decode_only:
            loop.take_in()
    return loop.decodes, loop.chunks, loop.service, int(sum(loop.blocks.values()))


@st.composite
def states(draw):
    """Requests in service, decoding or in their prompts, and others in line, under limits."""
    shape, block_size = draw(st.sampled_from([CHAIN, TREE])), draw(st.sampled_from([1, 4, 16]))
    running, waiting = [], []
    for _ in range(draw(st.integers(0, 10))):
        known = draw(st.integers(1, 60))
        left = draw(st.just(0) | st.integers(1, known))
        held = known - left if left else known - 1
        one = Served(known, left, draw(st.integers(0, 5)), -(-held // block_size) + draw(st.integers(0, 1)))
        running.append(one)
    for _ in range(draw(st.integers(0, 4))):
        known = draw(st.integers(1, 60))
        waiting.append(Served(known, known, 0))
    limits = make_limits(
        shape,
        draw(st.integers(1, 80)),
        sum(one.blocks for one in running) + draw(st.integers(0, 4) | st.integers(0, 40)),
        block_size,
        chunked_prefill=draw(st.booleans()),
        prefill_first=draw(st.booleans()),
        decode_only=draw(st.booleans()),
        admission=draw(st.sampled_from(ADMISSIONS)),
    )
    return running, waiting, limits


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(states())
def test_a_step_is_that_of_the_loop(state):
    assert scheduled(*state) == by_loop(*state)


@pytest.mark.slow
@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 60))
def test_decodes_take_the_whole_budget_or_all_they_want(num_draft, budget):
    decodes, *_ = scheduled([Served(10, 0, drafts) for drafts in num_draft], [], make_limits(budget=budget))
    assert sum(1 + drafts for _, drafts in decodes) == min(budget, len(num_draft) + sum(num_draft))


@given(st.lists(st.integers(1, 30), max_size=10), st.integers(1, 60))
def test_chunks_take_the_whole_budget_or_all_there_is(prompts, budget):
    _, chunks, *_ = scheduled([], [Served(tokens, tokens, 0) for tokens in prompts], make_limits(budget=budget))
    assert sum(tokens for _, tokens in chunks) == min(budget, sum(prompts))
    assert [tokens for _, tokens in chunks[:-1]] == prompts[: max(len(chunks) - 1, 0)]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(8, [(0, 3), (1, 3)]), (7, [(0, 3), (1, 2)]), (5, [(0, 3), (1, 0)]), (4, [(0, 3)]), (1, [(0, 0)])],
)
def test_drafts_are_cut_before_a_request_is_left_out(budget, expected):
    assert scheduled([Served(9, 0, 3), Served(9, 0, 3)], [], make_limits(chain(3), budget))[0] == expected


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (14, [(0, 2), (1, 2)]),
        (13, [(0, 2), (1, 1)]),  # 6 tokens are left for the second: its root and a level of two, not two levels
        (9, [(0, 2), (1, 0)]),
        (6, [(0, 1), (1, 1)]),  # what a tree that is cut leaves over goes to the next
        (4, [(0, 1), (1, 0)]),
    ],
)
def test_trees_are_cut_by_whole_levels(budget, expected):
    limits = make_limits(tree([[2], [2, 2]]), budget)
    assert scheduled([Served(9, 0, 2), Served(9, 0, 2)], [], limits)[0] == expected


def test_a_prompt_that_does_not_fit_whole_waits_and_so_do_those_behind_it():
    line = [Served(5, 5, 0), Served(9, 9, 0), Served(2, 2, 0)]
    assert scheduled([], line, make_limits(budget=10, chunked_prefill=False))[1] == [(0, 5)]
    assert scheduled([], line, make_limits(budget=10))[1] == [(0, 5), (1, 5)]


def test_prompts_come_first_or_beside_decodes():
    running, line = [Served(9, 0, 1)], [Served(4, 4, 0)]
    assert scheduled(running, line, make_limits())[:2] == ([(0, 1)], [(1, 4)])
    assert scheduled(running, line, make_limits(prefill_first=True))[:2] == ([], [(1, 4)])
    assert scheduled(running, [], make_limits(prefill_first=True))[:2] == ([(0, 1)], [])


def test_where_blocks_run_out_the_last_goes_and_nobody_comes():
    """Blocks of 4: the first crosses into its third and none is free; those in line would need two."""
    running, line = [Served(9, 0, 0, 2), Served(8, 0, 0, 2)], [Served(8, 8, 0)]
    assert scheduled(running, line, make_limits(num_blocks=4)) == ([(0, 0)], [], [0], 3)
    assert scheduled(running, line, make_limits(num_blocks=5)) == ([(0, 0), (1, 0)], [], [0, 1], 5)
    assert scheduled(running, line, make_limits(num_blocks=7)) == ([(0, 0), (1, 0)], [(2, 8)], [0, 1, 2], 7)


def test_whoever_needs_a_block_and_is_the_last_goes():
    running = [Served(8, 0, 0, 2), Served(9, 0, 0, 2)]
    assert scheduled(running, [], make_limits(num_blocks=4)) == ([(0, 0)], [], [0], 2)
