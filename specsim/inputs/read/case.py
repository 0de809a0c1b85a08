"""What kind of case a scenario is, as far as the errors of predictions were found to depend on it."""

from __future__ import annotations

from typing import NamedTuple

from specsim.inputs.checkpoints.architecture import Experts, LatentAttention
from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.checkpoints.quantisation import BF16, formats
from specsim.inputs.models.drafters import pass_kind
from specsim.inputs.read.scenario import Inputs

SOFTWARE = {"vLLM": "vllm", "SGLang": "sglang", "TensorRT-LLM": "trtllm"}
"""Serving software → what the names of its profiles have in common."""


class Case(NamedTuple):
    """The kind of case.

    Attributes:
        profile: ``calibrated`` on this device and engine, or ``general``.
        target: ``dense``, ``MoE``, or ``MLA`` (with experts or not).
        numbers: ``BF16``, ``quantised weights``, ``quantised cache`` or ``quantised weights and cache``.
        drafter_kind: its kind, ``ngram`` for lookups.
        devices: ``one device`` or ``several devices``.
        figures: whether those of the device's kernels are ``measured`` or ``carried over``.
        software: that served, as far as a profile's names tell.
    """

    profile: str
    target: str
    numbers: str
    drafter_kind: str
    devices: str
    figures: str
    software: str

    @property
    def path(self) -> tuple[str, ...]:
        """The class of its errors, from the most general part to the most special."""
        return self.profile, self.target, self.numbers


def case_of(inputs: Inputs) -> Case:
    """The kind of case that a scenario is."""
    deployment, engine = inputs.scenario.deployment, inputs.engine
    source = inputs.device.sources.get("linear")
    return Case(
        profile="general" if engine.device is None else "calibrated",
        target=_target(inputs.target),
        numbers=_numbers(inputs),
        drafter_kind=pass_kind(inputs.scenario.speculation.drafter) or "ngram",
        devices="one device" if deployment.num_devices == 1 else "several devices",
        figures="measured" if source is not None and source.kind == "measured" else "carried over",
        software=_software(f"{engine.name} {engine.general} {deployment.engine}".lower()),
    )


def _software(names: str) -> str:
    return next((name for name, sign in SOFTWARE.items() if sign in names), "other software")


def _target(model: ModelConfig) -> str:
    layers = [layer for layer, _ in model.layers]
    if any(isinstance(layer.mixer, LatentAttention) for layer in layers):
        return "MLA"
    return "MoE" if any(isinstance(layer.feed_forward, Experts) for layer in layers) else "dense"


def _numbers(inputs: Inputs) -> str:
    weights = any(form != BF16 for form in formats(inputs.target_quantisation))
    parts = ["weights"] * weights + ["cache"] * (inputs.scenario.deployment.kv_format != "bf16")
    return f"quantised {' and '.join(parts)}" if parts else "BF16"
