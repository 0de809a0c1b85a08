"""Takes rows out of a replica's log as it fills and hands them over as records, held in memory or written to files.

What was read is the same either way; a file's rows take room only as far as they are looked at, and the system takes it
back when it is short.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from specsim.arrays import Int32s, Ints
from specsim.engine.log import KV_BLOCKS, NUM_ROUND_COLUMNS, NUM_STEP_COUNTS, Log, gap_middles
from specsim.engine.state import Replica, Requests
from specsim.records import PARTS, USES, RequestRecords, RoundRecords, RoundTally, RunRecords, StepRecords


class Rows:
    """A table that grows.

    Args:
        columns: how many there are.
        dtype: of all of them.
        file: where rows are written as they come; None to hold them.
    """

    def __init__(self, columns: int, dtype: DTypeLike, file: Path | None = None) -> None:
        self._columns, self._dtype, self._file = columns, np.dtype(dtype), file
        self._blocks: list[NDArray[Any]] = []
        self._number = 0
        if file is not None:
            file.write_bytes(b"")

    def add(self, block: NDArray[Any]) -> None:
        """Rows [any number, columns], which are copied."""
        rows = np.array(block, self._dtype, order="C")
        self._number += len(rows)
        if self._file is None:
            self._blocks.append(rows)
            return
        with self._file.open("ab") as end:
            rows.tofile(end)

    def all(self) -> NDArray[Any]:
        """Every row, of a file as a view of it [rows, columns]; nothing can be added afterwards."""
        shape = (self._number, self._columns)
        if self._file is not None and self._number:  # no view can be made of an empty file
            return np.memmap(self._file, self._dtype, "r", shape=shape)
        joined = np.concatenate([np.zeros((0, self._columns), self._dtype), *self._blocks])
        self._blocks.clear()
        return joined


class Recorder:
    """Collects rows as they come, in memory or in files.

    Args:
        log: of the replica.
        block_size: tokens in a KV block.
        counts_use: whether the log holds what steps ask of a device.
        folder: where rows are written; None to hold them.
    """

    def __init__(self, log: Log, block_size: int, *, counts_use: bool, folder: Path | None = None) -> None:
        self._log, self._block_size, self._counts_use = log, block_size, counts_use
        files = {name: folder / name if folder else None for name in ("spans", "parts", "used", "counts", "rounds")}
        self._spans, self._parts = Rows(2, np.float64, files["spans"]), Rows(len(PARTS), np.float64, files["parts"])
        self._used = Rows(len(USES), np.float64, files["used"])
        self._counts = Rows(NUM_STEP_COUNTS, np.int64, files["counts"])
        self._rounds = Rows(NUM_ROUND_COLUMNS, np.int64, files["rounds"])
        self._num_steps = 0

    def take(self, replica: Replica) -> None:
        """Empty the log of its rows."""
        steps, rounds = int(replica.counters.steps[0]), int(replica.counters.rounds[0])
        log = self._log
        self._spans.add(log.spans[:steps])
        self._parts.add(log.parts[:steps])
        if self._counts_use:
            self._used.add(log.used[:steps])
        counts = log.counts[:steps].copy()
        counts[:, KV_BLOCKS] *= self._block_size
        self._counts.add(counts)
        taken = log.rounds[:rounds].astype(np.int64)
        taken[:, 0] += self._num_steps
        self._rounds.add(taken)
        self._num_steps += steps
        replica.counters.steps[0] = replica.counters.rounds[0] = 0

    def records(self, served: RequestRecords, num_nodes: Ints) -> RunRecords:
        """Everything recorded; nothing can be taken afterwards.

        Args:
            served: the requests of the run.
            num_nodes: draft tokens of a draft for 0, 1, .. D positions.
        """
        used = self._used.all() if self._counts_use else None
        start, end = self._spans.all().T
        decodes, prompt, draft, running, waiting, kv, context, emitted = self._counts.all().T
        steps = StepRecords(
            start, end, self._parts.all(), decodes, prompt, draft, running, waiting, kv, context, emitted, used
        )
        tally = self._tally(num_nodes)
        if not self._log.keep_rounds:
            return RunRecords(served, steps, None, tally)
        step, request, num_draft, nodes, accepted, emitted, from_prompt = self._rounds.all().T
        kept = RoundRecords(step, request, num_draft, nodes, accepted, emitted, from_prompt.astype(np.bool_))
        return RunRecords(served, steps, kept, tally)

    def _tally(self, num_nodes: Ints) -> RoundTally:
        log = self._log
        num_draft, num_out, num_emitted, free = kinds = np.nonzero(log.tally)
        gaps, tokens = np.nonzero(log.gaps.T)
        return RoundTally(
            num_draft=num_draft,
            num_nodes=num_nodes[num_draft],
            num_accepted=num_out - 1,
            num_emitted=num_emitted,
            free=free > 0,
            count=log.tally[kinds],
            gap=gap_middles()[gaps],
            gap_tokens=tokens,
            gap_count=log.gaps[tokens, gaps],
            gap_sum=float(log.gap_sum[0]),
        )


def request_records(requests: Requests, accepted: Int32s) -> RequestRecords:
    """What became of the requests, and what was accepted of their drafts."""
    return RequestRecords(
        arrival=requests.arrival.copy(),
        admitted=requests.admitted.copy(),
        first_token=requests.first_token.copy(),
        finish=requests.finish.copy(),
        prompt_tokens=requests.prompt_tokens.copy(),
        output_tokens=requests.output_tokens.copy(),
        preemptions=requests.preempted.copy(),
        cached_tokens=requests.cached.copy(),
        accepted=accepted,
    )


def with_received(run: RunRecords, received: Ints) -> RunRecords:
    """A run with what its requests had when it began."""
    of_all = np.zeros(len(run.requests.finish), np.int64)
    of_all[: len(received)] = received
    return replace(run, requests=replace(run.requests, received=of_all))
