"""Quantities: strings with a unit at the rim, SI floats inside.

Tera is 10^12, GB is 10^9 bytes and GiB is 2^30 bytes. A bare number where a unit is due is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation, Overflow

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\s\d].*?)?\s*")

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}

MAX_PLAIN_EXPONENT = 7  # numbers from 0.0000001 to below 10,000,000 are written without one

BYTES = {f"{prefix}B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
BANDWIDTH = {f"{unit}/s": factor for unit, factor in BYTES.items()}
COMPUTE = {f"{prefix}FLOP/s": factor for prefix, factor in _DECIMAL.items()}
TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
POWER = {"W": 1.0, "kW": 1e3}
RATE = {"requests/s": 1.0, "requests/min": 1 / 60, "requests/h": 1 / 3600}


def parse(text: object, units: Mapping[str, float]) -> float:
    """The SI value of a quantity such as ``"3.35 TB/s"``.

    Args:
        text: a number followed by one of the units.
        units: unit → its size in SI units; BYTES, BANDWIDTH, COMPUTE, TIME, POWER or RATE.

    Raises:
        ValueError: when the unit is missing or unknown, or the number is negative or not finite.
    """
    known = ", ".join(units)
    found = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if not isinstance(text, str) or (found is not None and found[2] is None):
        raise ValueError(f"a quantity needs a unit; write it as text with one of {known}")
    if found is None:
        raise ValueError(f"not a number with a unit; write for example '2 {next(iter(units))}' (units: {known})")
    number, unit = _decimal(found[1]), found[2]
    if unit not in units:
        raise ValueError(f"unknown unit {unit!r}; write one of {known}")
    # decimal arithmetic, so that "2.039 TB/s" is the float nearest to 2.039e12 and not a product of two rounded ones
    try:
        value = float(number * Decimal(repr(units[unit])))
    except Overflow:  # an exponent beyond even Decimal's range, such as 1e9999999
        value = math.inf
    if not (math.isfinite(value) and value >= 0):
        raise ValueError("must be finite and not negative")
    return value


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent of more digits than Decimal takes, such as 1e9999999999999999999
        return Decimal("Infinity" if "e-" not in digits.lower() else 0)


def format_exact(value: float, units: Mapping[str, float]) -> str:
    """A text that ``parse`` turns back into exactly ``value``: short, a number from 1 to 1000 where a unit allows."""
    texts = {}
    for unit, factor in units.items():
        # the quotient in decimal is exact for units that are powers of ten, the rounded one is shorter for others
        for number in (Decimal(repr(value)) / Decimal(repr(factor)), Decimal(repr(value / factor))):
            texts[f"{_plain(number)} {unit}"] = number
    exact = [text for text, number in texts.items() if number.is_finite() and parse(text, units) == value]
    return min(exact, key=lambda text: (not 1 <= texts[text] < 1000, len(text)))


def _plain(number: Decimal) -> str:
    """Without trailing zeros, and with an exponent only where the number is far from 1."""
    short = number.normalize()
    return f"{short:f}" if -MAX_PLAIN_EXPONENT <= short.adjusted() < MAX_PLAIN_EXPONENT else str(short).lower()


def plural(number: int, noun: str, plural: str = "") -> str:
    """``1 replica``, ``2,000 replicas``.

    Args:
        number: of things.
        noun: one of them.
        plural: several; the noun with an s by default.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
