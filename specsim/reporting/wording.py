"""Turns of phrase that several reports share."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.inputs.models.policy import (
    ConfidencePolicy,
    GoodputPolicy,
    OffAbovePolicy,
    OraclePolicy,
    PerRequestPolicy,
    StaticPolicy,
)
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.units import plural


def draft_tokens(number: int) -> str:
    """``1 draft token``, ``3 draft tokens``."""
    return plural(number, "draft token")


def levels(number: int) -> str:
    """``1 level``, ``3 levels``."""
    return plural(number, "level")


def drafts(scenario: Scenario, number: int) -> str:
    """What is drafted at a draft length: ``3 draft tokens``, or ``3 levels (20 nodes)`` of a tree."""
    tree = scenario.speculation.tree
    if tree is None:
        return draft_tokens(number)
    return f"{levels(number)} ({plural(tree.num_nodes(number), 'node')})"


def listed(words: Sequence[str]) -> str:
    """``1``, ``1 and 2`` or ``1, 2 and 3``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def from_to(low: object, high: object) -> str:
    """``1 to 8``, or the one value where both are the same."""
    return str(low) if str(low) == str(high) else f"{low} to {high}"


def pays_throughout(batches: str, *, pays: bool) -> str:
    """``pays at every batch simulated, 1 to 8``, ``pays at no batch …``; of a single one, ``does not pay at batch 8``.

    Args:
        batches: that were simulated, as ``from_to`` says them.
        pays: whether speculation pays at all of them, or at none.
    """
    if batches.isdecimal():
        return f"{'pays' if pays else 'does not pay'} at batch {batches}"
    return f"pays at {'every' if pays else 'no'} batch simulated, {batches}"


def policy_words(scenario: Scenario) -> str:
    """What is drafted: ``3 draft tokens``, or ``up to 3 draft tokens by expected goodput``."""
    policy = scenario.speculation.policy
    most = drafts(scenario, policy.num_draft_tokens)
    match policy:
        case StaticPolicy():
            return most
        case OffAbovePolicy():
            back = f" (on again at {policy.resume_at})" if policy.resume_at not in (None, policy.batch) else ""
            return f"{most} up to batch {policy.batch}{back}"
        case SchedulePolicy():
            return f"up to {most} by the schedule"
        case GoodputPolicy():
            return f"up to {most} by expected goodput"
        case PerRequestPolicy():
            return f"up to {most} by each request's last round"
        case ConfidencePolicy():
            return f"up to {most} while the drafter is confident"
        case OraclePolicy():
            return f"up to {most} by an oracle"
