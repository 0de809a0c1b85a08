"""Where a load's warm-up ends and its tail begins: one rule, for closed loops, open loops and replays.

Points of curves begin in steady state instead, and are cut by another rule, see ``settling``.

The window opens with the first completion by which as many requests have finished as are in the system, and closes
when the last request is sent, after which the system drains.

When it opens, the requests that began the run have been replaced. In a closed loop of N clients without think time that
is the N-th completion. In an open loop below saturation, where requests are served side by side, the number in the
system is steady once the longest service has passed (the queue with infinitely many servers, started empty: Eick,
Massey and Whitt, Operations Research 41 (1993) 731); with equal services that takes one of them, and the window opens
after two. The rule looks at who is there and at no result, as MSER-5 would (White, Simulation 69 (1997) 323), which
searches the results for the best cut: so runs that are compared are cut alike.

What it cannot do: where services differ, a little of the ramp is left, of the order of requests in flight over requests
sent (a test holds it against theory), so send many times more than are in flight. And near saturation a queue grows
for longer than a run, and no cut helps; ``latency_growth`` shows that.
"""

from __future__ import annotations

import numpy as np

from specsim.arrays import Bools, Floats
from specsim.records import RequestRecords, StepRecords

Window = tuple[float, float]
"""From, to [s]: what happened after the first and up to the second."""


def steady_window(requests: RequestRecords) -> Window | None:
    """From the end of the warm-up to the beginning of the tail [s]; None in a run too short to have a window.

    A request much longer than the others may still be one of the first when the window opens.
    """
    sent, finished = np.sort(requests.arrival), np.sort(requests.finish)
    gone = np.searchsorted(finished, finished, "right")
    replaced = gone >= np.searchsorted(sent, finished, "right") - gone
    closes = float(sent[-1])
    opens = float(finished[np.argmax(replaced)])  # the last completion at the latest: the system is empty then
    return (opens, closes) if opens < closes else None


def sent_within(requests: RequestRecords, window: Window) -> Bools:
    """Which requests were sent from the opening of a window until before its close, bool [requests].

    A request sent at the opening answers the completion that opens it; one sent at the close belongs to the tail.
    """
    return np.asarray((window[0] <= requests.arrival) & (requests.arrival < window[1]))


def within(times: Floats, window: Window) -> Bools:
    """Which times [n] [s] lie within a window (from, to], bool [n]."""
    return (window[0] < times) & (times <= window[1])


def seconds_within(steps: StepRecords, window: Window | None) -> Floats:
    """The time of each step within a window, or all of it without one, float64 [steps] [s]."""
    low, high = (-np.inf, np.inf) if window is None else window
    return np.asarray(np.maximum(np.minimum(steps.end, high) - np.maximum(steps.start, low), 0.0))
