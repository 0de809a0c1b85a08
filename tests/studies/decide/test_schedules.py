"""Schedules from hand-made throughputs, whose best table is known."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from specsim.inputs.models.schedule import SchedulePolicy, ScheduleRow
from specsim.studies.decide.schedules import draft_length_at, schedule_of
from specsim.studies.shared.points import Point

LUCK = np.array([0.99, 1.0, 1.01])  # shared by all points of a replication, so that it leaves every ratio alone


def throughputs(table, noise=0.0):
    """Of ``{batch: {length: mean}}``; noise is of each length's own and in no other's."""
    own = {k: noise * np.roll([-1, 0, 1], k) for k in range(6)}
    return {Point(b, k): mean * LUCK * np.exp(own[k]) for b, lengths in table.items() for k, mean in lengths.items()}


def rows(table, lengths, noise=0.0, batches=None):
    schedule = schedule_of(throughputs(table, noise), batches or sorted(table), lengths)
    return [(*row.batch, row.num_draft_tokens) for row in schedule.rows]


def test_the_best_length_of_each_batch_and_none_where_none_pays():
    table = {1: {0: 1, 1: 1.5, 3: 2}, 16: {0: 10, 1: 14, 3: 13}, 256: {0: 50, 1: 45, 3: 40}}
    # straight lines in the logarithm: ln(4/3) : ln(14/13) of the way from 1 to 16, ln 1.4 : ln(50/45) to 256
    first = 16 ** (np.log(4 / 3) / (np.log(4 / 3) + np.log(14 / 13)))
    second = 16 * 16 ** (np.log(1.4) / (np.log(1.4) + np.log(50 / 45)))
    assert rows(table, (1, 3)) == [(1, int(first), 3), (int(first) + 1, int(second), 1), (int(second) + 1, None, 0)]


def test_no_speculation_at_all():
    assert rows({1: {0: 1, 1: 0.9}, 8: {0: 1, 1: 0.8}}, (1,)) == [(1, None, 0)]


def test_one_length_at_every_batch():
    assert rows({1: {0: 1, 2: 1.9}, 8: {0: 1, 2: 1.2}}, (2,)) == [(1, None, 2)]


def test_what_does_not_clearly_pay_is_not_drafted():
    """Three replications spread by 2 % have an interval of 5 % to either side, and one by 0.1 % of 0.25 %."""
    table = {1: {0: 1, 2: 1.5}, 8: {0: 1, 2: 1.02}}
    assert [length for *_, length in rows(table, (2,), noise=0.001)] == [2]
    assert [length for *_, length in rows(table, (2,), noise=0.02)] == [2, 0]


def test_neighbours_within_the_noise_are_one_range():
    table = {1: {0: 1, 2: 1.50, 3: 1.51}, 8: {0: 1, 2: 1.52, 3: 1.50}, 64: {0: 1, 2: 1.30, 3: 1.32}}
    assert [length for *_, length in rows(table, (2, 3), noise=0.0001)] == [3, 2, 3]
    # 2 gains 1.50 · 1.52 · 1.30 = 2.964 over the three, 3 gains 1.51 · 1.50 · 1.32 = 2.990
    assert rows(table, (2, 3), noise=0.02) == [(1, None, 3)]


@pytest.mark.parametrize(("step_error", "length"), [(0.0, 4), (0.04, 4), (0.06, 2), (0.12, 1)])
def test_of_lengths_that_the_model_does_not_tell_apart_the_shortest(step_error, length):
    """From 2 to 4 it gains 6 %, which an error of 0.04 √2 = 0.057 leaves; from 1 to 4 20 %, below 0.12 √3 = 0.21."""
    table = {4: {0: 1, 1: 1.5, 2: 1.70, 4: 1.5 * 1.2}}
    schedule = schedule_of(throughputs(table), [4], (1, 2, 4), step_error)
    assert [row.num_draft_tokens for row in schedule.rows] == [length]


def test_of_equal_lengths_the_shortest():
    assert rows({4: {0: 1, 1: 1.5, 2: 1.5}}, (1, 2)) == [(1, None, 1)]


def test_a_batch_simulated_near_a_crossing_places_it():
    """Without batch 100 the change would be placed by a straight line over the whole gap."""
    table = {16: {0: 1, 1: 1.5}, 100: {0: 1, 1: 1.3}, 110: {0: 1, 1: 0.9}, 256: {0: 1, 1: 0.6}}
    (_, last, _), _ = rows(table, (1,), batches=[16, 256])
    assert 100 <= last < 110


def test_a_range_ends_before_the_next_batch_where_its_length_is_ahead_to_the_end():
    """At 8, 2 alone clearly pays, although 1 is ahead of it on average there."""
    pays = LUCK * np.array([1.1, 1.1, 1.1])
    scattered = LUCK * np.array([0.9, 1.2, 1.6])
    found = {Point(1, 0): LUCK, Point(1, 1): 2 * LUCK, Point(1, 2): 1.5 * LUCK}
    found |= {Point(8, 0): LUCK, Point(8, 1): scattered, Point(8, 2): pays}
    assert [(*row.batch, row.num_draft_tokens) for row in schedule_of(found, [1, 8], (1, 2)).rows] == [
        (1, 7, 1),
        (8, None, 2),
    ]


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([1, 2, 3]), st.integers(80, 160).map(lambda percent: percent / 100), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([0.0, 0.01, 0.03]),
)
def test_no_table_of_fewer_ranges_is_as_good(gains, noise):
    """Against all ways to cut the batches into ranges."""
    batches = [2**i for i in range(len(gains))]
    table = {batch: {0: 1.0, **gain} for batch, gain in zip(batches, gains, strict=True)}
    allowed = [{k for k in (0, 1, 2, 3) if _alone_is(table, batch, k, noise)} for batch in batches]
    schedule = schedule_of(throughputs(table, noise), batches, (1, 2, 3))
    assert all(draft_length_at(schedule, batch) in good for batch, good in zip(batches, allowed, strict=True))
    fewest = next(
        cuts + 1
        for cuts in range(len(batches))
        for places in combinations(range(1, len(batches)), cuts)
        if all(
            set.intersection(*allowed[start:end])
            for start, end in zip((0, *places), (*places, len(batches)), strict=True)
        )
    )
    assert len(schedule.rows) == fewest


def _alone_is(table, batch, k, noise):
    """Whether a length is as good as the best at one batch, by the definition."""
    found = {length: throughputs(table, noise)[Point(batch, length)] for length in (0, 1, 2, 3)}

    def low(a, b):
        logs = np.log(found[a] / found[b])
        half = stats.t.ppf(0.975, 2) * logs.std(ddof=1) / np.sqrt(3)
        return logs.mean() - half

    paying = [a for a in (1, 2, 3) if low(a, 0) > 1e-12]
    if not paying:
        return k == 0
    best = max(paying, key=lambda a: np.log(found[a]).mean())
    return k in paying and low(best, k) <= 1e-12


@pytest.mark.parametrize(("batch", "length"), [(1, 3), (10, 3), (11, 1), (10**6, 1)])
def test_what_a_schedule_drafts_at_a_batch(batch, length):
    table = (ScheduleRow(batch=(1, 10), num_draft_tokens=3), ScheduleRow(batch=(11, None), num_draft_tokens=1))
    assert draft_length_at(SchedulePolicy(kind="schedule", table=table), batch) == length
