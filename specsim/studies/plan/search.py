"""Search with few evaluations for the largest grid index that meets a condition. Knows nothing of the condition."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

FIRST_STRIDE = 4  # grid steps, where no slope is known
MOST_EXPECTED = 64  # grid steps; from further off a straight line says nothing


class Edge(NamedTuple):
    """Where a condition ends.

    Attributes:
        holds: the largest index that holds; None where the condition fails at the lowest index too.
        fails: the lowest index above it that was evaluated, which fails; None without ``holds``.
        slope: rise of the excess per index over all evaluations, if it rises.
        rise: the same between these two alone, where both are finite.
    """

    holds: int | None
    fails: int | None
    slope: float | None
    rise: float | None = None


def largest_below(
    excess: Callable[[int], float], start: int, least: int, slope: float | None = None, resolution: int = 1
) -> Edge:
    """The largest index that holds, such that no lower index evaluated fails.

    Evaluations go outwards from ``start``, as far as the slope predicts and at least twice as far each time, until one
    holds and a higher one fails; then inwards, alternating linear interpolation and bisection, until the two are no
    further apart than the resolution. Between them a straight line says where the excess is 0, rounded down to an
    index. With a resolution of 1 they are neighbours: where the condition holds exactly up to some index, that index is
    found whatever the start and the slope, so it never falls when ``excess`` does.

    Args:
        excess: index → amount by which the condition fails; 0 or less where it holds. May be infinite.
        start: first index to evaluate.
        least: lowest index to evaluate.
        slope: rise of ``excess`` per index near where it crosses 0, if known.
        resolution: how far apart a finite excess above and one below 0 may lie at the end.
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
        if place in seen:  # it is the lowest
            return Edge(None, None, None)
        if look(place):
            holds = place
        else:
            fails = place
    halves = False
    while fails - holds > (resolution if _between_is_straight(holds, fails, seen) else 1):
        place = (holds + fails) // 2 if halves else _between(holds, fails, seen)
        halves = not halves
        if look(place):
            holds = place
        else:
            fails = place
    rise = (seen[fails] - seen[holds]) / (fails - holds)
    if fails - holds == 1:
        return Edge(holds, fails, _slope(seen), rise if math.isfinite(rise) else None)
    return Edge(min(math.floor(holds - seen[holds] / rise), fails - 1), fails, _slope(seen), rise)


def _between_is_straight(holds: int, fails: int, seen: dict[int, float]) -> bool:
    return math.isfinite(seen[holds]) and math.isfinite(seen[fails])


def _slope(seen: dict[int, float]) -> float | None:
    """From the lowest to the highest index evaluated; None where it does not rise."""
    finite = sorted(place for place, excess in seen.items() if math.isfinite(excess))
    if len(finite) < 2 or seen[finite[-1]] <= seen[finite[0]]:
        return None
    return (seen[finite[-1]] - seen[finite[0]]) / (finite[-1] - finite[0])


def _expected(excess: float, slope: float | None) -> int:
    """Distance to the first index on the other side of 0, by the slope; 0 where that says nothing."""
    steps = abs(excess) / slope if slope else math.inf
    return math.floor(steps) + 1 if steps < MOST_EXPECTED else 0


def _between(holds: int, fails: int, seen: dict[int, float]) -> int:
    """The index, strictly between, at which a straight line crosses 0."""
    low, high = seen[holds], seen[fails]
    if not (_between_is_straight(holds, fails, seen) and high > low):
        return (holds + fails) // 2
    return min(max(math.floor(holds - low * (fails - holds) / (high - low)), holds + 1), fails - 1)
