"""Search with few evaluations for the largest grid index that meets a condition. Knows nothing of the condition."""

from __future__ import annotations

import math
from collections.abc import Callable

FIRST_STRIDE = 4  # grid steps, where no slope is known
MOST_EXPECTED = 64  # grid steps; from further off a straight line says nothing


def largest_below(
    excess: Callable[[int], float], start: int, least: int, slope: float | None = None
) -> tuple[int | None, float | None]:
    """The largest index that holds, such that no lower index evaluated fails.

    Evaluations go outwards from ``start``, as far as the slope predicts and at least twice as far each time, until one
    holds and a higher one fails; then inwards, alternating linear interpolation and bisection, until the two are
    neighbours. Where the condition holds exactly up to some index, that index is found whatever the start and the
    slope, so it never falls when ``excess`` does.

    Args:
        excess: index → amount by which the condition fails; 0 or less where it holds. May be infinite.
        start: first index to evaluate.
        least: lowest index to evaluate.
        slope: rise of ``excess`` per index near where it crosses 0, if known.

    Returns:
        The index, None where the condition fails at ``least`` too; and the slope over all evaluations, if it rises.
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
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return (holds + fails) // 2
    return min(max(math.floor(holds - low * (fails - holds) / (high - low)), holds + 1), fails - 1)
