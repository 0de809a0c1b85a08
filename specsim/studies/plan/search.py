"""The largest place on a grid up to which something holds, with few looks. Knows nothing of what holds."""

from __future__ import annotations

import math
from collections.abc import Callable

FIRST_STRIDE = 4  # places, where no slope is known
MOST_EXPECTED = 64  # places; from further off a straight line says nothing


def largest_below(
    excess: Callable[[int], float], start: int, least: int, slope: float | None = None
) -> tuple[int | None, float | None]:
    """The largest place such that it holds there, and at no lower place that was looked at does it not.

    Looks go from ``start`` outwards, as far as the slope says and at least twice as far each time, until one holds and
    one further up does not; then inwards, by the straight line between the two and by halves in turn, until they are
    neighbours. Where it holds exactly up to some place, that place is found whatever the start and the slope, so that
    it never falls when ``excess`` does.

    Args:
        excess: place → by how much it does not hold there; 0 or less where it does. Infinite is allowed.
        start: where to look first.
        least: no place below is looked at.
        slope: how fast ``excess`` rises from place to place, near where it crosses 0, if that is known.

    Returns:
        The place, None where it does not hold at ``least`` either; and the slope over all looks, if it rises.
    """
    seen: dict[int, float] = {}

    def look(place: int) -> bool:
        seen[place] = excess(place)
        return seen[place] <= 0

    place, stride = max(start, least), 1 if slope else FIRST_STRIDE
    upwards = look(place)
    holds, fails = (place, None) if upwards else (None, place)
    while holds is None or fails is None:
        step = max(stride, _expected(seen[place], slope))
        stride *= 2
        place = place + step if upwards else max(place - step, least)
        if place in seen:  # it is the least
            return None, None
        if look(place):
            holds = place
        else:
            fails = place
    halves = False
    while fails - holds > 1:
        place = (holds + fails) // 2 if halves else _between(holds, fails, seen)
        halves = not halves
        if look(place):
            holds = place
        else:
            fails = place
    return holds, _slope(seen)


def _slope(seen: dict[int, float]) -> float | None:
    """From the lowest to the highest place looked at; None where it does not rise."""
    finite = sorted(place for place, excess in seen.items() if math.isfinite(excess))
    if len(finite) < 2 or seen[finite[-1]] <= seen[finite[0]]:
        return None
    return (seen[finite[-1]] - seen[finite[0]]) / (finite[-1] - finite[0])


def _expected(excess: float, slope: float | None) -> int:
    """Places from a look to the first on the other side of 0, by the slope; 0 where that says nothing."""
    steps = abs(excess) / slope if slope else math.inf
    return math.floor(steps) + 1 if steps < MOST_EXPECTED else 0


def _between(holds: int, fails: int, seen: dict[int, float]) -> int:
    """The place, strictly between, at which a straight line crosses 0."""
    low, high = seen[holds], seen[fails]
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return (holds + fails) // 2
    return min(max(math.floor(holds - low * (fails - holds) / (high - low)), holds + 1), fails - 1)
