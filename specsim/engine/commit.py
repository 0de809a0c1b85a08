"""The end of a step: tokens go to requests, and those that have all of theirs leave."""

from __future__ import annotations

from specsim.arrays import Words
from specsim.drafting.passes import DrafterForm, tokens_to_take_in
from specsim.engine.log import (
    NUM_EMITTED,
    ROUND_ACCEPTED,
    ROUND_DRAFT,
    ROUND_EMITTED,
    ROUND_FROM_PROMPT,
    ROUND_NODES,
    ROUND_REQUEST,
    ROUND_STEP,
    Log,
    gap_class,
)
from specsim.engine.scheduler_limits import SchedulerLimits
from specsim.engine.slots import look_ahead, vacate
from specsim.engine.state import Replica, Requests
from specsim.kernels import kernel


@kernel
def commit(
    replica: Replica, requests: Requests, limits: SchedulerLimits, drafter: DrafterForm, key: Words, log: Log
) -> None:
    """Hand out what the step yields: the decodes' verified tokens, and a token to each prompt that is complete."""
    tokens = _commit_decodes(replica, requests, limits, drafter, log)
    tokens += _commit_chunks(replica, requests, log)
    log.counts[replica.counters.steps[0], NUM_EMITTED] = tokens
    _close_up(replica, requests, limits, key)


@kernel
def _commit_decodes(
    replica: Replica, requests: Requests, limits: SchedulerLimits, drafter: DrafterForm, log: Log
) -> int:
    """Tokens for those that verified, and what their drafter lacks; returns how many tokens."""
    emitted, output_tokens, catch_up = requests.emitted, requests.output_tokens, requests.catch_up
    first_token, last_token, now = requests.first_token, requests.last_token, replica.clock.now[0]
    takes_in, num_nodes, row, step = (
        drafter.takes_in,
        limits.num_nodes,
        replica.counters.rounds[0],
        replica.counters.steps[0],
    )
    decodes, all_out, lengths = replica.batch.decodes, replica.batch.num_out, replica.batch.num_draft_tokens
    last_is_new, rounds, tally, gaps = replica.batch.last_is_new, log.rounds, log.tally, log.gaps
    accepted = log.accepted
    longest, total, gap_sum = len(num_nodes) - 1, 0, 0.0
    for b in range(replica.counters.decodes[0]):
        request, num_out, num_draft_tokens = decodes[b], all_out[b], lengths[b]
        lacking, nodes = output_tokens[request] - emitted[request], num_nodes[num_draft_tokens]
        received = min(num_out, lacking)
        if num_draft_tokens > 0:
            catch_up[request] = 0  # a drafter that sat out still lacks what it lacked before
            accepted[request, num_out - 1] += 1
        catch_up[request] += tokens_to_take_in(takes_in, num_out - 1, last_is_new[b] > 0, nodes + 1)
        if emitted[request] == 0:
            first_token[request] = now
        else:
            gap_sum += now - last_token[request]
            gaps[received, gap_class(now - last_token[request])] += 1
        last_token[request] = now
        emitted[request] += received
        total += received
        tally[num_draft_tokens, num_out, received, 1 if lacking > longest else 0] += 1
        if log.keep_rounds:
            rounds[row, ROUND_STEP], rounds[row, ROUND_REQUEST] = step, request
            rounds[row, ROUND_DRAFT], rounds[row, ROUND_NODES] = num_draft_tokens, nodes
            rounds[row, ROUND_ACCEPTED], rounds[row, ROUND_EMITTED] = num_out - 1, received
            rounds[row, ROUND_FROM_PROMPT] = 0
            row += 1
    replica.counters.rounds[0] = row
    log.gap_sum[0] += gap_sum
    return total


@kernel
def _commit_chunks(replica: Replica, requests: Requests, log: Log) -> int:
    """A token for each prompt that is complete, or complete again; returns how many."""
    tokens, count, now = 0, replica.counters, replica.clock.now[0]
    for i in range(count.chunks[0]):
        request = replica.batch.chunks[i]
        requests.left[request] -= replica.batch.chunk_tokens[i]
        if requests.left[request] > 0:
            continue
        if requests.emitted[request] == 0:
            requests.first_token[request] = now
        else:
            log.gap_sum[0] += now - requests.last_token[request]
            log.gaps[1, gap_class(now - requests.last_token[request])] += 1
        requests.last_token[request] = now
        requests.emitted[request] += 1
        tokens += 1
        if log.keep_rounds:
            row = count.rounds[0]
            log.rounds[row] = 0
            log.rounds[row, ROUND_STEP], log.rounds[row, ROUND_REQUEST] = count.steps[0], request
            log.rounds[row, ROUND_EMITTED], log.rounds[row, ROUND_FROM_PROMPT] = 1, 1
            count.rounds[0] += 1
    return tokens


@kernel
def _close_up(replica: Replica, requests: Requests, limits: SchedulerLimits, key: Words) -> None:
    """Finished requests leave the batch; the others close up, and their next uniforms are drawn where they run out."""
    count, kept, emitted, running = replica.counters, 0, requests.emitted, replica.batch.running
    slot, first_position, num_positions = requests.slot, replica.batch.first_position, replica.lanes.shape[3]
    output_tokens, longest = requests.output_tokens, len(limits.num_nodes)
    count.finished[0] = 0
    for place in range(count.running[0]):
        request = running[place]
        if emitted[request] == output_tokens[request]:
            requests.finish[request] = replica.clock.now[0]
            vacate(replica, requests, limits, request)
            replica.batch.finished[count.finished[0]] = request
            count.finished[0] += 1
            continue
        running[kept] = request
        kept += 1
        if emitted[request] - first_position[slot[request]] + longest > num_positions:
            look_ahead(replica, requests, key, request)
    count.running[0] = kept
