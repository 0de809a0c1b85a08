"""Collects the facts of a run as it goes and hands them over as records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specsim.engine.requests import RequestTable
from specsim.records import PARTS, RequestRecords, RoundRecords, RunRecords, StepRecords

Ints = NDArray[np.int64]


class Recorder:
    """Appends rows; arrays are made once, at the end."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []
        self._parts: list[tuple[float, ...]] = []
        self._counts: list[tuple[int, ...]] = []
        self._rounds: list[tuple[int, Ints, Ints, Ints, Ints, Ints, bool]] = []

    def step(self, span: tuple[float, float], parts: tuple[float, ...], counts: tuple[int, ...]) -> None:
        """One step: (start, end), seconds by part, and the counts of StepRecords in its order."""
        self._spans.append(span)
        self._parts.append(parts)
        self._counts.append(counts)

    def rounds(
        self, requests: Ints, num_draft: Ints, num_nodes: Ints, accepted: Ints, emitted: Ints, *, from_prompt: bool
    ) -> None:
        """Tokens handed to requests at the end of the latest step."""
        self._rounds.append((len(self._spans) - 1, requests, num_draft, num_nodes, accepted, emitted, from_prompt))

    def records(self, table: RequestTable) -> RunRecords:
        """Everything recorded."""
        requests = RequestRecords(
            table.arrival, table.admitted, table.first_token, table.finish, table.prompt_tokens, table.output_tokens
        )
        return RunRecords(requests, self._step_records(), self._round_records())

    def _step_records(self) -> StepRecords:
        spans = np.array(self._spans, dtype=np.float64).reshape(-1, 2)
        parts = np.array(self._parts, dtype=np.float64).reshape(-1, len(PARTS))
        counts = np.array(self._counts, dtype=np.int64).reshape(-1, 7)
        return StepRecords(spans[:, 0], spans[:, 1], parts, *counts.T)

    def _round_records(self) -> RoundRecords:
        sizes = [len(requests) for _, requests, *_ in self._rounds]
        steps = np.repeat(np.array([step for step, *_ in self._rounds], dtype=np.int64), sizes)
        from_prompt = np.repeat(np.array([row[6] for row in self._rounds], dtype=np.bool_), sizes)
        return RoundRecords(
            step=steps,
            request=_joined([row[1] for row in self._rounds]),
            num_draft=_joined([row[2] for row in self._rounds]),
            num_nodes=_joined([row[3] for row in self._rounds]),
            num_accepted=_joined([row[4] for row in self._rounds]),
            num_emitted=_joined([row[5] for row in self._rounds]),
            from_prompt=from_prompt,
        )


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
