"""When requests arrive, and how long clients think.

Knows nothing of the requests themselves or of the server. In a closed loop the server's completions decide when the
next request is sent; only think times are drawn here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats
from specsim.errors import invalid


def poisson_arrivals(num_requests: int, rate: float, rng: np.random.Generator) -> Floats:
    """Arrival times of a Poisson process that starts at 0, ascending float64 [num_requests] [s].

    The gaps, the first included, are independent and exponential with mean 1/rate. The same generator at another rate
    gives the same times scaled, so runs at several rates share their uniforms.

    Args:
        num_requests: number of arrivals.
        rate: mean arrival rate, positive [requests/s].
        rng: decides the gaps.

    Raises:
        InputError: the rate is not positive and finite.
    """
    _refuse_rate("poisson_arrivals", rate)
    return np.cumsum(rng.standard_exponential(num_requests)) / rate


def gamma_arrivals(num_requests: int, rate: float, cv: float, rng: np.random.Generator) -> Floats:
    """Arrival times of a renewal process with gamma distributed gaps, ascending float64 [num_requests] [s].

    The gaps, the first included, are independent with mean 1/rate; rates share uniforms as for Poisson arrivals, the
    case of a cv of 1.

    Args:
        num_requests: number of arrivals.
        rate: mean arrival rate, positive [requests/s].
        cv: standard deviation of the gaps over their mean, positive. vLLM's burstiness, the shape of the same
            distribution, is 1/cv².
        rng: decides the gaps.

    Raises:
        InputError: the rate or the cv is not positive and finite.
    """
    _refuse_rate("gamma_arrivals", rate)
    return np.cumsum(_gamma(num_requests, cv, rng)) / rate


def constant_arrivals(num_requests: int, rate: float) -> Floats:
    """Request i, from 1, at exactly i/rate, float64 [num_requests] [s].

    Raises:
        InputError: the rate is not positive and finite.
    """
    _refuse_rate("constant_arrivals", rate)
    return np.arange(1, num_requests + 1) / rate


def profile_arrivals(num_requests: int, durations: ArrayLike, rates: ArrayLike, rng: np.random.Generator) -> Floats:
    """Arrival times of a Poisson process whose rate cycles through periods, ascending float64 [num_requests] [s].

    The i-th arrival is when the expected number of requests since 0 reaches the i-th arrival time of a Poisson process
    of rate 1 (Çinlar, "Introduction to Stochastic Processes", 1975, ch. 4.7). So the same generator under other rates
    or durations gives the same uniforms on another clock.

    Args:
        num_requests: number of arrivals.
        durations: of the periods, positive [periods] [s].
        rates: during each, at least one positive [periods] [requests/s].
        rng: decides the arrivals.

    Raises:
        InputError: a duration is not positive, a rate is negative, or all rates are 0.
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
    """Gamma distributed times that clients wait before each request [num_requests] [s]; constant at a cv of 0.

    Raises:
        InputError: the cv is neither 0 nor positive and finite.
    """
    return mean * (np.ones(num_requests) if cv == 0 else _gamma(num_requests, cv, rng))


def _gamma(number: int, cv: float, rng: np.random.Generator) -> Floats:
    """Gamma distributed numbers of mean 1 [number]."""
    if not (cv > 0 and math.isfinite(cv)):
        raise invalid("gamma", "cv", cv, "write a positive number; gaps of cv 0 are constant")
    return rng.standard_gamma(1 / cv**2, number) * cv**2


def _refuse_rate(where: str, rate: float) -> None:
    if not (rate > 0 and math.isfinite(rate)):
        raise invalid(where, "rate", rate, "write a positive number of requests per second")
