"""Latency limits: as the command line gives them, and a plan that has none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from specsim import units
from specsim.errors import InputError, Problem
from specsim.inputs.models.plan import LATENCIES, PERCENTILE, Plan, limits_of
from specsim.inputs.read.scenario import Inputs

DEFAULT_PERCENTILE = 99
_SPACED = re.compile(rf"(:[\d.]+) +(?=(?:{'|'.join(units.TIME)})(?:[\s,]|$))")
"""A number and the space before its unit."""


def parse_slo(texts: Sequence[str], option: str = "--slo") -> dict[str, dict[str, str]]:
    """Parse ``ttft:200 tpot.p95:0.02s``, the syntax of vLLM's `--goodput`; a number without unit is in ms.

    Returns:
        latency → percentile → limit with its unit, as ``plan.slo`` of a scenario has it.

    Raises:
        InputError: with a problem for each entry that is no limit, or because there is none.
    """
    found: dict[str, dict[str, str]] = {}
    wrong = []
    for entry in _SPACED.sub(r"\1", " ".join(texts)).replace(",", " ").split():
        name, _, value = entry.partition(":")
        latency, _, percentile = name.lower().partition(".")
        percentile = percentile or f"p{DEFAULT_PERCENTILE}"
        remedy = _remedy(latency, percentile, value)
        if not remedy and percentile in found.get(latency, {}):
            remedy = f"{latency}.{percentile} is given twice; give it once"
        if remedy:
            wrong.append(Problem(option, "", repr(entry), remedy))
        found.setdefault(latency, {})[percentile] = with_unit(value, "ms")
    if not (found or wrong):
        remedy = "gives no limit; write for example 'ttft:200 tpot:20'"
        wrong.append(Problem(option, "", repr(" ".join(texts)), remedy))
    if wrong:
        raise InputError(wrong)
    return found


def _remedy(latency: str, percentile: str, value: str) -> str:
    """What is wrong with an entry; nothing where nothing is."""
    if latency not in LATENCIES:
        return f"unknown latency; known are {', '.join(LATENCIES)}; write for example ttft:200 or ttft.p90:200 (ms)"
    if not PERCENTILE.fullmatch(percentile):
        return f"unknown percentile; write for example {latency}.p50, {latency}.p95 or {latency}.p99.9"
    try:
        positive = units.parse(with_unit(value, "ms"), units.TIME) > 0
    except ValueError:
        positive = False
    return "" if positive else f"needs a time above 0 after the colon; write {latency}:200 (ms) or {latency}:0.2s"


def with_unit(text: str, unit: str) -> str:
    """A quantity of the command line: as it is if it has a unit, else with this one."""
    try:
        float(text)
    except ValueError:
        return text
    return f"{text} {unit}"


def parse_rate(text: str, option: str) -> str:
    """The text of ``--rate`` as ``plan.rate`` has it: ``400`` and ``400 requests/s`` are the same."""
    return with_unit(text, "requests/s")


def refuse_without_limits(inputs: Inputs) -> None:
    """Refuse to plan for a scenario without latency limits.

    Raises:
        InputError: when neither ``plan.slo`` nor ``slo`` holds one.
    """
    if not limits_of(inputs.scenario.plan or Plan(), inputs.scenario.slo):
        remedy = "has no limit; add --slo 'ttft:200 tpot:20' (ms), or plan.slo to the scenario"
        raise InputError([Problem(str(inputs.files["scenario"]), "plan.slo", "", remedy)])
