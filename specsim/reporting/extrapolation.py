"""A warning where prices beyond measured ranges, of a device or an engine profile, can move an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specsim.costs.extrapolation import BeyondDevice, Extrapolation
from specsim.forward import Reach, farthest
from specsim.inputs.models.engine import CalibratedRange, Engine
from specsim.inputs.models.hardware import Device
from specsim.inputs.read.scenario import Inputs

MB = 1e6
SETTLED = "Step times of your own settle it: specsim calibrate."
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
    return " ".join([*sentences, SETTLED]) if sentences else ""


def _of_device(device: Device, found: Sequence[BeyondDevice]) -> str:
    measured, parts = device.measured_range, list[str]()
    most = BeyondDevice(*map(max, zip(*found, strict=True)))
    if measured and most.rows:
        parts.append(
            f"steps of more than {measured.linear_rows:,} tokens take up to {most.rows:.0%} of the time"
            + _effect(most.rows_effect, known=measured.more_rows_error is not None)
        )
    if measured and measured.linear_weights is not None and most.small:
        parts.append(
            f"{most.small:.0%} of the weights are in matrices below {measured.linear_weights / MB:g} MB"
            + _effect(most.small_effect, known=measured.smaller_weights_error is not None)
        )
    return f"Beyond the measured matrix products of {device.name}: {'; '.join(parts)}."


def _effect(effect: float, *, known: bool) -> str:
    """By how much it may be off."""
    if not known:
        return ", at prices whose error is not known"
    return f", which by measured errors may move times by {effect:.0%}, and speedups by less"


def _of_engine(engine: Engine, reached: Reach) -> str:
    measured, parts = engine.measured_range, list[str]()
    for name in CalibratedRange.model_fields:
        most, seen = getattr(reached, name), getattr(measured, name)
        if most > seen:
            parts.append(f"{WHAT[name].format(f'{most:,}')} (calibrated up to {seen:,})")
    return (
        f"Up to {reached.beyond_profile:.0%} of the time lies beyond what the engine profile '{engine.name}' was "
        f"calibrated on: {'; '.join(parts)}."
    )


WHAT = {
    "step_tokens": "steps of up to {} tokens",
    "requests": "up to {} requests in a step",
    "context_tokens": "up to {} tokens of context in a step",
}
