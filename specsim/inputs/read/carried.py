"""Whom the acceptance of a scenario was given for: not for another target or drafter that takes their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

SPEED_ALONE = {  # what changes how fast a drafter is, and not what it drafts
    "host_time_per_sequence",
    "host_time_per_step",
    "source",
    "tensor_parallel",
    "time_factor",
    "vocabulary_map",
    "weight_format",
}
SHAPES_ALONE = {"concentration", "source", "vocabulary"}  # of acceptance: no figures

Pair = dict[str, Any]
"""Path in the scenario → the target, or what identifies the drafter."""


def pair_of(data: Mapping[str, Any]) -> Pair:
    """The target and the drafter of a scenario's data, which may lack either."""
    deployment, speculation = (_keys(data.get(name)) for name in ("deployment", "speculation"))
    drafter = {key: value for key, value in _keys(speculation.get("drafter")).items() if key not in SPEED_ALONE}
    return {"deployment.target": deployment.get("target"), "speculation.drafter": drafter}


def gives_acceptance(paths: Iterable[str]) -> bool:
    """Whether one of these paths of a scenario's data is a figure of its acceptance, or holds it."""
    below = "speculation.acceptance"
    return any(
        path in ("speculation", below) or (path.startswith(f"{below}.") and path.split(".")[2] not in SHAPES_ALONE)
        for path in paths
    )


def changed(given_for: Pair | None, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of what the acceptance was not given for.

    Args:
        given_for: target and drafter where it was given; None where they are the data's.
        data: of the scenario now.
    """
    now = pair_of(data)
    return tuple(path for path, value in (given_for or now).items() if value != now[path])


def _keys(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
