"""Takes rows out of a replica's log as it fills and hands them over as records."""

from __future__ import annotations

import numpy as np

from specsim.engine.log import NUM_ROUND_COLUMNS, NUM_STEP_COUNTS, Log
from specsim.engine.state import ROUNDS, STEPS, Ints, Replica, Requests
from specsim.records import PARTS, RequestRecords, RoundRecords, RunRecords, StepRecords


class Recorder:
    """Collects rows; arrays are joined once, at the end.

    Args:
        log: of the replica.
        block_size: tokens in a KV block.
    """

    def __init__(self, log: Log, block_size: int) -> None:
        self._log, self._block_size = log, block_size
        self._steps: list[tuple[np.ndarray, ...]] = []
        self._rounds: list[Ints] = []
        self._num_steps = 0

    def take(self, replica: Replica) -> None:
        """Empty the log."""
        steps, rounds = int(replica.count[STEPS]), int(replica.count[ROUNDS])
        log = self._log
        self._steps.append((log.spans[:steps].copy(), log.parts[:steps].copy(), log.counts[:steps].copy()))
        taken = log.rounds[:rounds].astype(np.int64)
        taken[:, 0] += self._num_steps
        self._rounds.append(taken)
        self._num_steps += steps
        replica.count[STEPS] = replica.count[ROUNDS] = 0

    def records(self, requests: Requests) -> RunRecords:
        """Everything recorded."""
        times = RequestRecords(
            requests.arrival,
            requests.admitted,
            requests.first_token,
            requests.finish,
            requests.prompt_tokens,
            requests.output_tokens,
        )
        empty = (np.zeros((0, 2)), np.zeros((0, len(PARTS))), np.zeros((0, NUM_STEP_COUNTS), np.int64))
        spans, parts, counts = (np.concatenate(column) for column in zip(empty, *self._steps, strict=True))
        counts[:, 5] *= self._block_size
        steps = StepRecords(spans[:, 0], spans[:, 1], parts, *counts.T)
        rounds = np.concatenate([np.zeros((0, NUM_ROUND_COLUMNS), np.int64), *self._rounds])
        return RunRecords(times, steps, RoundRecords(*rounds.T[:6], rounds[:, 6].astype(np.bool_)))
