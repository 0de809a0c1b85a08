"""Means with their intervals, as a person reads them: one rule for every table."""

from __future__ import annotations

import math

from specsim.analysis.intervals import Interval

DIGITS = 4  # of a mean whose interval is no guide
ROUNDING = 1e-12  # of the mean: an interval that is smaller comes from adding up in floats


def with_interval(interval: Interval) -> str:
    """``7,171 ± 27``: the interval to two significant digits, the mean to the same place, both in plain notation.

    An interval below rounding error is 0; where there is none, since only one run was finished, the mean stands alone.
    Empty where there is no mean.
    """
    mean, half = interval.estimate, interval.high - interval.estimate
    if math.isnan(mean):
        return ""
    if not math.isfinite(half):
        return plain(mean)
    if half <= ROUNDING * abs(mean):
        return f"{plain(mean)} ± 0"
    place = 1 - int(f"{half:.1e}".partition("e")[2])  # digits after the point, of the interval's second digit
    return f"{_at(mean, place)} ± {_at(half, place)}"


def plain(value: float, digits: int = DIGITS) -> str:
    """A number to this many significant digits, without an exponent; digits before the point are kept in full."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    text = _at(value, max(digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2]), 0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float, sign: str = "", digits: int = 1) -> str:
    """``3.1``, or ``+3.1`` with "+" for a sign; a 0 has none."""
    text = f"{100 * share:{sign}.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text


def percents(estimate: float, low: float, high: float, sign: str = "", digits: int = 1) -> str:
    """``3.1 % [2.9, 3.3]``: shares, an estimate and the ends of its interval."""
    first, *ends = (percent(share, sign, digits) for share in (estimate, low, high))
    return f"{first} % [{', '.join(ends)}]"


def over_one(ratio: Interval) -> str:
    """``+37.1 % [+36.0, +38.2]``: by how much a ratio lies above 1."""
    return percents(ratio.estimate - 1, ratio.low - 1, ratio.high - 1, "+")


def _at(value: float, place: int) -> str:
    """Rounded to this many digits after the point, or before it where that is negative."""
    return f"{round(value, place):,.{max(place, 0)}f}"
