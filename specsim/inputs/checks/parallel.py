"""Checks that models can be split over the devices as a scenario asks."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.errors import Problem, in_scenario
from specsim.inputs.checkpoints.architecture import MLP, Attention, Experts, LatentAttention, LinearAttention
from specsim.inputs.checkpoints.model import ModelConfig, quantisation_of
from specsim.inputs.checkpoints.quantisation import Format
from specsim.inputs.models.drafters import NgramLookup
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.scenario import Deployment, Scenario


def contradictions(
    scenario: Scenario, device: Device, target: ModelConfig, drafter: ModelConfig | None
) -> Iterator[Problem]:
    """Sizes that do not divide, links that a device lacks, experts that a model lacks."""
    deployment, drafting = scenario.deployment, scenario.speculation.drafter
    group, path = deployment.tensor_parallel, "deployment.tensor_parallel"
    yield from _devices(deployment, device)
    yield from _experts(deployment, target)
    yield from _stages(deployment, device, target)
    yield from _shares(path, group, deployment.expert_parallel, target, "the target")
    declared = quantisation_of(target) if deployment.weight_format is None else None
    if declared is not None:
        yield from _blocks(path, group, deployment.expert_parallel, target, declared.format)
    if drafter is None or isinstance(drafting, NgramLookup):
        return
    draft_group = drafting.tensor_parallel
    if draft_group is None or draft_group == group:
        yield from _shares(path, group, deployment.expert_parallel, drafter, "the drafter")
        return
    path = "speculation.drafter.tensor_parallel"
    if draft_group > deployment.num_devices:
        yield in_scenario(path, draft_group, f"deployment.num_devices is {deployment.num_devices}; write at most that")
    yield from _links(path, draft_group, deployment, device)
    yield from _shares(path, draft_group, 1, drafter, "the drafter")


def _devices(deployment: Deployment, device: Device) -> Iterator[Problem]:
    group, stages = deployment.tensor_parallel, deployment.pipeline_parallel
    used = group * stages
    if deployment.num_devices != used:
        what = (
            f"tensor_parallel ({group})" if stages == 1 else f"tensor_parallel x pipeline_parallel ({group} x {stages})"
        )
        remedy = f"must equal {what}, the devices of a replica; for several replicas write 'fleet: {{replicas: 2}}'"
        yield in_scenario("deployment.num_devices", deployment.num_devices, remedy)
    most = device.max_devices
    if used > most:
        path, value = ("tensor_parallel", group) if stages == 1 else ("pipeline_parallel", stages)
        yield in_scenario(f"deployment.{path}", value, _linked(device))
    else:
        yield from _links("deployment.tensor_parallel", group, deployment, device)


def _linked(device: Device) -> str:
    if device.interconnect is None:
        return f"{device.name} has no link to others (interconnect and allreduce in its file); write 1, or add them"
    return f"{device.name} links at most {device.max_devices} devices; write at most {device.max_devices}"


def _links(path: str, group: int, deployment: Deployment, device: Device) -> Iterator[Problem]:
    if group > 1 and not deployment.ideal and group not in device.group_sizes:
        known = ", ".join(map(str, (1, *device.group_sizes)))
        remedy = f"{device.name} has no all-reduce figures for {group} devices; write one of {known}"
        yield in_scenario(path, group, remedy)


def _experts(deployment: Deployment, target: ModelConfig) -> Iterator[Problem]:
    spread, group, path = deployment.expert_parallel, deployment.tensor_parallel, "deployment.expert_parallel"
    if spread == 1:
        if deployment.expert_exchange == "all_to_all":
            remedy = (
                "experts are not spread over devices (expert_parallel is 1); write expert_parallel, or leave it out"
            )
            yield in_scenario("deployment.expert_exchange", deployment.expert_exchange, remedy)
    elif target.num_experts is None:
        yield in_scenario(path, spread, "the target has no experts; write 1")
    elif group % spread:
        yield in_scenario(
            path, spread, f"must divide tensor_parallel ({group}), whose devices the experts are spread over"
        )
    elif target.num_experts % spread:
        yield in_scenario(path, spread, f"must divide the target's {target.num_experts} experts")


def _stages(deployment: Deployment, device: Device, target: ModelConfig) -> Iterator[Problem]:
    stages, path = deployment.pipeline_parallel, "deployment.pipeline_parallel"
    if stages > target.num_hidden_layers:
        yield in_scenario(path, stages, f"the target has {target.num_hidden_layers} layers; write at most that")
    if stages > 1 and not deployment.ideal and 2 not in device.group_sizes:
        yield in_scenario(path, stages, f"{device.name} has no figures for a link between two devices; write 1")


def _shares(path: str, group: int, spread: int, model: ModelConfig, who: str) -> Iterator[Problem]:
    sizes = dict.fromkeys(size for layer, _ in model.layers for part in layer for size in _divided(part, group, spread))
    uneven = [f"{size} {name}" for size, name, among in sizes if size % among]
    if uneven:
        remedy = f"does not divide {who}'s {' and '.join(uneven)}; write a common divisor"
        yield in_scenario(path, group, remedy)


def _blocks(path: str, group: int, spread: int, model: ModelConfig, form: Format) -> Iterator[Problem]:
    """Squares of weights with one scale that a group would cut, which engines refuse to load."""
    block = form.block
    if block is None:
        return
    parts = {part for layer, _ in model.layers for part in layer}
    experts = any(isinstance(part, Experts) and _cuts(part.width, group // spread, block) for part in parts)
    widths = [(part.width, "intermediate_size", group) for part in parts if isinstance(part, MLP)]
    for part in parts:
        if isinstance(part, Experts):
            widths.append((part.width, "moe_intermediate_size", max(1, group // spread)))
            widths += [(part.shared_width, "width of the shared experts", group)] if part.shared_width else []
    cut = sorted({(name, size, among) for size, name, among in widths if _cuts(size, among, block)})
    if cut:
        name, size, among = cut[0]
        fitting = max(n for n in range(1, among) if among % n == 0 and not _cuts(size, n, block))
        remedy = (
            f"cuts the {block} x {block} blocks of {form.name} weights ({size} of {name} / {among} = {size // among}), "
            f"which engines refuse; write {group * fitting // among}"
        )
        if experts:
            remedy += f", or keep experts whole with expert_parallel: {group}"
        yield in_scenario(path, group, remedy)


def _cuts(size: int, among: int, block: int) -> bool:
    return size % among == 0 and bool(size // among % block) and among > 1


def _divided(part: object, group: int, spread: int) -> Iterator[tuple[int, str, int]]:
    """(size, its name, by how many it is divided) of what a group of devices shares."""
    match part:
        case Attention():
            yield part.heads, "attention heads", group
            if group % part.kv_heads:  # more devices than heads hold copies of them
                yield part.kv_heads, "key-value heads", group
        case LatentAttention():
            yield part.heads, "attention heads", group
        case LinearAttention():
            yield part.key_heads, "heads of linear attention", group
        case MLP():
            yield part.width, "intermediate_size", group
        case Experts():
            yield part.width, "moe_intermediate_size", max(1, group // spread)
            if part.shared_width:
                yield part.shared_width, "width of the shared experts", group
