"""Whether a server keeps up with the rate offered, as far as runs can show it: yes, no, or too few requests to tell.

A queue keeps up when the number of requests in the system does not grow in the long run. In a short run it always
grows at first, and a burst that is over before the first request ends says nothing. So "keeps up" has to be shown, by
a number in the system that stays within bounds over the steady window, and "falls behind" as well, by requests that
wait longer and longer: without anybody waiting, more in flight may still be served at a higher rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from specsim.analysis.intervals import mean_interval
from specsim.analysis.latencies import latency_growth, queueing
from specsim.analysis.steady import Window, sent_within, steady_window
from specsim.arrays import Floats
from specsim.records import RequestRecords

Verdict = Literal["keeps up", "falls behind", "unknown"]

TOLERATED = 0.05  # of the requests sent, by which the number in the system may grow: an overload below is not noticed
GROWS = 1.3  # times as long per token in the last quarter as in the first; in balance it is 1 but for chance and ramp
EVENLY = 4.0  # halfway from 1, in balance, to 7: so much a queue that grows evenly from nothing gains by quarters
SENDING = 0.8  # share of a run over which requests arrive; what follows is the last ones' own latency, or a queue


class Balance(NamedTuple):
    """What a run in an open loop says of it.

    Attributes:
        sending_share: time over which requests arrived / time until all were served.
        growth: latency per token of the last quarter of requests over the first's, see ``latencies.latency_growth``.
        wait: queueing of the last quarter of requests over the time they were in service, ratio of means.
        drift: by how much the number in the system grows, per request sent, from the first third of the steady window
            to the last; NaN in a run without a window.
        empty: share of the steady window in which nobody is in the system; NaN without one.
    """

    sending_share: float
    growth: float
    wait: float
    drift: float
    empty: float


def balance(requests: RequestRecords) -> Balance:
    """That of a run."""
    window = steady_window(requests)
    last = np.argsort(requests.arrival, kind="stable")[-max(1, requests.arrival.size // 4) :]
    waited = float(queueing(requests)[last].mean())
    served = float((requests.finish - requests.admitted)[last].mean())
    return Balance(
        sending_share=float(np.ptp(requests.arrival) / (requests.finish.max() - requests.arrival.min())),
        growth=latency_growth(requests),
        wait=waited / served,  # a step takes time, so service does
        drift=math.nan if window is None else _drift(requests, window),
        empty=math.nan if window is None else _empty(requests, window),
    )


def verdict(runs: Sequence[Balance]) -> Verdict:
    """What replications of one load say together."""
    share, growth, wait, drift, empty = np.array(runs, np.float64).T
    typical = float(np.median(growth))
    grows = (float(share.mean()) < SENDING and typical > GROWS) or typical > EVENLY
    change = mean_interval(drift)
    if float(np.median(wait)) > 1 and (grows or change.low > TOLERATED):
        return "falls behind"
    stays = change.high < TOLERATED or mean_interval(empty).low > TOLERATED  # a server that idles could serve more
    return "keeps up" if stays and not grows else "unknown"


def _drift(requests: RequestRecords, window: Window) -> float:
    edges = np.linspace(*window, 4)
    first, last = (_in_system(requests, edges[i], edges[i + 1]) for i in (0, 2))
    sent = int(sent_within(requests, window).sum())
    return (last - first) / (sent * 2 / 3) if sent else math.nan  # the middles of the thirds are 2/3 of it apart


def _in_system(requests: RequestRecords, start: float, end: float) -> float:
    """The mean number of requests in the system over a time."""
    stay: Floats = np.minimum(requests.finish, end) - np.maximum(requests.arrival, start)
    return float(np.maximum(stay, 0.0).sum() / (end - start))


def _empty(requests: RequestRecords, window: Window) -> float:
    """A request that finds nobody has been preceded by nobody since the last of those before it finished."""
    order = np.argsort(requests.arrival, kind="stable")
    arrival, finish = requests.arrival[order], np.maximum.accumulate(requests.finish[order])
    start, end = np.clip(finish[:-1], *window), np.clip(arrival[1:], *window)
    return float(np.maximum(end - start, 0.0).sum() / (window[1] - window[0]))
