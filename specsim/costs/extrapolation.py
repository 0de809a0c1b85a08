"""Where steps leave the ranges to which a device's figures, or a calibrated engine profile, were fitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from specsim.costs.shapes import ForwardShape
from specsim.forward import Reach
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.hardware import Device


class BeyondDevice(NamedTuple):
    """What lies beyond the shapes to which a device's matrix products were fitted.

    Attributes:
        rows: the most rows of a product; None where they stay within.
        small_share: of the weights, in matrices smaller than measured.
        smallest_bytes: size of the smallest matrix [B].
    """

    rows: int | None
    small_share: float
    smallest_bytes: float


class Extrapolation(NamedTuple):
    """What lies beyond the measured ranges.

    Attributes:
        device: of the device's figures; None where nothing does.
        engine: of a calibrated profile; None where nothing does.
    """

    device: BeyondDevice | None
    engine: Reach | None


def beyond_profile(engine: Engine, reached: Reach) -> Reach | None:
    """How far steps went, if beyond the range that a profile was fitted to; None if not, or without a range."""
    measured = engine.measured_range
    if measured is None:
        return None
    fitted = Reach(measured.step_tokens, measured.requests, measured.context_tokens)
    return reached if any(mine > seen for mine, seen in zip(reached, fitted, strict=True)) else None


def beyond_device(device: Device, shapes: Iterable[ForwardShape], rows: int) -> BeyondDevice | None:
    """What leaves the device's measured range; None where nothing does, or the file gives no range.

    Args:
        device: whose figures are used.
        shapes: target and drafter.
        rows: the most tokens of a pass.
    """
    measured = device.measured_range
    if measured is None:
        return None
    matrices = [found for shape in shapes for found in _matrices(shape)]
    held = sum(size * number for size, number in matrices)
    small = sum(size * number for size, number in matrices if size < (measured.linear_weights or 0))
    beyond = rows if rows > (measured.linear_rows or rows) else None
    if beyond is None and not small:
        return None
    return BeyondDevice(beyond, small / held, min(size for size, _ in matrices))


def _matrices(shape: ForwardShape) -> Iterator[tuple[float, int]]:
    """(bytes, number) of each kind of matrix on a device; each expert's own for experts."""
    for linear in (*shape.linears, shape.head, *shape.fusion, *shape.correction):
        yield linear.bytes / linear.repeats, linear.repeats
    for product in shape.operators.experts:
        number = product.repeats * product.number // product.devices
        yield product.bytes / number, number
