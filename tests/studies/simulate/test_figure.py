"""The figure of a load: shares of requests within a latency, limits, and requests in the system over time."""

import numpy as np
import pytest

from specsim.records import RequestRecords, RunRecords
from specsim.studies.simulate.drawn import _drawn
from specsim.studies.simulate.figure import DrawnRun, load_figure


def drawn(tpot=(0.004, 0.005), waiting=(0, 1, 0), limits=None):
    times = np.array([0.0, 1.0, 2.0])
    runs = [
        DrawnRun(name, np.array([0.1, 0.3]), np.array(tpot), times, np.array([1, 2, 1]), np.array(waiting))
        for name in ("no speculation", "2 draft tokens")
    ]
    return load_figure(runs, limits or {}, title="What was found", subtitle="for what")


def test_half_of_the_requests_are_within_the_median():
    ttft, tpot, _ = drawn().axes
    for axes, median in ((ttft, 200), (tpot, 4.5)):
        for line in axes.lines:
            assert np.interp(50, line.get_ydata(), line.get_xdata()) == pytest.approx(median)


def test_a_limit_is_marked_at_its_percentile():
    ttft, tpot, _ = drawn(limits={"ttft": [(95, 0.2)]}).axes
    (mark,) = [line for line in ttft.lines if line.get_marker() == "X"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (200, 95)
    assert "limit: p95 200 ms" in {text.get_text() for text in ttft.texts}
    assert not [line for line in tpot.lines if line.get_marker() == "X"]


@pytest.mark.parametrize(("waiting", "lines"), [((0, 1, 0), 4), ((0, 0, 0), 2)])
def test_who_waits_is_drawn_if_anyone_does(waiting, lines):
    assert len(drawn(waiting=waiting).axes[2].lines) == lines


def test_without_a_second_token_there_is_no_tpot():
    assert not drawn(tpot=()).axes[1].lines


def test_requests_run_from_admission_to_the_end():
    """The first runs from 0 to 4 s, the second is sent at 1 s and waits until 4 s: 10 s in all."""
    arrival, admitted, first, finish = (np.array(at) for at in ([0.0, 1.0], [0.0, 4.0], [2.0, 6.0], [4.0, 10.0]))
    tokens, zeros = np.array([5, 1]), np.zeros(2, np.int64)
    requests = RequestRecords(arrival, admitted, first, finish, tokens, tokens, zeros, zeros)
    run = _drawn("", RunRecords(requests, None, None, None), steady=False)
    at = np.searchsorted(run.times, [0.5, 2.0, 5.0, 9.9])
    assert run.running[at].tolist() == [1, 1, 1, 1]
    assert run.waiting[at].tolist() == [0, 1, 0, 0]
    assert run.running[-1] == 0
    assert run.tpot.tolist() == [0.5]  # of the first; the other has one token
    assert run.ttft.tolist() == [2.0, 5.0]


def test_latencies_are_those_that_tables_count():
    """A limit that the table says is kept is not crossed by requests of the ramp, which it leaves out."""
    number, ramp = 40, 4
    arrival = np.concatenate([np.zeros(ramp), np.arange(1.0, number - ramp + 1)])
    wait = np.where(np.arange(number) < ramp, 10.0, 0.5)
    tokens, zeros = np.full(number, 2), np.zeros(number, np.int64)
    requests = RequestRecords(arrival, arrival, arrival + wait, arrival + wait + 0.1, tokens, tokens, zeros, zeros)
    whole, steady = (_drawn("", RunRecords(requests, None, None, None), steady=which) for which in (False, True))
    assert (whole.ttft.max(), steady.ttft.max()) == (10.0, 0.5)
    assert whole.running.max() == steady.running.max()


@pytest.mark.parametrize(("limit", "side"), [(0.1, "left"), (0.3, "right")])
def test_a_limits_label_stands_where_there_is_room(limit, side):
    ttft = drawn(limits={"ttft": [(95, limit)]}).axes[0]
    (label,) = [text for text in ttft.texts if text.get_text().startswith("limit")]
    assert label.get_horizontalalignment() == side
