"""What a prediction rests on, each input changed by itself.

A change multiplies one figure, or those that belong together, for all classes of requests, groups of a fleet and
formats alike. Knows nothing of what is predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from specsim.inputs.models.acceptance import Acceptance, StatedAcceptance
from specsim.inputs.models.drafters import NgramLookup
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.models.workload import RequestClass, Workload
from specsim.inputs.read.scenario import Inputs

HOST_TIMES = (
    "host_time_per_step",
    "host_time_per_sequence",
    "host_time_per_draft_pass",
    "host_time_per_verified_row",
    "host_time_when_idle_drafter",
)
LAUNCH_TIMES = ("eager_time_per_layer", "piecewise_time_per_layer")
Part = TypeVar("Part", Speculation, RequestClass)


class Changeable(NamedTuple):
    """An input that predictions rest on.

    Attributes:
        name: what people call it.
        change: (inputs, factor) → the inputs with the factor at this one.
        why_not: (inputs) → why it cannot be changed there; empty where it can.
    """

    name: str
    change: Callable[[Inputs, float], Inputs]
    why_not: Callable[[Inputs], str]


def changed(inputs: Inputs, changeable: Changeable, factor: float) -> Inputs:
    """The inputs with one of them multiplied, in every group of a fleet too."""
    whole = changeable.change(inputs, factor)
    return replace(whole, groups=tuple(changeable.change(group, factor) for group in inputs.groups))


def _change_acceptance(inputs: Inputs, factor: float) -> Inputs:
    scenario, workload = inputs.scenario, inputs.scenario.workload
    domains = {
        number: acceptance.scaled(factor)
        for number, acceptance in workload.domains.items()
        if isinstance(acceptance, StatedAcceptance)
    }
    mixture = tuple(_with_acceptance(part, factor) for part in workload.mixture)
    update = {
        "speculation": _with_acceptance(scenario.speculation, factor),
        "workload": workload.model_copy(update={"mixture": mixture, "domains": domains}),
    }
    return replace(inputs, scenario=scenario.model_copy(update=update))


def _with_acceptance(part: Part, factor: float) -> Part:
    if not isinstance(part.acceptance, StatedAcceptance):
        return part
    return part.model_copy(update={"acceptance": part.acceptance.scaled(factor)})


def _acceptance_is_fixed(inputs: Inputs) -> str:
    found = [inputs.scenario.speculation.acceptance, *_of_classes(inputs.scenario.workload)]
    stated = [acceptance for acceptance in found if isinstance(acceptance, StatedAcceptance)]
    if len(stated) < len(found):
        return "it follows from recordings or language models"
    if any(acceptance.spread or acceptance.hard_stretches for acceptance in stated):
        return "it varies about its mean, and the scenario does not say by how much it would about another"
    return ""


def _of_classes(workload: Workload) -> list[Acceptance]:
    return [part.acceptance for part in workload.mixture if part.acceptance] + list(workload.domains.values())


def _change_draft_cost(inputs: Inputs, factor: float) -> Inputs:
    """Of the drafter's passes on the device, or of looking drafts up."""
    speculation = inputs.scenario.speculation
    drafter = speculation.drafter
    if isinstance(drafter, NgramLookup):
        update = {name: factor * getattr(drafter, name) for name in ("host_time_per_step", "host_time_per_sequence")}
    else:
        update = {"time_factor": factor * (drafter.time_factor or 1.0)}
    drafting = speculation.model_copy(update={"drafter": drafter.model_copy(update=update)})
    return replace(inputs, scenario=inputs.scenario.model_copy(update={"speculation": drafting}))


def _drafts_are_free(inputs: Inputs) -> str:
    drafter = inputs.scenario.speculation.drafter
    if not isinstance(drafter, NgramLookup):
        return ""
    if inputs.scenario.deployment.ideal:
        return "looking drafts up is the host's work, and the ideal device has none"
    stated = drafter.host_time_per_step or drafter.host_time_per_sequence
    return "" if stated else "looking drafts up takes no time in this scenario"


def _change_bandwidth(inputs: Inputs, factor: float) -> Inputs:
    """What all kernels achieve of it, at whatever efficiency."""
    memory = inputs.device.memory
    memory = memory.model_copy(update={"bandwidth": factor * memory.bandwidth})
    return replace(inputs, device=inputs.device.model_copy(update={"memory": memory}))


def _change_compute(inputs: Inputs, factor: float) -> Inputs:
    peak = inputs.device.peak
    peaks = {name: value and factor * value for name, value in peak}
    return replace(inputs, device=inputs.device.model_copy(update={"peak": peak.model_copy(update=peaks)}))


def _change_host_time(inputs: Inputs, factor: float) -> Inputs:
    return replace(inputs, engine=_slower_host(inputs.engine, factor))


def _slower_host(engine: Engine, factor: float) -> Engine:
    times = {name: _times(getattr(engine, name), factor) for name in HOST_TIMES}
    by_kind = engine.host_time_per_draft_pass_of
    graphs = engine.graphs and engine.graphs.model_copy(
        update={name: _times(getattr(engine.graphs, name), factor) for name in LAUNCH_TIMES}
    )
    return engine.model_copy(
        update=times
        | {"host_time_per_draft_pass_of": by_kind and {kind: factor * time for kind, time in by_kind.items()}}
        | {"graphs": graphs}
    )


def _times(seconds: float | None, factor: float) -> float | None:
    return None if seconds is None else factor * seconds


def _no_host(inputs: Inputs) -> str:
    return "the ideal device has none" if inputs.scenario.deployment.ideal else ""


def _change_communication(inputs: Inputs, factor: float) -> Inputs:
    """Time among devices: a slower link, and reductions that take longer to begin."""
    link, reduce = inputs.device.interconnect, inputs.device.allreduce
    update = {
        "interconnect": link and link.model_copy(update={"bandwidth": link.bandwidth / factor}),
        "allreduce": reduce and reduce.model_copy(update={"launch": factor * reduce.launch}),
    }
    return replace(inputs, device=inputs.device.model_copy(update=update))


def _one_device(inputs: Inputs) -> str:
    several = any(one.scenario.deployment.num_devices > 1 for one in (inputs, *inputs.groups))
    return "" if several else "there is one device"


def _measured_products(inputs: Inputs) -> str:
    measured = inputs.scenario.deployment.costs != "roofline"
    return "matrix products take the time measured, whatever the device could do" if measured else ""


CHANGEABLE = (
    Changeable("acceptance", _change_acceptance, _acceptance_is_fixed),
    Changeable("bandwidth achieved", _change_bandwidth, _measured_products),
    Changeable("compute achieved", _change_compute, _measured_products),
    Changeable("draft time", _change_draft_cost, _drafts_are_free),
    Changeable("host time", _change_host_time, _no_host),
    Changeable("communication time", _change_communication, _one_device),
)
