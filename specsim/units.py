"""Quantities: strings with a unit at the rim, SI floats inside.

Tera is 10^12, GB is 10^9 bytes and GiB is 2^30 bytes. A bare number where a unit is due is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, Overflow

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*?)\s*")

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}

BYTES = {f"{prefix}B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
BANDWIDTH = {f"{unit}/s": factor for unit, factor in BYTES.items()}
COMPUTE = {f"{prefix}FLOP/s": factor for prefix, factor in _DECIMAL.items()}
TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
RATE = {"requests/s": 1.0, "requests/min": 1 / 60, "requests/h": 1 / 3600}


def parse(text: object, units: Mapping[str, float]) -> float:
    """The SI value of a quantity such as ``"3.35 TB/s"``.

    Args:
        text: a number followed by one of the units.
        units: unit → its size in SI units; BYTES, BANDWIDTH, COMPUTE, TIME or RATE.

    Raises:
        ValueError: when the unit is missing or unknown, or the number is negative or not finite.
    """
    known = ", ".join(units)
    if not isinstance(text, str):
        raise ValueError(f"a quantity needs a unit; write it as text with one of {known}")
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"not a number with a unit; write for example '2 {next(iter(units))}' (units: {known})")
    number, unit = Decimal(found[1]), found[2]
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


def format_exact(value: float, units: Mapping[str, float]) -> str:
    """The shortest text that ``parse`` turns back into exactly ``value``, in the unit that reads best."""
    scaled = {unit: value / factor for unit, factor in units.items()}
    candidates = [f"{repr(x).removesuffix('.0')} {unit}" for unit, x in scaled.items() if math.isfinite(x)]
    exact = [text for text in candidates if parse(text, units) == value]
    return min(exact, key=len) if exact else f"{value!r} {_base(units)}"


def _base(units: Mapping[str, float]) -> str:
    return next(unit for unit, factor in units.items() if factor == 1.0)
