"""The rows that a replica writes as it goes: a step each, and a round for each request that received tokens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specsim.engine.state import (
    BLOCKS_IN_USE,
    CHUNKS,
    DECODES,
    NOW,
    ROUNDS,
    RUNNING,
    STEP_END,
    STEPS,
    WAITING,
    Floats,
    Ints,
    Replica,
)
from specsim.forward import PROMPT_TOKENS, TOKENS
from specsim.kernels import kernel

Int32s = NDArray[np.int32]

NUM_STEP_COUNTS, NUM_ROUND_COLUMNS = 6, 7
ROUND_STEP, ROUND_REQUEST, ROUND_DRAFT, ROUND_NODES, ROUND_ACCEPTED, ROUND_EMITTED, ROUND_FROM_PROMPT = range(7)


class Log(NamedTuple):
    """Rows not yet taken away, as many as ``Replica.count`` says in STEPS and ROUNDS.

    Attributes:
        spans: start and end of steps [s].
        parts: seconds by part.
        counts: of steps, as ``records.StepRecords`` has them from num_decodes on.
        rounds: as ``records.RoundRecords`` has them; the step is its number since the last time rows were taken.
    """

    spans: Floats
    parts: Floats
    counts: Ints
    rounds: Int32s


def new_log(num_steps: int, num_slots: int, num_parts: int) -> Log:
    """Room for so many steps of so many requests."""
    return Log(
        spans=np.zeros((num_steps, 2)),
        parts=np.zeros((num_steps, num_parts)),
        counts=np.zeros((num_steps, NUM_STEP_COUNTS), np.int64),
        rounds=np.zeros((num_steps * num_slots, NUM_ROUND_COLUMNS), np.int32),
    )


@kernel
def has_room(log: Log, replica: Replica) -> bool:
    """Whether another step fits, with a round for every request in service."""
    steps, rounds = replica.count[STEPS], replica.count[ROUNDS]
    return steps < len(log.spans) and rounds + len(replica.seats.running) <= len(log.rounds)


@kernel
def write_step(log: Log, replica: Replica) -> None:
    """The step that begins now."""
    count, row = replica.count, replica.count[STEPS]
    log.spans[row, 0], log.spans[row, 1] = replica.time[NOW], replica.time[STEP_END]
    for part in range(len(replica.parts)):
        log.parts[row, part] = replica.parts[part]
    counts, target = log.counts[row], replica.passes[0]
    counts[0], counts[1] = count[DECODES], target[PROMPT_TOKENS]
    counts[2] = target[TOKENS] - target[PROMPT_TOKENS] - count[DECODES]
    counts[3], counts[4], counts[5] = count[RUNNING], count[WAITING], count[BLOCKS_IN_USE]
