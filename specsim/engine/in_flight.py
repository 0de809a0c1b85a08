"""Requests that are in service when a run begins, with some of their output received."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from specsim.arrays import Ints
from specsim.engine.state import Requests
from specsim.records import RunRecords
from specsim.workload.lengths import Lengths


class InFlight(NamedTuple):
    """The requests of a closed loop of which some are in service when it begins.

    Attributes:
        lengths: of all requests.
        received: of the first of them, the output tokens that they have; 0 where the prompt is yet to be computed.
    """

    lengths: Lengths
    received: Ints


def put_in_flight(requests: Requests, received: Ints) -> None:
    """Let the first requests have output tokens already when they are sent, at time 0.

    The scheduler then takes them as it takes those back from the host: their cache is there, and they decode at once.
    Uniforms go by output position, so each goes on with its own.

    Args:
        requests: of the run, not sent yet.
        received: output tokens of the first of them, fewer than they ask for [at most N].
    """
    number = len(received)
    requests.emitted[:number] = received
    requests.last_token[:number] = np.where(received > 0, 0.0, np.nan)


def with_received(run: RunRecords, received: Ints) -> RunRecords:
    """A run with what its requests had when it began."""
    of_all = np.zeros(len(run.requests.finish), np.int64)
    of_all[: len(received)] = received
    return replace(run, requests=replace(run.requests, received=of_all))
