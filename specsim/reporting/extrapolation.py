"""A warning where prices lie beyond what a device's figures, or an engine profile's, were measured over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specsim.costs.extrapolation import BeyondDevice, Extrapolation
from specsim.forward import Reach, farthest
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device
from specsim.inputs.read.scenario import Inputs

MB = 1e6
Found = tuple[Inputs, Extrapolation | None]


def extrapolation_sentence(found: Iterable[Found]) -> str:
    """What was extrapolated in runs under one or more deployments, each device and profile once; empty for nothing."""
    devices: dict[str, tuple[Device, list[BeyondDevice]]] = {}
    engines: dict[str, tuple[Engine, list[Reach]]] = {}
    for inputs, beyond in found:
        if beyond and beyond.device:
            devices.setdefault(inputs.device.name, (inputs.device, []))[1].append(beyond.device)
        if beyond and beyond.engine:
            engines.setdefault(inputs.engine.name, (inputs.engine, []))[1].append(beyond.engine)
    sentences = [_of_device(*one) for one in devices.values()]
    sentences += [_of_engine(engine, farthest(reached)) for engine, reached in engines.values()]
    return " ".join(sentences)


def _of_device(device: Device, found: Sequence[BeyondDevice]) -> str:
    measured, parts = device.measured_range, list[str]()
    rows, small_share = max(beyond.rows or 0 for beyond in found), max(beyond.small_share for beyond in found)
    if measured and rows:
        parts.append(f"steps of up to {rows:,} tokens (measured up to {measured.linear_rows:,})")
    if measured and measured.linear_weights is not None and small_share:
        smallest = min(beyond.smallest_bytes for beyond in found)
        parts.append(
            f"matrices down to {smallest / MB:.3g} MB (measured from {measured.linear_weights / MB:g} MB up; "
            f"{small_share:.0%} of the weights are in smaller ones)"
        )
    return f"Extrapolated beyond measured matrix products of {device.name}: {'; '.join(parts)}."


def _of_engine(engine: Engine, reached: Reach) -> str:
    measured, parts = engine.measured_range, list[str]()
    for name, most in zip(Reach._fields, reached, strict=True):
        seen = getattr(measured, name)
        if most > seen:
            parts.append(f"{WHAT[name].format(f'{most:,}')} (measured up to {seen:,})")
    return f"Extrapolated beyond the engine profile '{engine.name}': {'; '.join(parts)}."


WHAT = {
    "step_tokens": "steps of up to {} tokens",
    "requests": "up to {} requests in a step",
    "context_tokens": "up to {} tokens of context in a step",
}
