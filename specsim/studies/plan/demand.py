"""How many requests are to be served over time, and how many replicas that takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints
from specsim.inputs.models.plan import Plan
from specsim.inputs.models.workload import ClosedLoop, RateProfile, Replay
from specsim.simulation.replica import Simulation

ROUNDING = 1e-9  # a replica more for a rate that exceeds a whole number of them by this share is an error of floats


class Demand(NamedTuple):
    """Rates to be served, one after the other.

    Attributes:
        seconds: how long each holds [periods] [s].
        rates: mean requests per second [periods].
        peak_over_mean: of a trace whose capacity is measured on itself, sped up: its largest rate over the mean one;
            1 for all others, whose capacity is measured at one rate.
    """

    seconds: Floats
    rates: Floats
    peak_over_mean: float = 1.0

    @property
    def mean(self) -> float:
        """Over all the time [requests/s]."""
        return float((self.rates * self.seconds).sum() / self.seconds.sum())

    def replicas(self, capacity: float) -> Ints:
        """How many are needed in each period, at a capacity of one [periods].

        Args:
            capacity: mean rate that a replica serves [requests/s], above 0. Of a trace: at which it still serves the
                trace's own peak, so that at other times it serves ``peak_over_mean`` times as much.
        """
        needed = self.rates / (capacity * self.peak_over_mean)
        return np.ceil(needed * (1 - ROUNDING)).astype(np.int64)


def demand_of(simulation: Simulation, plan: Plan) -> Demand | None:
    """What a plan is to serve; None where neither it nor the load says."""
    load = simulation.inputs.scenario.workload.load
    if plan.rate is not None:
        return Demand(np.ones(1), np.array([plan.rate]))
    match load:
        case ClosedLoop():
            return None
        case RateProfile(periods=periods):
            return Demand(np.array([p.duration for p in periods]), np.array([p.rate for p in periods]))
        case Replay():
            times = simulation.traffic.arrivals(load, simulation.num_requests, 0)
            return counted(times, plan.period)
        case _:
            return Demand(np.ones(1), np.array([load.rate]))


def counted(times: Floats, period: float) -> Demand:
    """Arrivals counted by period [s]; the last ends with the last arrival, or is part of the one before.

    What is left over is a period of its own from half a period on; less would give its rate to chance.
    """
    end = float(times[-1])
    number = max(1, int(end / period + 0.5))
    seconds = np.full(number, period)
    seconds[-1] = end - (number - 1) * period
    counts = np.bincount(np.minimum((times / period).astype(np.int64), number - 1), minlength=number)
    rates = counts / seconds
    return Demand(seconds, rates, float(rates.max()) / (len(times) / end))
