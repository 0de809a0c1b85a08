"""The rows that a replica writes as it goes: a step each, and a round for each request that received tokens."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Int32s, Ints
from specsim.engine.state import Replica
from specsim.kernels import kernel
from specsim.records import PARTS, USES

NUM_STEP_COUNTS, NUM_ROUND_COLUMNS = 8, 7
KV_BLOCKS, NUM_EMITTED = 5, 7  # of the counts of a step
SHORTEST_GAP, GAP_RATIO, NUM_GAPS = 1e-7, 1.005, 6144
"""Gaps between chunks are counted in classes [s]: from the shortest on, each GAP_RATIO times the one before; the last
class begins beyond 10^6 s."""
ROUND_STEP, ROUND_REQUEST, ROUND_DRAFT, ROUND_NODES, ROUND_ACCEPTED, ROUND_EMITTED, ROUND_FROM_PROMPT = range(7)


class Log(NamedTuple):
    """Rows not yet taken away, as many as the replica's counters ``steps`` and ``rounds`` say.

    Attributes:
        spans: start and end of steps [s].
        parts: seconds by part.
        used: bytes, operations and seconds at full peaks.
        counts: of steps, as ``records.StepRecords`` has them from num_decodes on.
        rounds: as ``records.RoundRecords`` has them; the step is its number since the last time rows were taken.
        keep_rounds: whether rounds are written; they are counted in any case.
        tally: verifies by positions drafted, tokens out, tokens received, and whether the output could not end.
        gaps: times between chunks by tokens received after them and class.
        gap_sum: their sum [s]; [1].
        accepted: verifies of drafts, by request and tokens accepted [N, longest draft + 1].
    """

    spans: Floats
    parts: Floats
    used: Floats
    counts: Ints
    rounds: Int32s
    keep_rounds: bool
    tally: Ints
    gaps: Ints
    gap_sum: Floats
    accepted: Int32s


def new_log(num_steps: int, num_rounds: int, longest: int, num_requests: int, *, keep_rounds: bool) -> Log:
    """An empty log for these numbers of steps, rounds and requests, with drafts of up to ``longest`` positions."""
    return Log(
        spans=np.zeros((num_steps, 2)),
        parts=np.zeros((num_steps, len(PARTS))),
        used=np.zeros((num_steps, len(USES))),
        counts=np.zeros((num_steps, NUM_STEP_COUNTS), np.int64),
        rounds=np.zeros((num_rounds if keep_rounds else 0, NUM_ROUND_COLUMNS), np.int32),
        keep_rounds=keep_rounds,
        tally=np.zeros((longest + 1, longest + 2, longest + 2, 2), np.int64),
        gaps=np.zeros((longest + 2, NUM_GAPS), np.int64),
        gap_sum=np.zeros(1),
        accepted=np.zeros((num_requests, longest + 1), np.int32),
    )


@kernel
def has_room(log: Log, replica: Replica) -> bool:
    """Whether another step fits, with a round for every request in service."""
    steps, rounds = replica.counters.steps[0], replica.counters.rounds[0]
    return steps < len(log.spans) and (not log.keep_rounds or rounds + len(replica.batch.running) <= len(log.rounds))


@kernel
def write_step(log: Log, replica: Replica) -> None:
    """The step that begins now."""
    count, row = replica.counters, replica.counters.steps[0]
    log.spans[row, 0], log.spans[row, 1] = replica.clock.now[0], replica.clock.step_end[0]
    for part in range(len(replica.parts)):
        log.parts[row, part] = replica.parts[part]
    for use in range(len(replica.used)):
        log.used[row, use] = replica.used[use]
    counts, passes = log.counts[row], replica.passes
    counts[0], counts[1] = count.decodes[0], passes.prompt_tokens[0]
    counts[2] = passes.tokens[0] - passes.prompt_tokens[0] - count.decodes[0]
    counts[3], counts[4], counts[5] = count.running[0], count.waiting[0], count.blocks_in_use[0]
    counts[6] = passes.context_tokens[0]


@kernel
def gap_class(seconds: float) -> int:
    """The class of a time between chunks."""
    if seconds <= SHORTEST_GAP:
        return 0
    return min(1 + int(math.log(seconds / SHORTEST_GAP) / math.log(GAP_RATIO)), NUM_GAPS - 1)


def gap_middles() -> Floats:
    """The time that stands for each class: in the middle of it, by ratio [s]."""
    middles: Floats = SHORTEST_GAP * np.power(GAP_RATIO, np.arange(NUM_GAPS) - 0.5)
    return middles
