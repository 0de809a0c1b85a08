"""A run as a trace that ui.perfetto.dev and chrome://tracing open: the JSON of Chrome's Trace Event format.

Complete events ("X") for steps and for the phases of requests, counters ("C") for the batch, those who wait and the KV
cache. Times are whole nanoseconds, written in microseconds, so that no two events of a row overlap by rounding.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specsim.arrays import Floats, Ints
from specsim.records import PARTS, RequestRecords, RunRecords, StepRecords

MOST_EVENTS = 200_000
"""Events of a trace, names of rows left out: some 35 MB."""
ENGINE = 1  # process of the first replica; others follow it, and the requests come last
COUNTERS, PHASES, MOVES = 3, 3, 2  # events for each change of the counters, for each request, and if its cache moves

Event = dict[str, Any]


def write_trace(path: Path, run: RunRecords, name: str, most: int = MOST_EVENTS) -> None:
    """Write a run's trace, an event a line.

    Args:
        path: of the file.
        run: at least one step.
        name: of the server, as the viewer shows it; of a fleet, its replicas are numbered.
        most: events after which the trace ends; see ``covers``.
    """
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        for i, event in enumerate(trace_events(run, name, most)):
            file.write((",\n" if i else "") + json.dumps(event, ensure_ascii=False))
        file.write("\n]}\n")


def covers(run: RunRecords, most: int = MOST_EVENTS) -> tuple[float, bool]:
    """Up to when a trace of ``most`` events shows what begins [s], and whether that is the whole run."""
    requests, steps = run.requests, run.steps
    begins = np.concatenate([steps.start, requests.arrival])
    of_steps = np.zeros(len(steps.start), np.int64)
    for own in _by_replica(steps):
        of_steps[own] = 1 + COUNTERS + COUNTERS * _rests_after(steps, own)
    events = np.concatenate([of_steps, np.full(len(requests.arrival), _phases(requests))])
    order = np.argsort(begins, kind="stable")
    fit = int(np.searchsorted(np.cumsum(events[order]), most, "right"))
    if fit == len(order):
        return float(steps.end.max()), True
    return float(begins[order[fit]]), False


def trace_events(run: RunRecords, name: str, most: int = MOST_EVENTS) -> Iterator[Event]:
    """The events of a run: names, steps with their counters, and requests."""
    until, whole = covers(run, most)
    horizon = np.inf if whole else until
    replicas = _by_replica(run.steps)
    for replica, own in enumerate(replicas):
        process = ENGINE + replica
        yield from _names(process, "process", name if run.steps.replica is None else f"{name}, replica {replica}")
        yield from _names(process, "thread", "steps", 1)
        yield from _step_events(run.steps, own, process, horizon)
    process = ENGINE + len(replicas)
    yield from _names(process, "process", "requests")
    yield from _request_events(run.requests, process, horizon, has_prompts=bool(run.steps.num_prompt_tokens.any()))


def _by_replica(steps: StepRecords) -> list[Ints]:
    if steps.replica is None:
        return [np.arange(len(steps.start))]
    return [np.flatnonzero(steps.replica == replica) for replica in range(int(steps.replica.max()) + 1)]


def _step_events(steps: StepRecords, own: Ints, process: int, horizon: float) -> Iterator[Event]:
    start, end = _nanoseconds(steps.start), _nanoseconds(steps.end)
    begun = int(np.searchsorted(steps.start[own], horizon, "left"))
    for i, rests in zip(own[:begun].tolist(), _rests_after(steps, own)[:begun].tolist(), strict=True):
        decodes, prompt_tokens = int(steps.num_decodes[i]), int(steps.num_prompt_tokens[i])
        held: Event = {
            "decodes": decodes,
            "prompt tokens": prompt_tokens,
            "draft tokens": int(steps.num_draft_tokens[i]),
            "output tokens": int(steps.num_emitted[i]),
            "KV tokens held": int(steps.kv_tokens[i]),
        }
        parts = {f"{part} [ms]": round(1e3 * float(steps.parts[i, j]), 6) for j, part in enumerate(PARTS)}
        kind = "decode" if not prompt_tokens else "decode + prompt" if decodes else "prompt"
        yield _complete(process, 1, kind, int(start[i]), int(end[i]), held | parts)
        counts = int(steps.num_running[i]), int(steps.num_waiting[i]), int(steps.kv_tokens[i])
        yield from _counters(process, int(start[i]), *counts)
        if rests:
            yield from _counters(process, int(end[i]), 0, 0, 0)


def _rests_after(steps: StepRecords, own: Ints) -> NDArray[np.bool_]:
    """Whether nobody is there when each of a replica's steps has ended."""
    return np.append(steps.start[own[1:]] > steps.end[own[:-1]], True)[: len(own)]


def _counters(process: int, at: int, running: int, waiting: int, kv_tokens: int) -> Iterator[Event]:
    for name, what, value in (
        ("batch", "requests", running),
        ("waiting", "requests", waiting),
        ("KV cache", "tokens", kv_tokens),
    ):
        yield {"ph": "C", "name": name, "pid": process, "tid": 0, "ts": at / 1e3, "args": {what: value}}


def _phases(requests: RequestRecords) -> int:
    return PHASES if requests.transferred is None else PHASES + MOVES


def _request_events(requests: RequestRecords, process: int, horizon: float, *, has_prompts: bool) -> Iterator[Event]:
    """Phases of requests; where prompts are in the cache already, decoding begins at once."""
    names: tuple[str, ...] = ("queued", "prefill", "decode")
    decodes_from = requests.first_token if has_prompts else requests.admitted
    moments = [requests.arrival, requests.admitted, decodes_from]
    if requests.transferred is not None and requests.resumed is not None:
        names = ("queued", "prefill", "KV transfer", "queued to decode", "decode")
        moments += [np.fmax(moved, decodes_from) for moved in (requests.transferred, requests.resumed)]
    times = _nanoseconds(np.array([*moments, requests.finish]))
    shown = np.flatnonzero(requests.arrival < horizon)
    rows = pack(times[0, shown], times[-1, shown])
    for row in range(int(rows.max(initial=-1)) + 1):
        yield from _names(process, "thread", f"request row {row}", row + 1)
    for i, row in zip(shown.tolist(), rows.tolist(), strict=True):
        about: Event = {
            "request": i,
            "prompt tokens": int(requests.prompt_tokens[i]),
            "output tokens": int(requests.output_tokens[i]),
            "preemptions": int(requests.preemptions[i]),
        }
        for what, replica in (("replica", requests.replica), ("prefill replica", requests.prefill_replica)):
            if replica is not None:
                about[what] = int(replica[i])
        for name, begins, ends in zip(names, times[:-1, i].tolist(), times[1:, i].tolist(), strict=True):
            if ends > begins:
                yield _complete(process, row + 1, name, begins, ends, about)


def pack(begins: Ints, ends: Ints) -> Ints:
    """A row for each of the spans, the first that is free when it begins; so many rows as are there at once [spans]."""
    rows, free, busy = np.zeros(len(begins), np.int64), list[int](), list[tuple[int, int]]()
    for i in np.argsort(begins, kind="stable").tolist():
        while busy and busy[0][0] <= begins[i]:
            heappush(free, heappop(busy)[1])
        rows[i] = heappop(free) if free else len(busy)
        heappush(busy, (int(ends[i]), int(rows[i])))
    return rows


def _complete(process: int, row: int, name: str, begins: int, ends: int, about: Event) -> Event:
    span = {"ts": begins / 1e3, "dur": (ends - begins) / 1e3}
    return {"ph": "X", "name": name, "pid": process, "tid": row} | span | {"args": about}


def _names(process: int, kind: str, name: str, row: int = 0) -> Iterator[Event]:
    about: dict[str, Any] = {"ph": "M", "pid": process, "tid": row}
    place = row if kind == "thread" else process
    yield about | {"name": f"{kind}_name", "args": {"name": name}}
    yield about | {"name": f"{kind}_sort_index", "args": {"sort_index": place}}


def _nanoseconds(seconds: Floats) -> NDArray[np.int64]:
    return np.rint(seconds * 1e9).astype(np.int64)
