"""Checks that checkpoint, scenario and device agree on the number formats of weights."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.errors import Problem
from specsim.inputs.checkpoints.model import ModelConfig, quantisation_of
from specsim.inputs.checkpoints.quantisation import UNQUANTISED, Matrices, Quantisation, formats, stated
from specsim.inputs.models.drafters import NgramLookup
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.scenario import Scenario


def contradictions(
    scenario: Scenario, device: Device, target: ModelConfig, drafter: ModelConfig | None
) -> Iterator[Problem]:
    """Formats that scenario and checkpoint give differently, and formats without tensor cores on the device."""
    deployment, drafting = scenario.deployment, scenario.speculation.drafter
    path, matrices = "deployment.weight_format", deployment.quantised_matrices
    if deployment.weight_format is None and matrices != "all":
        remedy = "says which matrices weight_format applies to, but that is missing; add it, or leave this out"
        yield Problem("", "deployment.quantised_matrices", repr(matrices), remedy)
    yield from _stated_twice(path, deployment.weight_format, matrices, target, "the target")
    yield from _lacking(path, _resolved(deployment.weight_format, matrices, target), deployment.weight_format, device)
    if drafter is None or isinstance(drafting, NgramLookup):
        return
    path, form = "speculation.drafter.weight_format", drafting.weight_format
    own = drafting.facts.config is not None
    if own:
        yield from _stated_twice(path, form, "all", drafter, "the drafter")
    if own or form is not None:
        resolved = _resolved(form, "all", drafter) if own else stated(form or "bf16", "all")
        yield from _lacking(path, resolved, form, device)


def _resolved(form: str | None, matrices: Matrices, model: ModelConfig) -> Quantisation:
    return stated(form, matrices) if form is not None else quantisation_of(model) or UNQUANTISED


def _stated_twice(path: str, form: str | None, matrices: Matrices, model: ModelConfig, who: str) -> Iterator[Problem]:
    checkpoint = quantisation_of(model)
    if form is None or checkpoint is None:
        return
    if (form, matrices) != (checkpoint.format.name, checkpoint.matrices):
        which = "all matrices" if checkpoint.matrices == "all" else "the matrices of MLPs and experts"
        remedy = (
            f"{who}'s config.json gives {checkpoint.format.name} for {which} (quantization_config); leave "
            "weight_format out, or name the config.json of the checkpoint that is served"
        )
        yield Problem("", path, repr(form), remedy)


def _lacking(path: str, quantisation: Quantisation, form: str | None, device: Device) -> Iterator[Problem]:
    lacking = {f.name: f.compute for f in formats(quantisation) if getattr(device.peak, f.compute) is None}
    for name, compute in lacking.items():
        said = "" if form is not None else " (given by the config.json)"
        remedy = (
            f"{device.name} has no {compute.upper()} tensor cores (peak.{compute} in its file){said}; use a device "
            "that has, or weights in w4a16 or bf16, which are multiplied in BF16"
        )
        yield Problem("", path, repr(form or name), remedy)
