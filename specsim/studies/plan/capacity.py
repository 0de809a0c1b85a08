"""The largest rate that one arm serves within limits, as a lower bound that a fresh run meets 95 times in 100.

Each seed gives the largest rate of a grid at which its run meets every limit, found by ``search``. A seed sends the
same requests at every rate and in every arm, so its answer has no search noise. What the seeds come to is in ``bound``.

The search stops when the mean is known to within the requested width and the bound lies at most two widths below it.
More seeds narrow only the first, so runs become longer where the spread between seeds is far too large; it falls with
the square root of the requests in a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.arrays import Floats
from specsim.inputs.models.plan import Plan
from specsim.studies.plan.bound import BELOW, Capacity, below_mean
from specsim.studies.plan.search import largest_below
from specsim.studies.plan.trials import Trials

STEPS_PER_WIDTH = 3  # rates of the grid within the width asked for
COARSEST = 0.06  # width from which on the grid is no coarser
BRACKET = 6  # rates within which a straight line says where a limit is broken; latencies bend upwards, so not too late
STRAIGHT = 3  # rates over which the slope of other seeds is good enough
FEW, FAR = 3, 2.0  # seeds that show when runs are far too short, and times too wide that they then are
FIRST_SHARE = 1 / 8  # of the saturated rate, where the search begins
SMALLEST_SHARE = 1e-3  # of the saturated rate, below which the search stops
IN_FLIGHT = 10  # requests of a run for each that is in flight, so that ramp and tail are a small part
ROUGH = 4  # the same while the search is still rough
NEARLY = 1.15  # times too wide, which more seeds can still narrow
MARGIN = 1.1  # longer than it has to be by the first estimate, which may be too low
MOST_LONGER = 4  # times at once: short runs spread more than their number says, since ramps weigh more in them


def rate_step(plan: Plan) -> float:
    """Logarithm of the ratio of neighbouring rates."""
    return min(plan.width, COARSEST) / STEPS_PER_WIDTH


def capacity(trials: Trials, plan: Plan) -> Capacity:
    """Measure the capacity of an arm that meets its limits in an empty system.

    Runs start short and become longer until the bound lies within the plan's width, or they have its most requests.
    """
    saturated, running = trials.saturated()
    grid = _Grid(trials, saturated, running, rate_step(plan))
    near = _rough(grid, plan)
    if near is None:
        return _nothing(plan, plan.min_requests, saturated)
    most = trials.fixed_number or plan.most_requests
    number = trials.fixed_number or min(grid.num_requests(near.place, plan.min_requests, IN_FLIGHT), most)
    while True:
        found, near = _over_seeds(grid, plan, number, near, longest=number == most)
        if found.over(plan.width) <= 1 or number == most or not found.mean:
            return found
        number = min(most, _longer(number, min(MOST_LONGER, max(2.0, (MARGIN * found.over(plan.width)) ** 2))))


class _Near(NamedTuple):
    """Where a search begins: an index, and the rise of the excess per index there; None where not known."""

    place: int
    slope: float | None


def _over_seeds(grid: _Grid, plan: Plan, number: int, near: _Near, *, longest: bool) -> tuple[Capacity, _Near]:
    """What runs of one length give, and where the next search begins.

    Of as many seeds as the plan asks for, up to twice as many where that narrows the bound enough; of fewer where these
    show that runs have to be much longer, and may be.
    """
    places: list[int] = []
    bound_by: list[int | None] = []
    slopes: list[float] = []
    found = _nothing(plan, number, grid.saturated)
    for seeds in (min(FEW, plan.seeds), plan.seeds, 2 * plan.seeds):
        while len(places) < seeds:
            runs = _Seed(grid, len(places), number)
            place = runs.by_slope(near.place, slopes) if len(places) >= FEW else None
            if place is None:
                edge = largest_below(runs.excess, near.place, grid.least, near.slope, BRACKET)
                if edge.holds is None:
                    return _nothing(plan, number, grid.saturated), near
                place, near = edge.holds, near._replace(slope=edge.slope or near.slope)
                slopes += [edge.rise] if edge.rise else []
            places.append(place)
            bound_by.append(runs.binding(place + 1))
            near = near._replace(place=round(sum(places) / len(places)))
        rates = np.array([grid.rate(place) for place in places])
        found = Capacity(rates, number, grid.saturated, max(bound_by, key=bound_by.count))
        over = found.over(plan.width) if seeds >= plan.seeds else _spread(grid, places, plan.seeds) / plan.width
        if (seeds >= plan.seeds and over <= 1) or (not longest and over > (NEARLY if seeds >= plan.seeds else FAR)):
            break
    return found, near


def _spread(grid: _Grid, places: Sequence[int], seeds: int) -> float:
    """Half of the bound's distance below the mean, as a fraction, were it of ``seeds`` as far apart as these."""
    return below_mean(float(np.std(places, ddof=1)) * grid.step, seeds) / BELOW


def _nothing(plan: Plan, num_requests: int, saturated: float) -> Capacity:
    return Capacity(np.zeros(plan.seeds), num_requests, saturated, None)


class _Grid(NamedTuple):
    """Rates in equal ratios.

    Attributes:
        trials: runs at them.
        saturated: rate above which no limit is met [requests/s].
        running: requests that run at that rate.
        step: logarithm of the ratio of neighbours.
    """

    trials: Trials
    saturated: float
    running: float
    step: float

    @property
    def least(self) -> int:
        """The smallest index of the search."""
        return self.place(SMALLEST_SHARE * self.saturated)

    def place(self, rate: float) -> int:
        """The largest index whose rate is at most ``rate``."""
        return math.floor(math.log(rate) / self.step)

    def rate(self, place: int) -> float:
        """The rate at an index [requests/s]."""
        return math.exp(place * self.step)

    def num_requests(self, place: int, least: int, per_request: float) -> int:
        """Requests of a run with ``per_request`` for each one in flight: ``least``, doubled until it suffices.

        In flight are at most the number at saturation, times the share of its rate, since latencies are no longer.
        """
        in_flight = self.running * min(1.0, self.rate(place) / self.saturated)
        return _longer(least, per_request * in_flight / least)


class _Seed:
    """The runs of one seed, all with the same number of requests."""

    def __init__(self, grid: _Grid, seed: int, num_requests: int) -> None:
        self._grid, self._seed, self._number = grid, seed, num_requests
        self._margins: dict[int, Floats] = {}

    def excess(self, place: int) -> float:
        """The largest log margin of the run at an index; infinite beyond the saturated rate."""
        rate = self._grid.rate(place)
        if rate > self._grid.saturated:
            return math.inf
        if place not in self._margins:
            self._margins[place] = self._grid.trials.margins(rate, self._seed, self._number)
        return float(self._margins[place].max())

    def by_slope(self, place: int, slopes: Sequence[float]) -> int | None:
        """The largest index that meets the limits, by one run at an index and how latencies of other seeds rise there.

        None where that is further off than a straight line can be trusted.
        """
        if not slopes:
            return None
        steps = -self.excess(place) / float(np.mean(slopes))
        return place + math.floor(steps) if abs(steps) <= STRAIGHT else None

    def binding(self, place: int) -> int | None:
        """The limit that the run nearest to an index exceeds most; None where it is overloaded."""
        if self._grid.rate(place) > self._grid.saturated:
            return None
        margins = self._margins[min(self._margins, key=lambda seen: abs(seen - place))]
        return None if np.isinf(margins).all() else int(margins.argmax())


def _rough(grid: _Grid, plan: Plan) -> _Near | None:
    """An approximate index, by factors of two up from a low rate; None where every rate fails."""
    seen: dict[int, float] = {}

    def holds(place: int) -> bool:
        seen[place] = _Seed(grid, 0, grid.num_requests(place, plan.min_requests, ROUGH)).excess(place)
        return seen[place] <= 0

    def between(place: int) -> _Near:
        low, high = seen[place], seen[place + octave]
        if not (math.isfinite(low) and math.isfinite(high)):
            return _Near(place + octave // 2, None)
        return _Near(place + round(octave * low / (low - high)), (high - low) / octave)

    octave, place = round(math.log(2) / grid.step), grid.place(FIRST_SHARE * grid.saturated)
    if holds(place):
        while holds(place + octave):
            place += octave
        return between(place)
    while place >= grid.least:
        place -= octave
        if holds(place):
            return between(place)
    return None


def _longer(number: int, factor: float) -> int:
    """``number`` doubled as often as it takes to grow by about ``factor``."""
    return number << max(0, round(math.log2(factor)))
