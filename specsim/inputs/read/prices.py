"""Prices of a GPU for an hour, from the command line: one for all, or one by device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from specsim.errors import InputError, Problem
from specsim.inputs.read.scenario import Inputs

OPTION = "--price"
ALL = ""
"""Stands for every device without a price of its own."""
Prices = Mapping[str, float]
"""Catalogue name of a device, or ALL → dollars for an hour."""


def parse_prices(texts: Sequence[str]) -> dict[str, float]:
    """Parse ``2.5`` or ``h100-sxm=2.5 h200=3.2``, in one text or several.

    Raises:
        InputError: with a problem for each entry that is no price.
    """
    found: dict[str, float] = {}
    wrong = []
    for entry in " ".join(texts).replace(",", " ").split():
        device, equals, text = entry.rpartition("=")
        price = _number(text)
        remedy = ""
        if (equals and not device) or not price > 0:
            remedy = "must be a number above 0, or a device and one; write for example 2.5 or h100-sxm=2.5"
        elif device in found:
            remedy = f"{device or 'a price for all'} is given twice; give it once"
        if remedy:
            wrong.append(Problem(OPTION, "", repr(entry), remedy))
        found[device] = price
    if not (found or wrong):
        wrong.append(Problem(OPTION, "", repr(" ".join(texts)), "gives no price; write for example 2.5"))
    if wrong:
        raise InputError(wrong)
    return found


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def devices_of(inputs: Inputs) -> dict[str, int]:
    """Catalogue name → number of devices in the scenario, over all replicas of a fleet."""
    found: dict[str, int] = {}
    counts = [group.count for group in inputs.scenario.fleet.groups] if inputs.scenario.fleet else [1]
    for own, count in zip(inputs.groups or (inputs,), counts, strict=True):
        name = own.files["device"].stem
        found[name] = found.get(name, 0) + count * own.scenario.deployment.num_devices
    return found


def price_of(inputs: Inputs, prices: Prices) -> float | None:
    """Mean price of the scenario's GPUs for an hour; None where one of them has no price.

    A price by device goes before one for all, and that before the scenario's own.
    """
    own = inputs.scenario.plan.price_per_gpu_hour if inputs.scenario.plan else None
    devices = devices_of(inputs)
    each = {name: prices.get(name, prices.get(ALL, own)) for name in devices}
    stated = {name: price for name, price in each.items() if price is not None}
    if len(stated) < len(each):
        return None
    if len(set(stated.values())) == 1:
        return next(iter(stated.values()))  # as it was written, without rounding
    return sum(stated[name] * number for name, number in devices.items()) / sum(devices.values())


def wrong_devices(prices: Prices, compared: Sequence[Inputs]) -> Iterator[Problem]:
    """Problems with prices of devices that no scenario has."""
    known = {name: None for inputs in compared for name in devices_of(inputs)}
    for device in prices:
        if device not in (ALL, *known):
            remedy = f"no scenario compared has that device; they have {', '.join(known)}"
            yield Problem(OPTION, "", repr(f"{device}={prices[device]:g}"), remedy)
