"""Classes of priority: an earlier class is served first, and within a class who came first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.workload.lengths import Lengths


def test_an_earlier_class_overtakes_those_who_wait_and_nobody_in_service(config, make_case, watched):
    lengths, arrivals = Lengths(np.full(4, 8), np.full(4, 3)), np.array([0.0, 0.1, 0.2, 0.3])
    case = make_case(lengths, config(max_num_seqs=1), arrivals, priority=np.array([2, 2, 1, 0]))
    records, _ = watched(case)
    assert np.argsort(records.requests.finish).tolist() == [0, 3, 2, 1]


def test_with_room_for_both_the_later_class_loses_its_place(config, make_case, watched):
    """6 tokens in and 6 out in blocks of 4: each needs 3 in the end, and there are 4."""
    how = config(conditional=(), kv_tokens=16, block_size=4)
    case = make_case(Lengths(np.full(2, 6), np.full(2, 6)), how, np.array([0.0, 0.5]), priority=np.array([1, 0]))
    records, server = watched(case)
    assert server.running[2] == [1, 0]
    assert server.requests.preempted.tolist() == [1, 0]
    assert records.requests.admitted[0] < records.requests.admitted[1] < records.requests.finish[1]
    assert records.requests.finish[1] < records.requests.finish[0]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_those_in_service_are_the_first_of_their_classes(cases, watched, data):
    case = data.draw(cases(max_priority=2), "case")
    records, seen = watched(case)
    requests, before = records.requests, []
    assert np.isfinite(requests.finish).all()
    for start, running in zip(records.steps.start, seen.running, strict=True):
        classes = case.priority[running].tolist()
        assert classes == sorted(classes)
        unfinished = np.flatnonzero((requests.arrival <= start) & (start < requests.finish))
        waiting = set(unfinished.tolist()) - set(running)
        for priority in set(classes):
            mine = [request for request in running if case.priority[request] == priority]
            assert mine == [request for request in unfinished if case.priority[request] == priority][: len(mine)]
        # who comes into service leaves nobody of an earlier class behind who waited already
        new = [request for request in running if request not in before]
        if new:
            assert all(case.priority[other] >= max(case.priority[new]) for other in waiting)
        before = running
