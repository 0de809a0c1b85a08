"""Takes rows out of a replica's log as it fills and hands them over as records."""

from __future__ import annotations

import numpy as np

from specsim.engine.log import NUM_ROUND_COLUMNS, NUM_STEP_COUNTS, Log, gap_middles
from specsim.engine.state import ROUNDS, STEPS, Ints, Replica, Requests
from specsim.records import PARTS, RequestRecords, RoundRecords, RoundTally, RunRecords, StepRecords


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
        """Empty the log of its rows."""
        steps, rounds = int(replica.number[STEPS]), int(replica.number[ROUNDS])
        log = self._log
        self._steps.append((log.spans[:steps].copy(), log.parts[:steps].copy(), log.counts[:steps].copy()))
        taken = log.rounds[:rounds].astype(np.int64)
        taken[:, 0] += self._num_steps
        self._rounds.append(taken)
        self._num_steps += steps
        replica.number[STEPS] = replica.number[ROUNDS] = 0

    def records(self, served: RequestRecords, num_nodes: Ints) -> RunRecords:
        """Everything recorded.

        Args:
            served: the requests of the run.
            num_nodes: draft tokens of a draft for 0, 1, .. D positions.
        """
        empty = (np.zeros((0, 2)), np.zeros((0, len(PARTS))), np.zeros((0, NUM_STEP_COUNTS), np.int64))
        spans, parts, counts = (np.concatenate(column) for column in zip(empty, *self._steps, strict=True))
        counts[:, 5] *= self._block_size
        start, end = spans.T.copy()
        steps = StepRecords(start, end, parts, *counts.T.copy()[:NUM_STEP_COUNTS])
        tally = self._tally(num_nodes)
        if not self._log.keep_rounds:
            return RunRecords(served, steps, None, tally)
        rounds = np.concatenate([np.zeros((0, NUM_ROUND_COLUMNS), np.int64), *self._rounds]).T.copy()
        step, request, num_draft, nodes, accepted, emitted, from_prompt = rounds
        kept = RoundRecords(step, request, num_draft, nodes, accepted, emitted, from_prompt.astype(np.bool_))
        return RunRecords(served, steps, kept, tally)

    def _tally(self, num_nodes: Ints) -> RoundTally:
        log = self._log
        num_draft, num_out, num_emitted, free = kinds = np.nonzero(log.tally)
        gaps = np.flatnonzero(log.gaps)
        return RoundTally(
            num_draft=num_draft,
            num_nodes=num_nodes[num_draft],
            num_accepted=num_out - 1,
            num_emitted=num_emitted,
            free=free > 0,
            count=log.tally[kinds],
            gap=gap_middles()[gaps],
            gap_count=log.gaps[gaps],
            gap_sum=float(log.gap_sum[0]),
        )


def request_records(requests: Requests) -> RequestRecords:
    """What became of the requests."""
    return RequestRecords(
        arrival=requests.arrival.copy(),
        admitted=requests.admitted.copy(),
        first_token=requests.first_token.copy(),
        finish=requests.finish.copy(),
        prompt_tokens=requests.prompt_tokens.copy(),
        output_tokens=requests.output_tokens.copy(),
        preemptions=requests.preempted.copy(),
        cached_tokens=requests.cached.copy(),
    )
