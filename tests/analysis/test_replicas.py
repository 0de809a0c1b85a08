"""A fleet's run taken apart by replica: each is a run of its own, and what is wrong with one is found and placed."""

from dataclasses import fields, replace

import numpy as np
import pytest

from specsim.analysis.invariants import violations_of_all
from specsim.analysis.metrics import mean_running_batch
from specsim.analysis.replicas import num_replicas, replica_run, replica_runs
from specsim.analysis.run_view import RunView
from specsim.records import RequestRecords, RoundRecords, RunRecords, StepRecords

POOL = 36


def moved(table, seconds=0.0, **columns):
    """A table's times so much later."""
    later = {
        field.name: getattr(table, field.name) + seconds
        for field in fields(table)
        if getattr(table, field.name) is not None and field.type == "Floats" and field.name != "parts"
    }
    return replace(table, **later, **columns)


def joined(kind, one, other):
    columns = {field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(kind)}
    return kind(**{name: np.concatenate(pair) for name, pair in columns.items() if pair[0] is not None})


def chosen(table, order):
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    return replace(table, **{name: column[order] for name, column in columns.items() if column is not None})


@pytest.fixture
def twice(run) -> RunRecords:
    """The run of one replica, and half a second later the same again on another."""
    number, steps = len(run.requests.finish), len(run.steps.end)
    first, second = (replica * np.ones(number, np.int64) for replica in (0, 1))
    requests = joined(RequestRecords, replace(run.requests, replica=first), moved(run.requests, 0.5, replica=second))
    both = joined(
        StepRecords,
        replace(run.steps, replica=np.zeros(steps, np.int64)),
        moved(run.steps, 0.5, replica=np.ones(steps, np.int64)),
    )
    order = np.argsort(both.start, kind="stable")
    rounds = joined(
        RoundRecords, run.rounds, replace(run.rounds, step=run.rounds.step + steps, request=run.rounds.request + number)
    )
    rounds = replace(rounds, step=np.argsort(order)[rounds.step])
    by_step = np.argsort(rounds.step, kind="stable")
    return RunRecords(
        requests,
        chosen(both, order),
        chosen(rounds, by_step),
    )


def test_each_replica_has_its_own_run(run, twice):
    assert num_replicas(twice) == 2
    for replica, own in replica_runs(twice):
        for name in ("requests", "steps", "rounds"):
            one, other = getattr(own, name), getattr(run, name)
            one = moved(one, -0.5 * replica)
            for field in fields(one):
                np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    assert violations_of_all(twice, [POOL, POOL]) == []


def test_a_run_of_one_replica_is_its_own(run):
    assert num_replicas(run) == 1
    assert replica_run(run, 0) == run
    assert violations_of_all(run, [POOL]) == []


@pytest.mark.parametrize(
    ("table", "column", "place", "value", "told"),
    [
        ("steps", "kv_tokens", 3, POOL + 1, "replica 1: step 1: holds 37 KV tokens, and the pool 36"),
        ("requests", "finish", 4, 6.0, "replica 1: request 1: has 6.0 s as the time of its last token"),
        ("requests", "arrival", 4, np.nan, "request 4: has nan as the time of arrival"),
        ("steps", "num_emitted", 0, 3, "replica 0: steps: all yield 12 output tokens, and requests asked for 11"),
        ("rounds", "num_accepted", 0, -1, "replica 0: round 0: accepts -1 of 0 positions"),
    ],
)
def test_what_is_wrong_is_said_of_its_replica(twice, table, column, place, value, told):
    columns = getattr(twice, table)
    changed = getattr(columns, column).copy()
    changed[place] = value
    broken = replace(twice, **{table: replace(columns, **{column: changed})})
    assert any(line.startswith(told) for line in violations_of_all(broken, [POOL, POOL]))


def test_requests_run_on_both_replicas_at_once(run, twice):
    """Each has 2, 2, 2 and 1 requests in steps of 1, 2, 2 and 1 s; together they are busy for 6.5 s."""
    assert mean_running_batch(run.steps) == 11 / 6
    assert mean_running_batch(twice.steps) == pytest.approx(22 / 6.5, rel=1e-12)
    assert RunView(twice).client_tokens_per_s == pytest.approx(22 / 6.5, rel=1e-12)


@pytest.fixture
def apart() -> RunRecords:
    """A prompt of 10 tokens that replica 0 computes from 0 to 1 s; from 2 s on replica 1 decodes two more tokens."""
    one, times = np.ones(1, np.int64), [np.array([float(time)]) for time in range(5)]
    requests = RequestRecords(
        arrival=times[0],
        admitted=times[0],
        first_token=times[1],
        finish=times[4],
        prompt_tokens=10 * one,
        output_tokens=3 * one,
        preemptions=0 * one,
        cached_tokens=0 * one,
        replica=one,
        prefill_replica=0 * one,
        transferred=times[2],
        resumed=times[2],
    )
    start = np.array([0.0, 2.0, 3.0])
    parts = np.zeros((3, 7))
    parts[:, 0] = 1.0
    prompt, decode = np.array([1, 0, 0]), np.array([0, 1, 1])
    zeros, ones = np.zeros(3, np.int64), np.ones(3, np.int64)
    steps = StepRecords(
        start, start + 1, parts, decode, 10 * prompt, zeros, ones, zeros, 16 * ones, 10 * ones, ones, replica=decode
    )
    rounds = RoundRecords(np.arange(3), zeros, zeros, zeros, zeros, ones, prompt.astype(np.bool_))
    return RunRecords(requests, steps, rounds)


def test_a_prompt_computed_elsewhere_is_a_run_of_two_replicas(apart):
    assert violations_of_all(apart, [POOL, POOL]) == []
    assert violations_of_all(replace(apart, rounds=None), [POOL, POOL]) == []
    prefill, decode = (own.requests for _, own in replica_runs(apart))
    assert (prefill.finish[0], prefill.output_tokens[0]) == (1.0, 1)
    assert (decode.arrival[0], decode.first_token[0], decode.finish[0], decode.output_tokens[0]) == (2.0, 3.0, 4.0, 2)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"transferred": 0.5}, "request 0: has its cache moved at 0.5 s, its first token at 1.0 s"),
        ({"transferred": 2.5}, "request 0: goes on at 2.0 s, its cache is there at 2.5 s"),
        ({"transferred": np.nan}, "request 0: has its cache moved at nan s"),
        ({"replica": 0}, "request 0: is decoded where its prompt was computed"),
        ({"output_tokens": 1}, "request 0: asks for one token and has its cache moved"),
    ],
)
def test_caches_that_move_at_the_wrong_time_are_found(apart, changes, told):
    columns = {name: np.array([value], getattr(apart.requests, name).dtype) for name, value in changes.items()}
    broken = replace(apart, requests=replace(apart.requests, **columns))
    assert any(line.startswith(told) for line in violations_of_all(broken, [POOL, POOL]))
