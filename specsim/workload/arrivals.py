"""When requests arrive, and how long clients think.

Knows nothing of the requests themselves nor of the server. In a closed loop the server's own completions decide when
the next request is sent; of it, only think times are drawn here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats
from specsim.errors import invalid


def poisson_arrivals(num_requests: int, rate: float, rng: np.random.Generator) -> Floats:
    """Arrival times of a Poisson process that starts at 0 [s], shape [num_requests], ascending.

    The gaps, the first included, are independent and exponential with mean 1/rate. The same generator at another rate
    gives the same times but for scale, so that runs at several rates share their uniforms.

    Args:
        num_requests: how many arrivals.
        rate: mean arrivals per second [requests/s], positive.
        rng: the generator that decides the gaps.
    """
    _refuse_rate("poisson_arrivals", rate)
    return np.cumsum(rng.standard_exponential(num_requests)) / rate


def gamma_arrivals(num_requests: int, rate: float, cv: float, rng: np.random.Generator) -> Floats:
    """Arrival times of a renewal process with gamma distributed gaps [s], shape [num_requests], ascending.

    The gaps, the first included, are independent with mean 1/rate; rates share uniforms as for Poisson arrivals, of
    which a cv of 1 is one case.

    Args:
        num_requests: how many arrivals.
        rate: mean arrivals per second [requests/s], positive.
        cv: standard deviation of the gaps over their mean, positive. vLLM's burstiness, the shape of the same
            distribution, is 1/cv².
        rng: the generator that decides the gaps.
    """
    _refuse_rate("gamma_arrivals", rate)
    return np.cumsum(_gamma(num_requests, cv, rng)) / rate


def constant_arrivals(num_requests: int, rate: float) -> Floats:
    """The i-th of the requests, from 1, at exactly i/rate [s], shape [num_requests]."""
    _refuse_rate("constant_arrivals", rate)
    return np.arange(1, num_requests + 1) / rate


def profile_arrivals(num_requests: int, durations: ArrayLike, rates: ArrayLike, rng: np.random.Generator) -> Floats:
    """Arrival times of a Poisson process whose rate goes through periods, over and over [s], [num_requests], ascending.

    The i-th arrival is when the requests expected since 0 come to the i-th arrival time of a Poisson process of rate 1
    (Çinlar, "Introduction to Stochastic Processes", 1975, ch. 4.7). So the same generator under other rates or
    durations gives the same uniforms on another clock.

    Args:
        num_requests: how many arrivals.
        durations: of the periods [s], positive.
        rates: during each [requests/s]; one at least is positive.
        rng: the generator that decides.
    """
    durations, rates = np.asarray(durations, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    expected = np.cumsum(durations * rates)
    if not (np.all(durations > 0) and np.all(rates >= 0) and 0 < expected[-1] < math.inf):
        raise invalid("profile_arrivals", "rates", rates.tolist(), "write rates of at least 0, one of them positive")
    cycle, rest = np.divmod(np.cumsum(rng.standard_exponential(num_requests)), expected[-1])
    period = np.searchsorted(expected, rest, side="right")  # the first that ends with more expected: never one of none
    begins, before = np.cumsum(durations) - durations, expected - durations * rates
    times = cycle * durations.sum() + begins[period] + (rest - before[period]) / rates[period]
    # where a period ends, rounding may put the last of one after the first of the next
    ascending: Floats = np.maximum.accumulate(times)
    return ascending


def think_times(num_requests: int, mean: float, cv: float, rng: np.random.Generator) -> Floats:
    """How long clients wait before each request [s], shape [num_requests]; gamma distributed, at a cv of 0 constant."""
    return mean * (np.ones(num_requests) if cv == 0 else _gamma(num_requests, cv, rng))


def _gamma(number: int, cv: float, rng: np.random.Generator) -> Floats:
    """Gamma distributed numbers of mean 1."""
    if not (cv > 0 and math.isfinite(cv)):
        raise invalid("gamma", "cv", cv, "write a positive number; gaps of cv 0 are constant")
    return rng.standard_gamma(1 / cv**2, number) * cv**2


def _refuse_rate(where: str, rate: float) -> None:
    if not (rate > 0 and math.isfinite(rate)):
        raise invalid(where, "rate", rate, "write a positive number of requests per second")
