"""When requests arrive in an open loop.

Knows nothing of the requests themselves nor of the server. In a closed loop the server's own completions decide when
the next request is sent, and nothing here is used.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from specsim.errors import invalid


def poisson_arrivals(num_requests: int, rate: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Arrival times of a Poisson process that starts at 0 [s], shape [num_requests], ascending.

    The gaps, the first included, are independent and exponential with mean 1/rate. The same generator at another rate
    gives the same times but for scale, so that runs at several rates share their luck.

    Args:
        num_requests: how many arrivals.
        rate: mean arrivals per second [requests/s], positive.
        rng: the generator that decides the gaps.
    """
    if not (rate > 0 and math.isfinite(rate)):
        raise invalid("poisson_arrivals", "rate", rate, "write a positive number of requests per second")
    return np.cumsum(rng.standard_exponential(num_requests)) / rate
