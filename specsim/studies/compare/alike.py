"""What compared scenarios have in common, and what not: whether differences are paired, and what to beware of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from specsim.inputs.models.workload import Gamma, Load
from specsim.inputs.read.scenario import Inputs


class Unlike(NamedTuple):
    """Something in which scenarios differ that makes comparing them hard to read.

    Attributes:
        what: it is, in words.
        values: as text → which scenarios have it.
    """

    what: str
    values: dict[str, list[str]]


def share_requests(one: Inputs, other: Inputs) -> bool:
    """Whether replications of equal number send the same requests, so that they are pairs."""
    return _requests(one) == _requests(other)


def share_arrivals(one: Inputs, other: Inputs) -> bool:
    """The same where requests also come by themselves, as in plans: after the same gaps, but for the rate."""
    return share_requests(one, other) and arrivals(one.scenario.workload.load) == arrivals(other.scenario.workload.load)


def _requests(inputs: Inputs) -> tuple[Any, ...]:
    """All that the requests of a replication follow from, whatever the load."""
    workload, curve = inputs.scenario.workload, inputs.scenario.curve
    return (
        inputs.scenario.seed,
        workload.model_dump(exclude={"load", "num_requests"}),
        inputs.lengths_files,
        (curve.replications, curve.requests_per_slot, curve.min_requests),
    )


def arrivals(load: Load) -> str:
    """How requests come when a plan asks for rates, whatever the rate: clients and periods give way to Poisson."""
    match load.kind:
        case "closed_loop" | "rate_profile":
            return "poisson"
        case _:
            return f"gamma with a cv of {load.cv:g}" if isinstance(load, Gamma) else load.kind


def unlike(compared: Sequence[Inputs], traffic_words: Callable[[Inputs], str]) -> list[Unlike]:
    """Everything but what is meant to be compared (devices, drafters, formats, parallelism) in which they differ.

    Args:
        compared: the scenarios.
        traffic_words: the lengths of a scenario's requests in words.
    """
    looks: dict[str, tuple[Callable[[Inputs], Any], Callable[[Inputs], str]]] = {
        "target model": (lambda one: one.target, lambda one: one.scenario.deployment.target),
        "requests": (lambda one: _requests(one)[1:3], traffic_words),
        "arrivals": _itself(lambda one: arrivals(one.scenario.workload.load)),
        "temperature": _itself(lambda one: f"{one.scenario.speculation.temperature:g}"),
        "seed": _itself(lambda one: str(one.scenario.seed)),
        "engine profile": (lambda one: one.engine, lambda one: one.engine.name),
        "costs": _itself(lambda one: "ideal" if one.scenario.deployment.ideal else one.scenario.deployment.costs),
    }
    found = []
    for what, (value, words) in looks.items():
        values = [value(one) for one in compared]
        if any(each != values[0] for each in values[1:]):
            named: dict[str, list[str]] = {}
            for one in compared:
                named.setdefault(words(one), []).append(one.scenario.name)
            found.append(Unlike(what, named))
    return found


def _itself(words: Callable[[Inputs], str]) -> tuple[Callable[[Inputs], Any], Callable[[Inputs], str]]:
    return words, words
