"""Progress of tasks in other processes."""

import pytest

from specsim.studies.shared import ticks
from specsim.studies.shared.ticks import HALFWAY, watched


def test_shares_grow_with_runs_and_end_at_the_whole(monkeypatch):
    """Of two tasks one has made as many runs as count for half, the other none; then both are finished."""
    monkeypatch.setattr(ticks, "LOOK", 1e9)  # only the last look is made
    told = []
    with watched(2, told.append) as (tasks, finished):
        for _ in range(HALFWAY):
            tasks[0](0.0)
        assert [task.share for task in tasks] == [0.5, 0.0]
        finished(0)
        finished(1)
    assert told == [1.0]


def test_the_largest_is_of_whole_numbers_only():
    with watched(2, lambda share: None) as (tasks, _):
        for found in (1.5, 3.25, 2.0):
            tasks[0](found)
        with tasks[0].file.open("ab") as file:
            file.write(b"\xff\x7f")  # half of one that a killed process wrote
        assert [task.largest for task in tasks] == [3.25, 0.0]


def test_what_an_interruption_leaves_undone_is_not_told():
    told = []

    def interrupted():
        with watched(4, told.append) as (tasks, finished):
            tasks[1](0.0)
            finished(0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sum(told) == pytest.approx((1 + 1 / (1 + HALFWAY)) / 4)


def test_it_is_told_while_tasks_go_on(monkeypatch):
    monkeypatch.setattr(ticks, "LOOK", 0.001)
    told = []
    with watched(1, told.append) as (tasks, _):
        tasks[0](0.0)
        while sum(told) == 0:
            pass
    assert sum(told) == pytest.approx(1 / (1 + HALFWAY))
