"""Settings and their costs in a few words, as sentences, tables, axes and files share them."""

from __future__ import annotations

import math

from specsim.analysis.intervals import Interval
from specsim.inputs.models.optimize import WITHOUT_LENGTH
from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.reporting.intervals import plain
from specsim.studies.optimize.optimum import Optimum
from specsim.studies.optimize.space import Settings
from specsim.studies.plan.arms import Arm

NAMES = {"tensor_parallel": "TP", "max_num_seqs": "max_num_seqs", "token_budget": "token budget"}


def short_arm_words(arm: Arm) -> str:
    """``none``, ``3``, ``schedule 4/2/1``, ``goodput 3``: as tables and axes call it."""
    match arm.policy:
        case None:
            return "none"
        case StaticPolicy():
            return str(arm.num_draft_tokens)
        case SchedulePolicy():
            return f"schedule {'/'.join(str(row.num_draft_tokens) for row in arm.policy.rows)}"
        case _:
            return f"{arm.policy.kind} {arm.num_draft_tokens}"


def cost_words(found: Optimum, gpu_seconds: float) -> str:
    """``$0.0365``, or ``52.6 GPU-seconds`` without a price."""
    if not math.isfinite(gpu_seconds):
        return ""
    cost = plain(found.cost(gpu_seconds), 3)
    return f"{cost} GPU-seconds" if found.price is None else f"${cost}"


def less(ratio: Interval, resolution: float) -> str:
    """How a cost lies to another: ``at mean rates 16.2 % [15.7, 16.6] below``, or that they cannot be told apart."""
    if ratio.low <= 1 + resolution and ratio.high >= 1 - resolution:
        ends = f"{signed(ratio.estimate)} % [{signed(ratio.low)}, {signed(ratio.high)}]"
        return f"at mean rates not to be told apart ({ends}) from"
    if ratio.high < 1:
        below = [f"{100 * (1 - value):.1f}" for value in (ratio.estimate, ratio.high, ratio.low)]
        return f"at mean rates {below[0]} % [{below[1]}, {below[2]}] below"
    above = [f"{100 * (value - 1):.1f}" for value in (ratio.estimate, ratio.low, ratio.high)]
    return f"at mean rates {above[0]} % [{above[1]}, {above[2]}] above"


def signed(ratio: float) -> str:
    """``+3.2``: by how many per cent a ratio lies above 1."""
    text = f"{100 * (ratio - 1):+.1f}"
    return "0.0" if float(text) == 0 else text


def setting_values(found: Optimum) -> list[tuple[str, list[str]]]:
    """Name of each setting → its values in order, of those that have more than one."""
    numbers = [(words, [str(value) for value in getattr(found.space, name)]) for name, words in NAMES.items()]
    kinds = dict.fromkeys(_policy_of(one) for one in found.space.combinations())
    return [(name, values) for name, values in (*numbers, ("drafts", list(kinds))) if len(values) > 1]


def value_of(settings: Settings, name: str) -> str:
    """The value of one of ``setting_values``."""
    if name == "drafts":
        return _policy_of(settings)
    return str(next(getattr(settings, field) for field, words in NAMES.items() if words == name))


def _policy_of(settings: Settings) -> str:
    if settings.policy in WITHOUT_LENGTH:
        return settings.policy
    return (
        str(settings.num_draft_tokens)
        if settings.policy == "static"
        else f"{settings.policy} {settings.num_draft_tokens}"
    )
