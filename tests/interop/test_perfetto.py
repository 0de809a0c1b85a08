"""A trace is what viewers read, holds what the run held, and ends where it says."""

import json
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.analysis.replicas import num_replicas
from specsim.inputs.read.scenario import load_scenario
from specsim.interop.perfetto import covers, pack, trace_events, write_trace
from specsim.simulation.fleet import simulation_of

NANOSECONDS = 1000  # in a microsecond
REQUIRED = {
    "X": {"ph", "name", "pid", "tid", "ts", "dur", "args"},
    "C": {"ph", "name", "pid", "tid", "ts", "args"},
    "M": {"ph", "name", "pid", "tid", "args"},
}
CASES = {
    "closed": ("workload.load={kind: closed_loop, concurrency: 8}",),
    "queue": ("workload.load={kind: poisson, rate: 1000 requests/s}", "workload.lengths.prompt=[2000, 9000]"),
    "rests": ("workload.load={kind: poisson, rate: 2 requests/s}",),
    "in the cache": ("workload.load={kind: closed_loop, concurrency: 8}", "workload.decode_only=true"),
    "fleet": ("workload.load={kind: poisson, rate: 90 requests/s}", "fleet.replicas=3"),
    "prompts apart": (
        "workload.load={kind: poisson, rate: 90 requests/s}",
        "fleet={disaggregation: {prefill: 1, decode: 2, kv_transfer: {bandwidth: 1 GB/s, latency: 1 ms}}}",
    ),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def run(request):
    lengths = "workload.lengths={kind: uniform, prompt: [50, 400], output: [1, 40]}"
    inputs = load_scenario("llama3.1-8b-h100-eagle3", [lengths, *request.param])
    load = inputs.scenario.workload.load
    return simulation_of(inputs).run(load, num_draft_tokens=3, num_requests=40, replication=0)


@pytest.fixture(scope="module")
def trace(run, tmp_path_factory):
    """What a viewer reads from the file."""
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    write_trace(path, run, "größe")
    return json.loads(path.read_text(encoding="utf-8"))


def spans(events):
    """(begin, end, name) of the complete events of each row [ns]."""
    rows = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begins = round(event["ts"] * NANOSECONDS)
            span = (begins, begins + round(event["dur"] * NANOSECONDS), event["name"])
            rows[event["pid"], event["tid"]].append(span)
    return rows


def nanoseconds(times):
    return np.rint(times * 1e9).astype(np.int64)


def test_every_event_has_what_the_format_requires(trace):
    assert trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        assert set(event) == REQUIRED[event["ph"]]
        assert isinstance(event["name"], str)
        assert all(isinstance(event[name], int) for name in ("pid", "tid"))
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 1) > 0
        if event["ph"] == "C":
            assert all(value >= 0 for value in event["args"].values())


def test_every_row_and_process_has_a_name(trace, run):
    events = trace["traceEvents"]
    named = {(e["name"], e["pid"], e["tid"]) for e in events if e["name"] in ("process_name", "thread_name")}
    assert {("process_name", pid, 0) for pid, _ in spans(events)} <= named
    assert {("thread_name", pid, tid) for pid, tid in spans(events)} <= named
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    numbered = [f"größe, replica {replica}" for replica in range(num_replicas(run))]
    assert names == [*(["größe"] if run.steps.replica is None else numbered), "requests"]


def test_nothing_overlaps_in_a_row(trace):
    for row in spans(trace["traceEvents"]).values():
        row.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(row))


def requests_process(run):
    """The process after those of the replicas."""
    return 1 + num_replicas(run)


def steps_of(run):
    """(process, which steps it took) of each replica."""
    if run.steps.replica is None:
        return [(1, np.arange(len(run.steps.start)))]
    return [(1 + replica, np.flatnonzero(run.steps.replica == replica)) for replica in range(num_replicas(run))]


def test_each_replica_has_the_rows_of_its_own_steps(trace, run):
    rows = spans(trace["traceEvents"])
    for process, own in steps_of(run):
        taken = [(begin, end) for begin, end, _ in rows[process, 1]]
        assert taken == list(zip(nanoseconds(run.steps.start[own]), nanoseconds(run.steps.end[own]), strict=True))


def test_steps_are_as_long_as_the_server_was_busy(trace, run):
    rows = spans(trace["traceEvents"])
    steps = [step for process, _ in steps_of(run) for step in rows[process, 1]]
    assert len(steps) == len(run.steps.start)
    busy = sum(end - begin for begin, end, _ in steps)
    # each end of a step is rounded to a nanosecond, which moves it by half of one
    assert abs(busy - 1e9 * (run.steps.end - run.steps.start).sum()) <= len(steps)
    parts = sum(
        value
        for event in trace["traceEvents"]
        if event["ph"] == "X" and event["pid"] < requests_process(run)
        for name, value in event["args"].items()
        if name.endswith("[ms]")
    )
    # each of the parts is rounded to a nanosecond
    assert abs(1e6 * parts - busy) <= len(steps) * (1 + run.steps.parts.shape[1] / 2)


def test_requests_are_there_from_arrival_to_finish(trace, run):
    phases = defaultdict(list)
    for event in trace["traceEvents"]:
        if (event["ph"], event["pid"]) == ("X", requests_process(run)):
            begins = round(event["ts"] * NANOSECONDS)
            phases[event["args"]["request"]].append((begins, begins + round(event["dur"] * NANOSECONDS), event["name"]))
    arrival, finish = nanoseconds(run.requests.arrival), nanoseconds(run.requests.finish)
    admitted, first = nanoseconds(run.requests.admitted), nanoseconds(run.requests.first_token)
    assert sorted(phases) == list(range(len(arrival)))
    for request, own in phases.items():
        assert (own[0][0], own[-1][1]) == (arrival[request], finish[request])
        assert all(before[1] == after[0] for before, after in pairwise(own))
        by_name = {name: (begin, end) for begin, end, name in own}
        assert by_name.get("queued", (0, admitted[request]))[1] == admitted[request]
        assert by_name.get("prefill", (0, first[request]))[1] == first[request]
        assert ("prefill" in by_name) == bool(run.steps.num_prompt_tokens.any())
        if run.requests.transferred is not None and run.requests.output_tokens[request] > 1:
            there, resumed = (nanoseconds(times[request]) for times in (run.requests.transferred, run.requests.resumed))
            assert by_name["KV transfer"] == (first[request], there)
            assert by_name["decode"] == (resumed, finish[request])


def test_counters_follow_the_steps_and_rest_at_nothing(trace, run):
    for process, own in steps_of(run):
        batch = [
            (round(event["ts"] * NANOSECONDS), event["args"]["requests"])
            for event in trace["traceEvents"]
            if (event["name"], event["pid"]) == ("batch", process)
        ]
        moments = [time for time, _ in batch]
        assert moments == sorted(moments)
        assert batch[-1] == (nanoseconds(run.steps.end[own])[-1], 0)
        at_start = dict(batch)
        found = [at_start[time] for time in nanoseconds(run.steps.start[own]).tolist()]
        assert found == run.steps.num_running[own].tolist()


def test_as_many_rows_as_requests_at_once(trace, run):
    times = np.concatenate([run.requests.arrival, run.requests.finish])
    changes = np.repeat([1, -1], len(run.requests.arrival))
    at_once = np.cumsum(changes[np.lexsort((changes, times))]).max()
    assert len([row for row in spans(trace["traceEvents"]) if row[0] == requests_process(run)]) == at_once


@pytest.mark.parametrize("most", [1, 50, 200])
def test_a_long_run_is_cut_where_it_says(run, most):
    until, whole = covers(run, most)
    assert not whole
    events = [event for event in trace_events(run, "x", most) if event["ph"] != "M"]
    assert len(events) <= most
    process = requests_process(run)
    begins = {event["args"]["request"]: event["ts"] for event in reversed(events) if event["pid"] == process}
    assert sorted(begins) == np.flatnonzero(run.requests.arrival < until).tolist()
    steps = [event for event in events if event["ph"] == "X" and event["pid"] < process]
    assert len(steps) == (run.steps.start < until).sum()


def test_a_run_that_fits_is_whole(run):
    assert covers(run) == (run.steps.end.max(), True)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=20))
def test_rows_are_filled_from_the_first(pairs):
    begins, lasts = np.array(pairs, np.int64).reshape(-1, 2).T
    rows, ends = pack(begins, begins + lasts), begins + lasts
    order = np.argsort(begins, kind="stable")
    for place, i in enumerate(order):
        there = [j for j in order[:place] if ends[j] > begins[i]]
        assert rows[i] == min(set(range(len(pairs))) - set(rows[there].tolist()))
