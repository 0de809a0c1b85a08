"""Where a deployment's matrix products leave the shapes that a device's figures were fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from specsim.costs.shapes import ForwardShape
from specsim.schema.hardware import Device


class Extrapolation(NamedTuple):
    """What lies beyond the range measured.

    Attributes:
        rows: the most rows of a product; None where they stay within.
        small_share: of the weights, in matrices smaller than measured.
        smallest_bytes: of a matrix.
    """

    rows: int | None
    small_share: float
    smallest_bytes: float


def extrapolation(device: Device, shapes: Iterable[ForwardShape], rows: int) -> Extrapolation | None:
    """What leaves the device's measured range; None where nothing does, or the file states no range.

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
    return Extrapolation(beyond, small / held, min(size for size, _ in matrices))


def _matrices(shape: ForwardShape) -> Iterator[tuple[float, int]]:
    """(bytes, how many) of each kind of matrix on a device; of experts, each one's own."""
    for linear in (*shape.linears, shape.head, *shape.fusion, *shape.correction):
        yield linear.bytes / linear.repeats, linear.repeats
    for product in shape.operators.experts:
        number = product.repeats * product.number // product.devices
        yield product.bytes / number, number
