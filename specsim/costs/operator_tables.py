"""Matrix products whose time is measured and not modelled, interpolated where the tables have neighbours.

The interpolated quantity is the logarithm of measured over roofline time: along the logarithm of the rows for each
measured shape, and between the shapes around one that was not, along the logarithms of its inputs and outputs. So
between neighbours the roofline says how time grows, and beyond the smallest and largest number of rows it stands alone.
Attention and experts stay on the roofline: the tables know one query token per sequence and even routing only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats, Ints
from specsim.costs.linear import Linear, LinearTime, linear_time
from specsim.costs.roofline import Rates
from specsim.inputs.checkpoints.quantisation import Format

ProductTime = Callable[[Sequence[Linear], ArrayLike], LinearTime]
"""Products and numbers of rows → their seconds, as ``linear_time`` gives them."""


class MeasuredProducts:
    """Times matrix products by the measurements of one format on one device.

    Args:
        form: of the weights.
        rows, outputs, inputs: of each measurement [n].
        seconds: measured time of each [n] [s].
        rates: of the roofline, for shapes that the measurements do not surround and for other formats.
    """

    def __init__(self, form: Format, rows: Ints, outputs: Ints, inputs: Ints, seconds: Floats, rates: Rates) -> None:
        self._form, self._rates = form, rates
        self._outputs, self._inputs = np.unique(outputs), np.unique(inputs)
        self._curves: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        order = np.lexsort((rows, inputs, outputs))
        shapes, starts = np.unique(np.stack([outputs, inputs], axis=1)[order], axis=0, return_index=True)
        for (n, k), where in zip(shapes.tolist(), np.split(order, starts[1:]), strict=True):
            roofline = sum(linear_time([Linear(k, n, format=form)], rows[where], rates))
            self._curves[n, k] = np.log(rows[where]), np.log(seconds[where] / roofline)

    def __call__(self, linears: Sequence[Linear], rows: ArrayLike) -> LinearTime:
        """Time of the products by number of rows (any shape) [s]; all parts of the roofline's time scale equally."""
        asked = np.asarray(rows, dtype=np.int64)
        parts = [np.zeros(asked.shape) for _ in LinearTime._fields]
        for linear in linears:
            scale = np.exp(self._log_ratio(linear, asked)) if self.covers(linear) else 1.0
            for part, seconds in zip(parts, linear_time([linear], asked, self._rates), strict=True):
                part += scale * seconds
        return LinearTime(*parts)

    def covers(self, linear: Linear) -> bool:
        """Whether measurements surround the product."""
        return (
            linear.format == self._form
            and linear.stacked == 1
            and self._outputs[0] <= linear.outputs <= self._outputs[-1]
            and self._inputs[0] <= linear.inputs <= self._inputs[-1]
            and bool(self._corners(linear))
        )

    def _corners(self, linear: Linear) -> list[tuple[tuple[int, int], float]]:
        """The measured shapes around a product and the weight of each."""
        across, along = _neighbours(self._outputs, linear.outputs), _neighbours(self._inputs, linear.inputs)
        return [((n, k), a * b) for n, a in across for k, b in along if (n, k) in self._curves]

    def _log_ratio(self, linear: Linear, rows: Ints) -> Floats:
        corners = self._corners(linear)
        logs = np.log(np.maximum(rows, 1))
        ratios = [weight * np.interp(logs, *self._curves[shape]) for shape, weight in corners]
        return np.asarray(sum(ratios) / sum(weight for _, weight in corners), dtype=np.float64)


def _neighbours(grid: Ints, size: int) -> list[tuple[int, float]]:
    """The values of an ascending grid around a size, and their weights along its logarithm."""
    above = int(np.searchsorted(grid, size))
    if grid[above] == size:
        return [(size, 1.0)]
    low, high = int(grid[above - 1]), int(grid[above])
    share = float(np.log(size / low) / np.log(high / low))
    return [(low, 1 - share), (high, share)]
