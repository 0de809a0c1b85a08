"""What must hold of every simulated run, whatever its requests, limits, drafts and clients; else the engine is wrong.

Knows the records alone: nothing of how the engine schedules or of what a run is compared with. Measured records need
not comply, since clients and servers have clocks of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np

from specsim.analysis.replicas import replica_runs
from specsim.arrays import Bools, Floats, Ints
from specsim.records import RequestRecords, RoundRecords, RoundTally, RunRecords, StepRecords

Column = Floats | Ints

ROUNDING = 128 * np.finfo(np.float64).eps
"""By how much two sums of the same positive terms can differ, as a share: NumPy adds in pairs, blocks of 128 by eight
at once, which for up to 2^40 terms rounds at most 16 + 40 times; the terms themselves are rounded thrice."""


def violations_of_all(run: RunRecords, kv_pools: Sequence[int]) -> list[str]:
    """What a run breaks, one line each: what must hold of one replica must hold of each of several.

    Args:
        run: as for ``violations``.
        kv_pools: size of each replica's KV pool [tokens].
    """
    if run.requests.replica is None:
        return violations(run, kv_pools[0])
    found = [*requests_are_served(run.requests), *caches_move_once(run.requests)]
    for replica, own in replica_runs(run):
        found += [f"replica {replica}: {line}" for line in violations(own, kv_pools[replica])]
    if not found and run.tally is not None:
        found += tally_adds_up(run.requests, run.steps, run.tally)
    return found


def violations(run: RunRecords, kv_tokens: int | None = None) -> list[str]:
    """What a run of one replica breaks, one line each, with the first request, step or round that does.

    Args:
        run: at least one request; all fields of a table are equally long.
        kv_tokens: size of the KV pool [tokens]; None where it is not known.

    Returns:
        Nothing for a good run.
    """
    of_tables = [*requests_are_served(run.requests), *steps_follow_each_other(run.steps, kv_tokens)]
    if of_tables:  # what follows takes times and counts to be such
        return of_tables
    found = [
        *steps_hold_who_is_there(run.requests, run.steps),
        *rests_only_when_empty(run.requests, run.steps),
        *tokens_come_with_steps(run.requests, run.steps),
        *obeys_littles_law(run.requests, run.steps),
        *emits_what_was_asked(run.requests, run.steps),
        *computes_what_was_asked(run.requests, run.steps),
    ]
    if run.rounds is not None:
        found += rounds_add_up(run.requests, run.steps, run.rounds)
    if run.tally is not None:
        found += tally_adds_up(run.requests, run.steps, run.tally)
    return found


def requests_are_served(requests: RequestRecords) -> Iterator[str]:
    """Each is sent, admitted, receives a first token and finishes, in this order.

    Those that were in flight when the run began were sent at its beginning, and had their first token before it.
    """
    r, received = requests, _received(requests)
    wrong = (received < 0) | ((received > 0) & (received >= r.output_tokens))
    yield from _each("request", wrong, "had received {} of {} output tokens", received, r.output_tokens)
    for name in ("arrival", "admitted", "first_token", "finish"):
        times: Floats = getattr(r, name)
        before = (received > 0) & (name == "first_token")
        yield from _each("request", np.isfinite(times) == before, f"has {{}} as the time of {name}", times)
    yield from _each("request", r.admitted < r.arrival, "is admitted at {} s, sent at {} s", r.admitted, r.arrival)
    told = "has its first token at {} s, not after it was admitted at {} s"
    yield from _each("request", r.first_token <= r.admitted, told, r.first_token, r.admitted)
    told = "finishes at {} s, before its first token at {} s"
    yield from _each("request", r.finish < r.first_token, told, r.finish, r.first_token)
    yield from _each("request", r.output_tokens < 1, "has {} output tokens", r.output_tokens)
    yield from _each("request", r.preemptions < 0, "lost its place {} times", r.preemptions)


def caches_move_once(requests: RequestRecords) -> Iterator[str]:
    """A prompt's cache moves to the replica that decodes after the first token, and decoding begins after that."""
    r = requests
    if r.prefill_replica is None or r.transferred is None or r.resumed is None:
        return
    moved = r.output_tokens > 1
    yield from _each("request", ~moved & np.isfinite(r.transferred), "asks for one token and has its cache moved")
    stays = moved & (r.replica == r.prefill_replica)
    yield from _each("request", stays, "is decoded where its prompt was computed")
    early = moved & ~(r.transferred >= r.first_token)
    told = "has its cache moved at {} s, its first token at {} s"
    yield from _each("request", early, told, r.transferred, r.first_token)
    early = moved & ~(r.resumed >= r.transferred)
    yield from _each("request", early, "goes on at {} s, its cache is there at {} s", r.resumed, r.transferred)


def steps_follow_each_other(steps: StepRecords, kv_tokens: int | None = None) -> Iterator[str]:
    """Time never goes back, steps do not overlap, their parts add up, and the KV cache stays within its pool."""
    s, before = steps, np.append(-np.inf, steps.end[:-1])
    yield from _each("step", ~(s.end > s.start), "ends at {} s, begins at {} s", s.end, s.start)
    yield from _each("step", s.start < before, "begins at {} s, before the last one ends at {} s", s.start, before)
    # the clock adds a duration to a start, which rounds once at the size of the clock
    parts, lasts = s.parts.sum(axis=1), s.end - s.start
    apart = ~(np.abs(parts - lasts) <= 2 * np.spacing(s.end) + ROUNDING * lasts)
    yield from _each("step", apart, "lasts {} s, and its parts {} s", lasts, parts)
    for name in (field.name for field in fields(s) if field.name not in ("start", "end", "parts", "used", "replica")):
        counts: Ints = getattr(s, name)
        yield from _each("step", counts < 0, f"has {{}} as {name}", counts)
    yield from _each("step", s.num_decodes + s.num_prompt_tokens == 0, "computes no token")
    told = "decodes {} requests, and {} are in service"
    yield from _each("step", s.num_decodes > s.num_running, told, s.num_decodes, s.num_running)
    if kv_tokens is not None:
        told = f"holds {{}} KV tokens, and the pool {kv_tokens}"
        yield from _each("step", s.kv_tokens > kv_tokens, told, s.kv_tokens)


def steps_hold_who_is_there(requests: RequestRecords, steps: StepRecords) -> Iterator[str]:
    """Each request that is sent and not finished is in service or waits."""
    there, running, waiting = _present(requests, steps.start), steps.num_running, steps.num_waiting
    told = "has {} in service and {} waiting, and {} are sent and not finished"
    yield from _each("step", there != running + waiting, told, running, waiting, there)


def rests_only_when_empty(requests: RequestRecords, steps: StepRecords) -> Iterator[str]:
    """Time passes between steps only while the system is empty."""
    rests = np.append(False, steps.start[1:] > steps.end[:-1])
    sent, gone = (np.searchsorted(np.sort(times), steps.start) for times in (requests.arrival, requests.finish))
    yield from _each("step", rests & (sent > gone), "begins after a rest, with {} requests there", sent - gone)


def tokens_come_with_steps(requests: RequestRecords, steps: StepRecords) -> Iterator[str]:
    """Requests are admitted when a step begins, and tokens are ready when one ends."""
    for name, times, moments in (
        ("is admitted at {} s, when no step begins", requests.admitted, steps.start),
        ("has its first token at {} s, when no step ends", requests.first_token, steps.end),
        ("finishes at {} s, when no step ends", requests.finish, steps.end),
    ):
        nearest = moments[np.minimum(np.searchsorted(moments, times), len(moments) - 1)]
        yield from _each("request", (nearest != times) & ~np.isnan(times), name, times)


def obeys_littles_law(requests: RequestRecords, steps: StepRecords) -> Iterator[str]:
    """The mean number in the system, as steps counted it, is the arrival rate times the mean time in it (Little 1961).

    Over a run that begins and ends empty this holds exactly. Requests that a step found are joined by those sent while
    it ran, until it ended.
    """
    there = ((steps.num_running + steps.num_waiting) * (steps.end - steps.start)).sum()
    step = np.searchsorted(steps.start, requests.arrival, "left") - 1
    until = np.where(step < 0, -np.inf, steps.end[np.maximum(step, 0)])
    there += np.maximum(until - requests.arrival, 0.0).sum()
    took, seconds = (requests.finish - requests.arrival).sum(), requests.finish.max() - requests.arrival.min()
    if not abs(there - took) <= ROUNDING * took:
        number = len(requests.finish)
        yield (
            f"Little's law: {there / seconds} requests were there on average, and {number / seconds} came per second "
            f"and stayed {took / number} s, which is {took / seconds}"
        )


def emits_what_was_asked(requests: RequestRecords, steps: StepRecords) -> Iterator[str]:
    """Steps emit as many tokens as requests asked for."""
    emitted, asked = steps.num_emitted.sum(), (requests.output_tokens - _received(requests)).sum()
    if emitted != asked:
        yield f"steps: all yield {emitted} output tokens, and requests asked for {asked}"


def computes_what_was_asked(requests: RequestRecords, steps: StepRecords) -> Iterator[str]:
    """Prompts are computed but for cached tokens, or not at all; preempted requests excepted."""
    own = requests.prompt_tokens - requests.cached_tokens
    computed, asked = steps.num_prompt_tokens.sum(), own[_received(requests) == 0].sum()
    wrong = (requests.cached_tokens < 0) | (requests.cached_tokens >= requests.prompt_tokens)
    told = "found {} of {} prompt tokens in the cache"
    yield from _each("request", wrong, told, requests.cached_tokens, requests.prompt_tokens)
    if computed and computed != asked and not requests.preemptions.any():
        yield f"steps: all compute {computed} prompt tokens, and requests brought {asked}"


def rounds_add_up(requests: RequestRecords, steps: StepRecords, rounds: RoundRecords) -> Iterator[str]:
    """Each decode of a step has its round, and rounds give requests all their tokens at the times recorded."""
    number, num_steps = len(requests.finish), len(steps.end)
    strays = (rounds.step < 0) | (rounds.step >= num_steps) | (rounds.request < 0) | (rounds.request >= number)
    told = "is of step {} and request {}, which do not exist"
    yield from _each("round", strays, told, rounds.step, rounds.request)
    if strays.any():
        return
    verified, ready = ~rounds.from_prompt, steps.end[rounds.step]
    for name, recorded, counted in (
        ("decodes", steps.num_decodes, _total(rounds.step[verified], None, num_steps)),
        ("draft tokens", steps.num_draft_tokens, _total(rounds.step, rounds.num_nodes, num_steps)),
        ("output tokens", steps.num_emitted, _total(rounds.step, rounds.num_emitted, num_steps)),
    ):
        yield from _unequal("step", name, recorded, counted)
    received = _received(requests) + _total(rounds.request, rounds.num_emitted, number)
    yield from _unequal("request", "output tokens", requests.output_tokens, received)
    accepted, drafted, nodes = rounds.num_accepted, rounds.num_draft, rounds.num_nodes
    wrong = (accepted > drafted) | (drafted > nodes) | (accepted < 0)
    yield from _each("round", wrong, "accepts {} of {} positions with {} tokens", accepted, drafted, nodes)
    emitted, short = rounds.num_emitted, (rounds.num_emitted < accepted + 1) & (ready < requests.finish[rounds.request])
    wrong = (emitted < 1) | (emitted > accepted + 1) | short
    yield from _each("round", wrong, "yields {} tokens, and {} passed before the last", emitted, accepted)
    earliest, latest = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(earliest, rounds.request, ready)
    np.maximum.at(latest, rounds.request, ready)
    earliest[_received(requests) > 0] = np.nan
    yield from _unequal("request", "s as the time of its first token", requests.first_token, earliest)
    yield from _unequal("request", "s as the time of its last token", requests.finish, latest)


def tally_adds_up(requests: RequestRecords, steps: StepRecords, tally: RoundTally) -> Iterator[str]:
    """Counted verifies are those of the steps; other tokens come from prompts, one for each prompt that is complete."""
    for name, recorded, counted in (
        ("decodes", steps.num_decodes.sum(), tally.count.sum()),
        ("draft tokens", steps.num_draft_tokens.sum(), (tally.count * tally.num_nodes).sum()),
    ):
        if recorded != counted:
            yield f"steps: all have {recorded} {name}, and {counted} were counted"
    from_prompts = steps.num_emitted.sum() - (tally.count * tally.num_emitted).sum()
    begun = int((_received(requests) > 0).sum())  # their first gap ends with their first token within the run
    number = len(requests.finish) - begun
    most = number + requests.preemptions.sum()
    if not 0 <= from_prompts <= most:
        yield f"steps: {from_prompts} tokens come from prompts, which were whole at most {most} times"
    gaps, later = tally.gap_count.sum(), tally.count.sum() + from_prompts - number
    if gaps != later:
        yield f"requests: received tokens {later} times after their first, and {gaps} gaps were counted"
    # summed one after the other, which rounds as often as there are gaps
    since = np.where(_received(requests) > 0, requests.arrival, requests.first_token)
    between, seconds = (requests.finish - since).sum(), tally.gap_sum
    if not abs(seconds - between) <= (1 + gaps / 128) * ROUNDING * between:
        yield f"requests: took {between} s from their first token to their last, and their gaps {seconds} s"


def _received(requests: RequestRecords) -> Ints:
    """Output tokens that requests had when the run began [requests]."""
    return np.zeros(len(requests.finish), np.int64) if requests.received is None else requests.received


def _present(requests: RequestRecords, times: Floats) -> Ints:
    """Number of requests sent and not finished at these times."""
    sent, gone = (np.searchsorted(np.sort(moments), times, "right") for moments in (requests.arrival, requests.finish))
    return np.asarray(sent - gone)


def _total(places: Ints, weights: Ints | None, number: int) -> Ints:
    """Sums by index; token counts are whole numbers, exact in floats."""
    return np.bincount(places, weights, number).astype(np.int64)


def _unequal(kind: str, name: str, recorded: Column, counted: Column) -> Iterator[str]:
    apart = (recorded != counted) & ~(np.isnan(recorded) & np.isnan(counted))
    return _each(kind, apart, f"has {{}} {name}, and its rounds {{}}", recorded, counted)


def _each(kind: str, broken: Bools, told: str, *columns: Column) -> Iterator[str]:
    """The first violation, with its values, and the number of others."""
    places = np.flatnonzero(broken)
    if places.size:
        others = f" (and {places.size - 1} more)" if places.size > 1 else ""
        yield f"{kind} {places[0]}: {told.format(*(column[places[0]] for column in columns))}{others}"
