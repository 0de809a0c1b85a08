"""Checks each group of a fleet, as a scenario of its own with the group's deployment and policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specsim.errors import Problem
from specsim.inputs.models.fleet import ReplicaGroup
from specsim.inputs.models.scenario import Scenario


def group_scenario(scenario: Scenario, group: ReplicaGroup) -> Scenario:
    """The scenario of a single replica of a group."""
    deployment = scenario.deployment.model_copy(update=group.deployment.model_dump(exclude_none=True))
    speculation = scenario.speculation
    if group.policy is not None:
        speculation = speculation.model_copy(update={"policy": group.policy})
    return scenario.model_copy(update={"deployment": deployment, "speculation": speculation, "fleet": None})


def of_group(found: Iterable[Problem], elsewhere: Iterable[Problem], group: ReplicaGroup, place: str) -> list[Problem]:
    """Problems of a group, with paths in the scenario of the fleet.

    Args:
        found: what is wrong with ``group_scenario``.
        elsewhere: what is wrong with the scenario's own deployment; left out here.
        group: the group.
        place: its path.
    """
    known = set(elsewhere)
    own = {f"deployment.{key}": f"{place}.deployment.{key}" for key in group.deployment.model_dump(exclude_none=True)}
    if group.policy is not None:
        own |= {"speculation.policy": f"{place}.policy"}
    return [_moved(problem, own, place) for problem in found if problem not in known]


def _moved(problem: Problem, own: dict[str, str], place: str) -> Problem:
    for path, stands in own.items():
        if f"{problem.path}.".startswith(f"{path}."):
            return Problem(problem.where, stands + problem.path.removeprefix(path), problem.value, problem.remedy)
    return Problem(problem.where, problem.path, problem.value, f"{problem.remedy} (for {place})")


def policies(scenario: Scenario, places: Iterable[str]) -> Iterator[Problem]:
    """Groups can draft only if the scenario's own policy does: otherwise no arm of the comparison has drafts."""
    fleet = scenario.fleet
    if fleet is None or scenario.speculation.policy.num_draft_tokens > 0:
        return
    for place, group in zip(places, fleet.groups, strict=True):
        if group.policy is not None and group.policy.num_draft_tokens > 0:
            remedy = (
                "the scenario's own policy has no drafts, so this one would never be used; give "
                "speculation.policy drafts, and num_draft_tokens: 0 to the groups that have none"
            )
            drafts = repr(group.policy.num_draft_tokens)
            yield Problem("", f"{place}.policy.num_draft_tokens", drafts, remedy)
