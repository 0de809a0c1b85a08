"""All-reduce among the devices of a tensor-parallel group."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim.costs.roofline import soft_maximum
from specsim.schema.hardware import Device


def all_reduce_seconds(message_bytes: ArrayLike, group: int, device: Device) -> NDArray[np.float64]:
    """Seconds of one all-reduce: (launch^q + (2(n−1)/n · bytes / (e·link))^q)^(1/q), nothing for a group of one.

    Args:
        message_bytes: size of the reduced tensor [B], any shape.
        group: devices that take part; the device file must have figures for it.
        device: whose links and figures.
    """
    size = np.asarray(message_bytes, dtype=np.float64)
    if group == 1:
        return np.zeros(size.shape)
    figures = device.allreduce
    transfer = 2 * (group - 1) / group * size / (figures.efficiency[group] * device.interconnect.bandwidth)
    return soft_maximum(np.full(size.shape, figures.launch), transfer, figures.sharpness[group]) * (size > 0)
