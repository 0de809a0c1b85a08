"""Where steps leave the ranges to which a device's figures, or a calibrated engine profile, were fitted.

Only what can move an answer counts: where the share of the time that lies beyond, times what prices there were measured
to be off, comes to ``NEGLIGIBLE`` or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from specsim.costs.shapes import ForwardShape
from specsim.forward import Reach
from specsim.inputs.models.engine import CalibratedRange, Engine
from specsim.inputs.models.hardware import MeasuredRange

NEGLIGIBLE = 0.025
"""Of a time: what predicted speedups are off anyway, on average, where they were compared (docs/accuracy)."""
UNKNOWN_ERROR = 0.25
"""Of prices whose error nobody measured, assumed between those measured (5 to 44 % in ``hardware/``)."""


class BeyondDevice(NamedTuple):
    """What lies beyond the shapes to which a device's matrix products were fitted, as far as it counts.

    Attributes:
        rows: share of the time in steps of more tokens than measured; 0 where that does not count.
        rows_effect: what it may move times by, as a share of them; 0 where that does not count.
        small: share of the weights in matrices smaller than measured; 0 where that does not count.
        small_effect: what it may move times by, as a share of them; 0 where that does not count.
    """

    rows: float = 0.0
    rows_effect: float = 0.0
    small: float = 0.0
    small_effect: float = 0.0


class Extrapolation(NamedTuple):
    """What lies beyond the measured ranges, as far as it counts.

    Attributes:
        device: of the device's figures; None where nothing does.
        engine: of a calibrated profile; None where nothing does.
    """

    device: BeyondDevice | None
    engine: Reach | None


def calibrated_reach(engine: Engine) -> Reach | None:
    """How far the steps went that a profile was calibrated on; None where it does not say."""
    measured = engine.measured_range
    return None if measured is None else Reach(measured.step_tokens, measured.requests, measured.context_tokens)


def beyond_profile(engine: Engine, reached: Reach) -> Reach | None:
    """How far steps went, if time that counts lies beyond what a profile was fitted to; None if not."""
    measured = engine.measured_range
    if measured is None or reached.beyond_profile * UNKNOWN_ERROR < NEGLIGIBLE:
        return None
    farther = (getattr(reached, name) > getattr(measured, name) for name in CalibratedRange.model_fields)
    return reached if any(farther) else None


def beyond_device(
    measured: MeasuredRange | None, shapes: Iterable[ForwardShape], reached: Reach
) -> BeyondDevice | None:
    """What leaves a device's measured range; None where nothing that counts does, or the file gives no range.

    Args:
        measured: the device's range.
        shapes: target and drafter.
        reached: by the steps.
    """
    if measured is None:
        return None
    found = BeyondDevice()
    error = UNKNOWN_ERROR if measured.more_rows_error is None else measured.more_rows_error
    within = measured.linear_rows is None or reached.step_tokens <= measured.linear_rows
    if not within and reached.beyond_device * error >= NEGLIGIBLE:
        found = found._replace(rows=reached.beyond_device, rows_effect=reached.beyond_device * error)
    small, effect = _small_weights(measured, shapes)
    if effect >= NEGLIGIBLE:
        found = found._replace(small=small, small_effect=effect)
    return found if any(found) else None


def _small_weights(measured: MeasuredRange, shapes: Iterable[ForwardShape]) -> tuple[float, float]:
    """Share of the weights in matrices smaller than measured, and what their errors come to over all weights."""
    errors = sorted((measured.smaller_weights_error or {}).items())
    held = small = effect = 0.0
    for size, number in (matrix for shape in shapes for matrix in _matrices(shape)):
        held += size * number
        if size < (measured.linear_weights or 0):
            small += size * number
            effect += size * number * next((error for below, error in errors if size < below), UNKNOWN_ERROR)
    return small / held, effect / held


def _matrices(shape: ForwardShape) -> Iterator[tuple[float, int]]:
    """(bytes, number) of each kind of matrix on a device; each expert's own for experts."""
    for linear in (*shape.linears, shape.head, *shape.fusion, *shape.correction):
        yield linear.bytes / linear.repeats, linear.repeats
    for product in shape.operators.experts:
        number = product.repeats * product.number // product.devices
        yield product.bytes / number, number
