"""Latency limits: as the command line gives them, and a plan that has none."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.errors import InputError, Problem
from specsim.inputs.models.plan import LATENCIES, PERCENTILES, Plan, limits_of
from specsim.inputs.read.scenario import Inputs

DEFAULT_PERCENTILE = 99


def parse_slo(texts: Sequence[str], option: str = "--slo") -> dict[str, dict[str, str]]:
    """Parse ``ttft:200 tpot.p90:20``, limits in ms in the syntax of vLLM's `--goodput`.

    Returns:
        latency → percentile → limit with its unit, as ``plan.slo`` of a scenario has it.

    Raises:
        InputError: with a problem for each entry that is no limit, or because there is none.
    """
    found: dict[str, dict[str, str]] = {}
    wrong = []
    for entry in " ".join(texts).replace(",", " ").split():
        name, _, value = entry.partition(":")
        latency, _, percentile = name.lower().partition(".")
        percentile = percentile or f"p{DEFAULT_PERCENTILE}"
        remedy = _remedy(latency, percentile, value)
        if not remedy and percentile in found.get(latency, {}):
            remedy = f"{latency}.{percentile} is given twice; give it once"
        if remedy:
            wrong.append(Problem(option, "", repr(entry), remedy))
        found.setdefault(latency, {})[percentile] = f"{value} ms"
    if not (found or wrong):
        remedy = "gives no limit; write for example 'ttft:200 tpot:20'"
        wrong.append(Problem(option, "", repr(" ".join(texts)), remedy))
    if wrong:
        raise InputError(wrong)
    return found


def _remedy(latency: str, percentile: str, value: str) -> str:
    """What is wrong with an entry; nothing where nothing is."""
    known = [f"p{number}" for number in PERCENTILES]
    if latency not in LATENCIES:
        return f"unknown latency; known are {', '.join(LATENCIES)}; write for example ttft:200 or ttft.p90:200 (ms)"
    if percentile not in known:
        return f"unknown percentile; known are {', '.join(known)}; write for example {latency}.p90:200 (ms)"
    try:
        positive = 0 < float(value) < float("inf")
    except ValueError:
        positive = False
    return "" if positive else f"needs a number of ms above 0 after the colon, without unit; write {latency}:200"


def refuse_without_limits(inputs: Inputs) -> None:
    """Refuse to plan for a scenario without latency limits.

    Raises:
        InputError: when neither ``plan.slo`` nor ``slo`` holds one.
    """
    if not limits_of(inputs.scenario.plan or Plan(), inputs.scenario.slo):
        remedy = "has no limit; add --slo 'ttft:200 tpot:20' (ms), or plan.slo to the scenario"
        raise InputError([Problem(str(inputs.files["scenario"]), "plan.slo", "", remedy)])
