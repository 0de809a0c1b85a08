"""A fleet in words: how many replicas of what there are, and how they are chosen."""

from __future__ import annotations

from specsim.inputs.models.fleet import Fleet, Router
from specsim.inputs.models.scenario import Scenario
from specsim.units import plural


def fleet_words(fleet: Fleet) -> str:
    """The replicas and how they are chosen."""
    split = fleet.disaggregation
    if split is None:
        return f"{plural(fleet.num_replicas, 'replica')}{_chosen(fleet.num_replicas, fleet.router)}"
    prefill, decode = (sum(group.count for group in groups) for groups in (split.prefill, split.decode))
    prompts, decoding = _chosen(prefill, fleet.router), _chosen(decode, split.decode_router)
    return f"{plural(prefill, 'replica')} for prefill{prompts} and {decode} for decode{decoding}"


def _chosen(number: int, router: Router) -> str:
    return f" {router.words}" if number > 1 else ""


def num_devices(scenario: Scenario) -> int:
    """Of all replicas."""
    own = scenario.deployment.num_devices
    groups = scenario.fleet.groups if scenario.fleet else ()
    return sum(group.count * (group.deployment.num_devices or own) for group in groups) or own


def devices_words(number: int) -> str:
    """``1 device``, ``4 devices``."""
    return plural(number, "device")
