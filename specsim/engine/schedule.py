"""What a step computes: decodes and prompt tokens, under the limits of tokens, slots and KV blocks.

As vLLM's scheduler does it: there are no phases; requests in service come first, in order, then those that wait. A
request that decodes takes 1 + K tokens of the budget, and loses drafts before it is left out. Where the blocks run out,
the last request in service is preempted; its cache moves to the host, or it computes its tokens again later.
"""

from __future__ import annotations

from specsim.arrays import Floats, Words
from specsim.engine.kv_cache import find, publish
from specsim.engine.scheduler_limits import SchedulerLimits
from specsim.engine.slots import admit, preempt_last, take_blocks
from specsim.engine.state import Replica, Requests
from specsim.engine.wait_queue import next_waiting
from specsim.kernels import kernel
from specsim.uniforms import LANE_FOUND


@kernel
def schedule(replica: Replica, requests: Requests, limits: SchedulerLimits, key: Words) -> None:
    """Fill the decodes and chunks of the replica's next step."""
    count, budget = replica.counters, limits.max_num_batched_tokens
    count.decodes[0], count.chunks[0] = 0, 0
    if limits.prefill_first:
        budget, lost = _serve_running(replica, requests, limits, budget, True, False)
        if not lost and not limits.decode_only:  # there, who may come in has come in already
            budget = _admit_prompts(replica, requests, limits, key, budget)
        if count.chunks[0] == 0:
            _serve_running(replica, requests, limits, budget, False, True)
        return
    budget, lost = _serve_running(replica, requests, limits, budget, True, True)
    if not lost and not limits.decode_only:
        _admit_prompts(replica, requests, limits, key, budget)


@kernel
def _serve_running(
    replica: Replica, requests: Requests, limits: SchedulerLimits, budget: int, prompts: bool, decodes: bool
) -> tuple[int, bool]:
    """Serve requests in service, in order; returns the budget that is left, and whether a request was preempted."""
    count, batch = replica.counters, replica.batch
    running, wanted = batch.running, batch.wanted
    all_left, all_blocks, slots = requests.left, requests.blocks, requests.slot
    prompt_tokens, emitted = requests.prompt_tokens, requests.emitted
    blocks_of, num_nodes = limits.blocks_of, limits.num_nodes
    decoding, lengths, chunks, sizes = batch.decodes, batch.num_draft_tokens, batch.chunks, batch.chunk_tokens
    place, lost = 0, False
    while place < count.running[0] and budget > 0:
        request = running[place]
        place += 1
        left, num_draft_tokens = all_left[request], 0
        if not (prompts if left > 0 else decodes):
            continue
        known = prompt_tokens[request] + emitted[request]
        if left > 0:
            tokens = chunk_tokens(left, budget, limits.chunked_prefill)
            held = known - left + tokens
        else:
            num_draft_tokens = wanted[slots[request]]
            while num_nodes[num_draft_tokens] > budget - 1:  # a draft is cut before its request is left out
                num_draft_tokens -= 1
            tokens = 1 + num_nodes[num_draft_tokens]
            held = known - 1 + tokens
        more = max(blocks_of[held] - all_blocks[request], 0)
        while tokens > 0 and count.blocks_in_use[0] + more > limits.num_blocks:
            lost = True
            if preempt_last(replica, requests, limits) == request:
                tokens = 0
        if tokens > 0:
            take_blocks(replica, requests, limits, request, more)
            budget -= tokens
            if left > 0:
                publish(replica, requests, limits, request, held)
                chunks[count.chunks[0]], sizes[count.chunks[0]] = request, tokens
                count.chunks[0] += 1
            else:
                decoding[count.decodes[0]], lengths[count.decodes[0]] = request, num_draft_tokens
                count.decodes[0] += 1
    return budget, lost


@kernel
def chunk_tokens(left: int, budget: int, chunked: bool) -> int:
    """Prompt tokens that a request computes within the step's budget; 0 if it has to wait."""
    return min(left, budget) if chunked or left <= budget else 0


@kernel
def _admit_prompts(replica: Replica, requests: Requests, limits: SchedulerLimits, key: Words, budget: int) -> int:
    """Admit waiting requests until one does not fit; returns the budget that is left."""
    count = replica.counters
    while budget > 0 and count.running[0] < limits.max_num_seqs:
        request = next_waiting(replica)
        if request < 0:
            break
        known, found = requests.prompt_tokens[request] + requests.emitted[request], 0
        if limits.caches_prefixes and requests.left[request] > 0:
            found = find(replica, requests, limits, request)
        left = requests.left[request] - found
        tokens = chunk_tokens(left, budget, limits.chunked_prefill) if left > 0 else 1
        held = known - left + tokens if left > 0 else known
        if tokens == 0 or not admit(replica, requests, limits, key, request, found, held):
            break
        if left > 0:
            replica.batch.chunks[count.chunks[0]], replica.batch.chunk_tokens[count.chunks[0]] = request, tokens
            count.chunks[0] += 1
            budget -= tokens
            publish(replica, requests, limits, request, held)
            continue
        publish(replica, requests, limits, request, known)
        if not limits.prefill_first:  # its cache is there, as of one back from the host: it decodes without drafts
            replica.batch.decodes[count.decodes[0]], replica.batch.num_draft_tokens[count.decodes[0]] = request, 0
            count.decodes[0] += 1
            budget -= tokens
    return budget


@kernel
def admit_decodes(replica: Replica, requests: Requests, limits: SchedulerLimits, key: Words) -> None:
    """Where prompts are in the cache already, admit waiting requests before the step is scheduled.

    Only with room for their longest drafts: a request that is preempted would lose its prompt's cache.
    """
    most = min(limits.max_num_seqs, limits.max_num_batched_tokens)
    while replica.counters.running[0] < most:
        request = next_waiting(replica)
        if request < 0:
            break
        tokens = requests.prompt_tokens[request] + requests.emitted[request] + limits.num_nodes[-1]
        if not admit(replica, requests, limits, key, request, 0, tokens):
            break


@kernel
def look_up(replica: Replica, requests: Requests, share_at_least: Floats) -> None:
    """Look drafts up in the text so far; a look-up may find fewer tokens than wanted, or none."""
    count = replica.counters
    count.lookups[0] = 0
    running, wanted, first_position = replica.batch.running, replica.batch.wanted, replica.batch.first_position
    slots, left, emitted = requests.slot, requests.left, requests.emitted
    for place in range(count.running[0]):
        request = running[place]
        slot = slots[request]
        if left[request] > 0 or wanted[slot] == 0:
            continue
        count.lookups[0] += 1
        uniform = replica.lanes[slot, LANE_FOUND, 0, emitted[request] - first_position[slot]]
        while wanted[slot] > 0 and not uniform < share_at_least[wanted[slot] - 1]:
            wanted[slot] -= 1
