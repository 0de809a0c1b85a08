"""The end of a step: tokens go to requests, and those that have all of theirs leave."""

from __future__ import annotations

from specsim.drafting.passes import DrafterForm, tokens_to_take_in
from specsim.engine.limits import Limits
from specsim.engine.log import (
    ROUND_ACCEPTED,
    ROUND_DRAFT,
    ROUND_EMITTED,
    ROUND_FROM_PROMPT,
    ROUND_NODES,
    ROUND_REQUEST,
    ROUND_STEP,
    Int32s,
    Log,
)
from specsim.engine.places import look_ahead, vacate
from specsim.engine.state import CHUNKS, DECODES, FINISHED, NOW, ROUNDS, RUNNING, STEPS, Ints, Replica, Requests, Words
from specsim.kernels import kernel


@kernel
def commit(replica: Replica, requests: Requests, limits: Limits, drafter: DrafterForm, key: Words, log: Log) -> None:
    """Hand out what the step yields: the decodes' verified tokens, and a token to each prompt that is complete."""
    _commit_decodes(replica, requests, limits, drafter, log.rounds)
    for i in range(replica.count[CHUNKS]):
        request = replica.seats.chunks[i]
        requests.left[request] -= replica.seats.chunk_tokens[i]
        if requests.left[request] == 0:
            if requests.emitted[request] == 0:
                requests.first_token[request] = replica.time[NOW]
            requests.emitted[request] += 1
            _write_first_token(log.rounds, replica.count, request)
    _close_up(replica, requests, len(limits.num_nodes), key)


@kernel
def _commit_decodes(
    replica: Replica, requests: Requests, limits: Limits, drafter: DrafterForm, rounds: Int32s
) -> None:
    """Tokens for those that verified, and what their drafter lacks."""
    emitted, output_tokens, catch_up = requests.emitted, requests.output_tokens, requests.catch_up
    takes_in, num_nodes, row, step = drafter.takes_in, limits.num_nodes, replica.count[ROUNDS], replica.count[STEPS]
    decodes, all_out, lengths = replica.seats.decodes, replica.seats.num_out, replica.seats.num_draft
    last_is_new = replica.seats.last_is_new
    for b in range(replica.count[DECODES]):
        request, num_out, num_draft = decodes[b], all_out[b], lengths[b]
        received, nodes = min(num_out, output_tokens[request] - emitted[request]), num_nodes[num_draft]
        if num_draft > 0:
            catch_up[request] = 0  # a drafter that sat out still lacks what it lacked before
        catch_up[request] += tokens_to_take_in(takes_in, num_out - 1, last_is_new[b] > 0, nodes + 1)
        if emitted[request] == 0:
            requests.first_token[request] = replica.time[NOW]
        emitted[request] += received
        rounds[row, ROUND_STEP], rounds[row, ROUND_REQUEST] = step, request
        rounds[row, ROUND_DRAFT], rounds[row, ROUND_NODES] = num_draft, nodes
        rounds[row, ROUND_ACCEPTED], rounds[row, ROUND_EMITTED] = num_out - 1, received
        rounds[row, ROUND_FROM_PROMPT] = 0
        row += 1
    replica.count[ROUNDS] = row


@kernel
def _write_first_token(rounds: Int32s, count: Ints, request: int) -> None:
    """The round of a prompt that is complete."""
    row = count[ROUNDS]
    rounds[row] = 0
    rounds[row, ROUND_STEP], rounds[row, ROUND_REQUEST] = count[STEPS], request
    rounds[row, ROUND_EMITTED], rounds[row, ROUND_FROM_PROMPT] = 1, 1
    count[ROUNDS] += 1


@kernel
def _close_up(replica: Replica, requests: Requests, longest: int, key: Words) -> None:
    """Those whose output is complete leave, and the others close up; their luck is drawn as far as it is needed."""
    count, kept, emitted, running = replica.count, 0, requests.emitted, replica.seats.running
    slot, first_position, num_positions = requests.slot, replica.seats.first_position, replica.lanes.shape[2]
    output_tokens = requests.output_tokens
    count[FINISHED] = 0
    for place in range(count[RUNNING]):
        request = running[place]
        if emitted[request] == output_tokens[request]:
            requests.finish[request] = replica.time[NOW]
            vacate(replica, requests, request)
            replica.seats.finished[count[FINISHED]] = request
            count[FINISHED] += 1
            continue
        running[kept] = request
        kept += 1
        if emitted[request] - first_position[slot[request]] + longest > num_positions:
            look_ahead(replica, requests, key, request)
    count[RUNNING] = kept
