"""The state of a run as arrays: of requests, of the replica that serves them, and of the step in flight.

Named tuples of arrays, since numba passes them into compiled code. Numbers that change live in small arrays, at the
places named here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.luck import NUM_LANES

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

NOW, STEP_END = 0, 1
"""Places in ``Replica.time``."""

RUNNING, WAITING, FREE_SLOTS, BLOCKS_IN_USE = 0, 1, 2, 3  # who is where
SENT, RECEIVED = 4, 5  # arrivals that are known, and those of them that have arrived
PHASE, DECODES, CHUNKS, PASSES, LOOKUPS, FINISHED = 6, 7, 8, 9, 10, 11  # of the step
STEPS, ROUNDS = 12, 13  # rows in the log
NUM_COUNTS = 14
"""Places in ``Replica.count``."""

BETWEEN, CHOSEN, SCHEDULED, PRICED, IN_FLIGHT, VERIFIED = range(6)
"""Phases of a step, by what is done: nothing; draft lengths are chosen; it is scheduled; it is priced; it runs until
STEP_END; it is verified."""


class Requests(NamedTuple):
    """All requests of a run, each array of shape [N].

    Attributes:
        prompt_tokens, output_tokens: lengths.
        priority: classes from 0, the first to be served.
        domain: whose acceptance they have, from 0.
        arrival, admitted, first_token, finish: times; admitted is the first time [s].
        emitted: output tokens so far.
        left: tokens to compute before the next token can be drawn by decoding; 0 in a request that decodes.
        blocks: KV blocks held.
        slot: place in tables of what is in service; -1 for none.
        catch_up: tokens that the drafter has not computed.
        preempted: how often it lost its place.
        behind: the next request in line; -1 for none.
    """

    prompt_tokens: Ints
    output_tokens: Ints
    priority: Ints
    domain: Ints
    arrival: Floats
    admitted: Floats
    first_token: Floats
    finish: Floats
    emitted: Ints
    left: Ints
    blocks: Ints
    slot: Ints
    catch_up: Ints
    preempted: Ints
    behind: Ints


class Replica(NamedTuple):
    """A replica between two moments.

    Attributes:
        time: see NOW and STEP_END [s].
        count: see RUNNING and the following.
        running: requests in service, the first ``count[RUNNING]``, by priority and order of admission [S].
        first, last: the ends of the line of each priority; -1 for none [P].
        wanted: for how many positions those in service are to draft, by slot [S].
        free_slots: slots that nobody has, the first ``count[FREE_SLOTS]`` [S].
        sent_at, sent: when requests arrive, ascending, and which; the first ``count[SENT]`` are known [N].
        decodes, num_draft: of the step, requests that verify and for how many positions they draft [S].
        chunks, chunk_tokens: of the step, requests that compute prompt tokens and how many [S].
        passes: of the step, the target's pass and then the drafter's, as rows of ``forward.Pass`` [longest draft + 1].
        parts: of the step, seconds by part.
        num_out, last_is_new: what the verifier gave each decode [S].
        finished: requests that the last step finished, the first ``count[FINISHED]`` [S].
        lanes: uniforms of the requests in service [S, NUM_LANES, positions, columns].
        by_round: likewise, by the start of a round; no columns unless the rule needs them.
        first_position: output position of the first of these [S].
    """

    time: Floats
    count: Ints
    running: Ints
    first: Ints
    last: Ints
    wanted: Ints
    free_slots: Ints
    sent_at: Floats
    sent: Ints
    decodes: Ints
    num_draft: Ints
    chunks: Ints
    chunk_tokens: Ints
    passes: Ints
    parts: Floats
    num_out: Ints
    last_is_new: Bools
    finished: Ints
    lanes: Floats
    by_round: Floats
    first_position: Ints


def new_requests(prompt_tokens: Ints, output_tokens: Ints, priority: Ints, domain: Ints) -> Requests:
    """Requests that nobody has sent yet."""
    number = len(prompt_tokens)
    never = np.full(number, np.nan)
    zeros, nobody = np.zeros(number, np.int64), np.full(number, -1, np.int64)
    return Requests(
        prompt_tokens=np.ascontiguousarray(prompt_tokens, np.int64),
        output_tokens=np.ascontiguousarray(output_tokens, np.int64),
        priority=np.ascontiguousarray(priority, np.int64),
        domain=np.ascontiguousarray(domain, np.int64),
        arrival=never.copy(),
        admitted=never.copy(),
        first_token=never.copy(),
        finish=never.copy(),
        emitted=zeros.copy(),
        left=zeros.copy(),
        blocks=zeros.copy(),
        slot=nobody.copy(),
        catch_up=np.ones(number, np.int64),
        preempted=zeros.copy(),
        behind=nobody.copy(),
    )


def new_replica(
    num_requests: int, num_slots: int, num_priorities: int, num_passes: int, num_positions: int, columns: tuple[int, int]
) -> Replica:
    """An idle replica at time 0 with room for so many requests.

    Args:
        num_requests: of the run.
        num_slots: most requests in service.
        num_priorities: classes of priority.
        num_passes: most forward passes in a step.
        num_positions: output positions whose uniforms are kept at a time.
        columns: uniforms for each output position, and for each start of a round.
    """
    from specsim.forward import Pass
    from specsim.records import PARTS

    ints = {"dtype": np.int64}
    count = np.zeros(NUM_COUNTS, **ints)
    count[FREE_SLOTS] = num_slots
    return Replica(
        time=np.zeros(2),
        count=count,
        running=np.full(num_slots, -1, **ints),
        first=np.full(num_priorities, -1, **ints),
        last=np.full(num_priorities, -1, **ints),
        wanted=np.zeros(num_slots, **ints),
        free_slots=np.arange(num_slots, **ints)[::-1].copy(),
        sent_at=np.full(num_requests, np.inf),
        sent=np.arange(num_requests, **ints),
        decodes=np.zeros(num_slots, **ints),
        num_draft=np.zeros(num_slots, **ints),
        chunks=np.zeros(num_slots, **ints),
        chunk_tokens=np.zeros(num_slots, **ints),
        passes=np.zeros((num_passes, len(Pass._fields)), **ints),
        parts=np.zeros(len(PARTS)),
        num_out=np.zeros(num_slots, **ints),
        last_is_new=np.zeros(num_slots, np.bool_),
        finished=np.zeros(num_slots, **ints),
        lanes=np.zeros((num_slots, NUM_LANES, num_positions, columns[0])),
        by_round=np.zeros((num_slots, NUM_LANES, num_positions if columns[1] else 0, columns[1])),
        first_position=np.zeros(num_slots, **ints),
    )
