"""The state of a run as arrays: of requests, of the replica that serves them, and of the step in flight.

Named tuples of arrays, since numba passes them into compiled code. Numbers that change live in small arrays, at the
places named here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints, fields_of, new_records
from specsim.engine.scratch import Scratch, new_scratch
from specsim.forward import Passes, new_passes
from specsim.records import PARTS, USES
from specsim.uniforms import NUM_LANES

BETWEEN, CHOSEN, SCHEDULED, PRICED, IN_FLIGHT, VERIFIED = range(6)
"""Phases of a step, by what is done: nothing; draft lengths are chosen; it is scheduled; it is priced; it runs until
STEP_END; it is verified."""


class Counters(np.recarray[Any, Any]):
    """Numbers of a replica that change, one entry each [1].

    Attributes:
        running, waiting: requests in service and in the wait queue.
        waiting_tokens: prompt and output tokens of those that wait.
        free_slots: slots that no request has.
        sent, received: arrivals that are known, and those of them that have come.
        blocks_in_use: KV blocks held by requests in service.
        blocks_unused: KV blocks cached that no request in service holds.
        blocks_on_host: KV blocks swapped out.
        blocks_moved: KV blocks moved to or from the host in this step.
        phase: of the step, see BETWEEN and the following.
        decodes, chunks, passes, lookups: of the step: requests that verify, prompt chunks, forward passes, look-ups.
        finished: requests that the last step finished.
        steps, rounds: rows in the log.
    """

    running: Ints
    waiting: Ints
    waiting_tokens: Ints
    free_slots: Ints
    sent: Ints
    received: Ints
    blocks_in_use: Ints
    blocks_unused: Ints
    blocks_on_host: Ints
    blocks_moved: Ints
    phase: Ints
    decodes: Ints
    chunks: Ints
    passes: Ints
    lookups: Ints
    finished: Ints
    steps: Ints
    rounds: Ints


class Clock(np.recarray[Any, Any]):
    """When a replica is: now, and when its step ends [s], one entry each [1]."""

    now: Floats
    step_end: Floats


class Requests(np.recarray[Any, Any]):
    """All requests of a run, an entry each [N].

    Attributes:
        prompt_tokens, output_tokens: lengths.
        priority: classes from 0, the first to be served.
        domain: whose acceptance they have, from 0.
        recording: which recorded request's acceptance is replayed; -1 for none.
        arrival, admitted, first_token, finish: times; admitted is the first time [s].
        last_token: when it last received tokens [s].
        emitted: output tokens so far.
        left: tokens to compute before the next token can be drawn by decoding; 0 in a request that decodes.
        blocks: KV blocks held.
        on_host: KV blocks swapped out.
        segments: of its prompt's chain, from the beginning, those whose blocks it holds, or last held.
        cached: tokens found in the cache when it was first admitted.
        slot: its index in what is kept of requests in service; -1 for none.
        catch_up: tokens that the drafter has not computed.
        num_draft_tokens: its own draft length, where the policy keeps one.
        preempted: how often it was preempted.
        behind: the next request in its queue; -1 for none.
    """

    prompt_tokens: Ints
    output_tokens: Ints
    priority: Ints
    domain: Ints
    recording: Ints
    arrival: Floats
    admitted: Floats
    first_token: Floats
    finish: Floats
    last_token: Floats
    emitted: Ints
    left: Ints
    blocks: Ints
    on_host: Ints
    segments: Ints
    cached: Ints
    slot: Ints
    catch_up: Ints
    num_draft_tokens: Ints
    preempted: Ints
    behind: Ints


class Batch(np.recarray[Any, Any]):
    """Requests in service: lists, as long as the replica's counters say, and what belongs to a slot [S].

    Attributes:
        running: requests in service, by priority and order of admission.
        free_slots: slots without a request.
        wanted: for how many positions a slot's request is to draft.
        first_position: output position of the first uniforms that a slot has.
        own_uniform: of a slot's request, the uniform that sets its level of acceptance.
        decodes, num_draft_tokens: of the step, requests that verify and for how many positions they draft.
        num_out, last_is_new: what the verifier gave them.
        chunks, chunk_tokens: of the step, requests that compute prompt tokens and how many.
        finished: requests that the last step finished.
    """

    running: Ints
    free_slots: Ints
    wanted: Ints
    first_position: Ints
    own_uniform: Floats
    decodes: Ints
    num_draft_tokens: Ints
    num_out: Ints
    last_is_new: Ints
    chunks: Ints
    chunk_tokens: Ints
    finished: Ints


class WaitQueue(np.recarray[Any, Any]):
    """The first and the last request that waits, for each priority; -1 for none [P]."""

    first: Ints
    last: Ints


class Sent(np.recarray[Any, Any]):
    """When requests arrive, ascending, and which [N]; those that ``counters.sent`` counts are known."""

    at: Floats
    request: Ints


class Cache(NamedTuple):
    """What is kept of text, in nodes: segments that prompts share, then each request's own (see ``engine.kv_cache``).

    Attributes:
        users: requests in service that hold a node [nodes].
        size: blocks kept of it [nodes].
        newer, older: its neighbours in the list of unused nodes, by when each was given back; -1 for none [nodes].
        ends: the list's oldest and newest; -1 for none [2].
    """

    users: Ints
    size: Ints
    newer: Ints
    older: Ints
    ends: Ints


class Replica(NamedTuple):
    """A replica between two moments.

    Attributes:
        clock: when it is.
        counters: what it counts.
        batch: requests in service.
        queue: requests that wait.
        sent: requests that arrive.
        cache: what is kept of text; without nodes unless prefixes are cached.
        passes: of the step, the target's pass and then the drafter's [longest draft + 1].
        parts: of the step, seconds by part.
        used: of the step, bytes, operations and seconds at full peaks, see ``costs.lowered.use_step`` [3].
        memory: what the policy remembers, see ``policies.form``.
        lanes: uniforms of the requests in service [S, NUM_LANES, columns, positions].
        by_round: the same by start of a round; no columns unless the rule needs them.
        traits: the same for what varies with the text; no columns unless acceptance varies.
        scratch: room for what a step works out.
    """

    clock: Clock
    counters: Counters
    batch: Batch
    queue: WaitQueue
    sent: Sent
    cache: Cache
    passes: Passes
    parts: Floats
    used: Floats
    memory: Floats
    lanes: Floats
    by_round: Floats
    traits: Floats
    scratch: Scratch


def new_requests(prompt_tokens: Ints, output_tokens: Ints, priority: Ints, domain: Ints) -> Requests:
    """Requests that are not sent yet; all arguments [N]."""
    requests = new_records(Requests, len(prompt_tokens))
    requests.prompt_tokens[:], requests.output_tokens[:] = prompt_tokens, output_tokens
    requests.priority[:], requests.domain[:] = priority, domain
    for name in ("arrival", "admitted", "first_token", "finish", "last_token"):
        requests[name] = np.nan
    requests.slot[:], requests.behind[:], requests.recording[:], requests.catch_up[:] = -1, -1, -1, 1
    return requests


def new_replica(
    num_requests: int,
    num_slots: int,
    num_priorities: int,
    num_passes: int,
    num_positions: int,
    columns: tuple[int, int],
    longest: int,
    memory: Floats,
    cache: Cache,
    *,
    traits: bool = False,
) -> Replica:
    """An idle replica at time 0.

    Args:
        num_requests: of the run.
        num_slots: most requests in service.
        num_priorities: classes of priority.
        num_passes: most forward passes in a step.
        num_positions: output positions whose uniforms are kept at a time.
        columns: uniforms for each output position, and for each start of a round.
        longest: the longest draft.
        memory: what its policy remembers at first.
        cache: an empty one.
        traits: whether acceptance varies with what the text is like.
    """
    counters, batch = new_records(Counters, 1), new_records(Batch, num_slots)
    counters.free_slots[0], batch.free_slots[:] = num_slots, np.arange(num_slots)[::-1]
    queue, sent = new_records(WaitQueue, num_priorities), new_records(Sent, num_requests)
    queue.first[:], queue.last[:], sent.request[:] = -1, -1, np.arange(num_requests)
    return Replica(
        clock=new_records(Clock, 1),
        counters=counters,
        batch=batch,
        queue=queue,
        sent=sent,
        cache=cache,
        passes=new_passes(num_passes),
        parts=np.zeros(len(PARTS)),
        used=np.zeros(len(USES)),
        memory=memory,
        lanes=np.zeros((num_slots, NUM_LANES, columns[0], num_positions)),
        by_round=np.zeros((num_slots, NUM_LANES, columns[1], num_positions)),
        traits=np.zeros((num_slots, NUM_LANES, int(traits), num_positions)),
        scratch=new_scratch(num_slots, longest),
    )


def put_in_flight(requests: Requests, received: Ints) -> None:
    """Let the first requests have output tokens already when they are sent, at time 0.

    The scheduler then takes them as it takes those back from the host: their cache is there, and they decode at once.
    Uniforms go by output position, so each goes on with its own.

    Args:
        requests: of the run, not sent yet.
        received: output tokens of the first of them, fewer than they ask for [at most N].
    """
    number = len(received)
    requests.emitted[:number] = received
    requests.last_token[:number] = np.where(received > 0, 0.0, np.nan)


def plain_views(replica: Replica, requests: Requests) -> tuple[Replica, Requests]:
    """The same state as plain Python reads it fastest, see ``arrays.fields_of``."""
    fields = {name: fields_of(part) for name, part in replica._asdict().items() if isinstance(part, np.recarray)}
    return replica._replace(**fields), fields_of(requests)
