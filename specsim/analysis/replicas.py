"""A run of several replicas as one run of each: its requests as the replica had them, and the steps that it took.

With disaggregated prefill, a request is sent to the replica that decodes it when its prompt's cache has arrived, and
receives one token less there; the prefill replica is done with it at the first token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from specsim.arrays import Bools, Ints
from specsim.records import RequestRecords, RoundRecords, RunRecords, StepRecords

Table = TypeVar("Table", RequestRecords, StepRecords, RoundRecords)


def num_replicas(run: RunRecords) -> int:
    """Number of replicas that took part; idle ones with the highest numbers are not seen."""
    requests = run.requests
    if requests.replica is None:
        return 1
    highest = int(requests.replica.max())
    return 1 + (highest if requests.prefill_replica is None else max(highest, int(requests.prefill_replica.max())))


def replica_runs(run: RunRecords) -> Iterator[tuple[int, RunRecords]]:
    """Each replica that was sent requests, with its own run; rounds are not tallied by replica."""
    for replica in range(num_replicas(run)):
        own = replica_run(run, replica)
        if len(own.requests.finish):
            yield replica, own


def replica_run(run: RunRecords, replica: int) -> RunRecords:
    """What one replica was sent and did."""
    if run.requests.replica is None or run.steps.replica is None:
        return replace(run, tally=None)
    of_step = run.steps.replica == replica
    steps = replace(_chosen(run.steps, of_step), replica=None)
    rounds = None
    if run.rounds is not None:
        rounds = _chosen(run.rounds, of_step[run.rounds.step])
        rounds = replace(rounds, step=_renumbered(rounds.step, of_step))
    requests, chosen = _requests_at(run, replica, rounds)
    if rounds is not None:
        rounds = replace(rounds, request=_renumbered(rounds.request, chosen))
    return RunRecords(requests, steps, rounds)


def _requests_at(run: RunRecords, replica: int, rounds: RoundRecords | None) -> tuple[RequestRecords, Bools]:
    """The requests of a replica and a mask of them, bool [requests]; ``rounds`` are its own, by the run's requests."""
    requests = run.requests
    alone: dict[str, Any] = dict.fromkeys(("replica", "prefill_replica", "transferred", "resumed", "accepted"))
    decoded = np.asarray(requests.replica == replica)
    if requests.prefill_replica is None or requests.transferred is None or requests.resumed is None:
        return replace(_chosen(requests, decoded), **alone), decoded
    prefilled = requests.prefill_replica == replica
    if prefilled.any():
        own = _chosen(requests, prefilled)
        return replace(own, finish=own.first_token, output_tokens=np.ones_like(own.output_tokens), **alone), prefilled
    first = requests.finish.copy()  # its first token here; where rounds are not kept, the last stands for it
    if rounds is not None:
        ready = run.steps.end[run.steps.replica == replica][rounds.step]
        np.minimum.at(first, rounds.request, ready)
    moved = replace(
        requests,
        arrival=requests.transferred,
        admitted=requests.resumed,
        first_token=first,
        output_tokens=requests.output_tokens - 1,
        cached_tokens=np.zeros_like(requests.cached_tokens),
        **alone,
    )
    return _chosen(moved, decoded), decoded


def _chosen(table: Table, chosen: Bools) -> Table:
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    return replace(table, **{name: column[chosen] for name, column in columns.items() if column is not None})


def _renumbered(places: Ints, chosen: Bools) -> Ints:
    """Indices among the chosen entries."""
    return np.asarray((np.cumsum(chosen) - 1)[places])
