"""The records of several replicas that served the requests of one run, as those of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from specsim.arrays import Ints
from specsim.records import RequestRecords, RoundRecords, RoundTally, RunRecords, StepRecords


def merged(served: RequestRecords, runs: Sequence[RunRecords]) -> RunRecords:
    """The steps and rounds of all replicas, in order of time; of steps that begin at once, the lowest replica's first.

    Args:
        served: the requests.
        runs: of each replica, which number them alike.
    """
    replica = np.repeat(np.arange(len(runs)), [len(run.steps.start) for run in runs])
    columns = {
        field.name: np.concatenate([getattr(run.steps, field.name) for run in runs])
        for field in fields(StepRecords)
        if all(getattr(run.steps, field.name) is not None for run in runs)
    }
    order = np.lexsort((replica, columns["start"]))
    steps = StepRecords(**{name: column[order] for name, column in columns.items()}, replica=replica[order])
    tally = _tally([run.tally for run in runs if run.tally is not None])
    rounds = [run.rounds for run in runs if run.rounds is not None]
    return RunRecords(served, steps, _rounds(rounds, runs, order) if len(rounds) == len(runs) else None, tally)


def _rounds(rounds: Sequence[RoundRecords], runs: Sequence[RunRecords], order: Ints) -> RoundRecords:
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in rounds]) for field in fields(rounds[0])
    }
    before = np.cumsum([0, *(len(run.steps.start) for run in runs[:-1])])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))  # of each replica's steps, one replica after the other, among all
    columns["step"] = place[columns["step"] + np.repeat(before, [len(part.step) for part in rounds])]
    sort = np.argsort(columns["step"], kind="stable")
    return RoundRecords(**{name: column[sort] for name, column in columns.items()})


def _tally(tallies: Sequence[RoundTally]) -> RoundTally:
    """All counts together; kinds ascend."""
    names = ("num_draft", "num_nodes", "num_accepted", "num_emitted", "free")
    table = np.stack([np.concatenate([getattr(tally, name) for tally in tallies]) for name in names], axis=1)
    kinds, place = np.unique(table, axis=0, return_inverse=True)
    count = np.zeros(len(kinds), np.int64)
    np.add.at(count, place, np.concatenate([tally.count for tally in tallies]))
    chunks = [np.concatenate([getattr(tally, name) for tally in tallies]) for name in ("gap", "gap_tokens")]
    gaps, at = np.unique(np.stack(chunks, axis=1), axis=0, return_inverse=True)
    gap_count = np.zeros(len(gaps), np.int64)
    np.add.at(gap_count, at, np.concatenate([tally.gap_count for tally in tallies]))
    num_draft, num_nodes, num_accepted, num_emitted, free = kinds.T.copy()
    gap_sum = sum(tally.gap_sum for tally in tallies)
    return RoundTally(
        num_draft=num_draft,
        num_nodes=num_nodes,
        num_accepted=num_accepted,
        num_emitted=num_emitted,
        free=free.astype(np.bool_),
        count=count,
        gap=gaps[:, 0].copy(),
        gap_tokens=gaps[:, 1].astype(np.int64),
        gap_count=gap_count,
        gap_sum=gap_sum,
    )
