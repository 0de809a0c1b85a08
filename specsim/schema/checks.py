"""Contradictions among the parts of a scenario that no single part can see."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.errors import Problem
from specsim.schema.hardware import Device
from specsim.schema.model import ModelConfig
from specsim.schema.scenario import Deployment, Scenario
from specsim.schema.speculation import DraftModel, EagleHead, NgramLookup
from specsim.schema.workload import ClosedLoop


def contradictions(
    scenario: Scenario, device: Device, target: ModelConfig, drafter: ModelConfig | None
) -> list[Problem]:
    """Every contradiction, with paths inside the scenario; ``where`` is left to the caller."""
    return [
        *_load(scenario),
        *_tree(scenario),
        *_devices(scenario.deployment, device),
        *_tensor_parallel(scenario.deployment, target, "the target"),
        *(_drafter(scenario, target, drafter) if drafter else ()),
    ]


def _problem(path: str, value: object, remedy: str) -> Problem:
    return Problem("", path, repr(value), remedy)


def _load(scenario: Scenario) -> Iterator[Problem]:
    load, sent = scenario.workload.load, scenario.workload.num_requests
    if isinstance(load, ClosedLoop) and sent < load.concurrency:
        remedy = (
            f"fewer requests than workload.load.concurrency ({load.concurrency}) are never all in flight; send more"
        )
        yield _problem("workload.num_requests", sent, remedy)


def _tree(scenario: Scenario) -> Iterator[Problem]:
    tree, policy = scenario.speculation.tree, scenario.speculation.policy
    if tree is None:
        return
    levels = f"the tree has {tree.num_levels} level{'s' if tree.num_levels > 1 else ''}"
    if policy.num_draft_tokens > tree.num_levels:
        remedy = f"{levels}, and each is one position; write at most {tree.num_levels}, or add levels to branching"
        yield _problem("speculation.policy.num_draft_tokens", policy.num_draft_tokens, remedy)
    compared = scenario.curve.num_draft_tokens or ()
    if max(compared, default=0) > tree.num_levels:
        remedy = f"{levels}; write lengths up to {tree.num_levels}, or leave it out to compare all up to 5"
        yield _problem("curve.num_draft_tokens", list(compared), remedy)
    vocabulary = scenario.speculation.acceptance.vocabulary
    if 2 * tree.width > vocabulary:
        remedy = (
            f"too few for siblings that differ: the tree has up to {tree.width} of them, and half of the vocabulary "
            f"may not be drafted at all; write at least {2 * tree.width}"
        )
        yield _problem("speculation.acceptance.vocabulary", vocabulary, remedy)


def _devices(deployment: Deployment, device: Device) -> Iterator[Problem]:
    group, path = deployment.tensor_parallel, "deployment.tensor_parallel"
    if deployment.num_devices != group:
        remedy = (
            f"must equal tensor_parallel ({group}): one replica is simulated; several replicas are not supported yet"
        )
        yield _problem("deployment.num_devices", deployment.num_devices, remedy)
    most = device.interconnect.max_devices
    if group > most:
        yield _problem(path, group, f"{device.name} links at most {most} devices; write at most {most}")
    elif group > 1 and not deployment.ideal and group not in device.allreduce.efficiency:
        known = ", ".join(map(str, sorted(device.allreduce.efficiency)))
        remedy = f"{device.name} has no all-reduce figures for {group} devices; write 1 or one of {known}"
        yield _problem(path, group, remedy)


def _tensor_parallel(deployment: Deployment, model: ModelConfig, who: str) -> Iterator[Problem]:
    group = deployment.tensor_parallel
    sizes = {
        "attention heads": model.num_attention_heads,
        "key-value heads": model.num_key_value_heads,
        "intermediate_size": model.intermediate_size,
    }
    uneven = [f"{size} {name}" for name, size in sizes.items() if size % group]
    if uneven:
        remedy = f"does not divide {who}'s {' and '.join(uneven)}; write a common divisor"
        yield _problem("deployment.tensor_parallel", group, remedy)


def _drafter(scenario: Scenario, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
    drafter = scenario.speculation.drafter
    if isinstance(drafter, NgramLookup):
        return
    yield from _tensor_parallel(scenario.deployment, model, "the drafter")
    yield from _head(drafter, target, model)
    yield from _vocabularies(drafter, target, model)


def _head(drafter: DraftModel | EagleHead, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
    """A head reads the target's hidden states, so it has their width; and it is one layer deep."""
    if isinstance(drafter, DraftModel):
        return
    path = "speculation.drafter.model"
    if model.hidden_size != target.hidden_size:
        remedy = (
            f"a head of hidden size {model.hidden_size} cannot read the target's states of size {target.hidden_size}; "
            "use the head made for this target"
        )
        yield _problem(path, drafter.model, remedy)
    if model.num_hidden_layers != 1:
        remedy = (
            f"an EAGLE head has 1 layer, not {model.num_hidden_layers}; name the head's own config.json, or write "
            "'kind: draft_model' for a whole model"
        )
        yield _problem(path, drafter.model, remedy)


def _vocabularies(drafter: DraftModel | EagleHead, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
    path, mapped = "speculation.drafter.vocabulary_map", drafter.vocabulary_map
    if mapped == "prefix":
        return
    if model.vocab_size != target.vocab_size:
        remedy = (
            f"the drafter's vocabulary has {model.vocab_size} tokens and the target's {target.vocab_size}, so "
            "token-level verification is undefined; use a drafter of the target's tokenizer"
        )
        if isinstance(drafter, DraftModel):
            remedy += ", or 'vocabulary_map: prefix' if one is the other padded"
        yield _problem(path, mapped, remedy)
    smaller = model.draft_vocab_size not in (None, target.vocab_size)
    if smaller and mapped != "d2t":
        remedy = (
            f"the head scores {model.draft_vocab_size} of the target's {target.vocab_size} tokens; "
            "write 'vocabulary_map: d2t' if it ships its id table"
        )
        yield _problem(path, mapped, remedy)
