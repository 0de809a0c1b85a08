"""What the devices of one server send each other: sums, expert traffic, and hidden states down a pipeline.

Only all-reduce was measured; the others use its figures on their own number of bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats
from specsim.costs.roofline import soft_maximum
from specsim.inputs.models.hardware import Device


def all_reduce_seconds(message_bytes: ArrayLike, group: int, device: Device) -> Floats:
    """Time of one all-reduce [s], in the shape of the sizes; 0 for a group of one.

    (launch^q + (2(n−1)/n · bytes / (e·link))^q)^(1/q): the traffic of a ring, joined with its launch as in
    ``roofline``.

    Args:
        message_bytes: size of the reduced tensor [B], any shape.
        group: devices that take part; the device file must have figures for it.
        device: whose links and figures.
    """
    return _seconds(2 * (group - 1) / group * np.asarray(message_bytes, dtype=np.float64), group, device)


def all_to_all_seconds(device_bytes: ArrayLike, group: int, device: Device) -> Floats:
    """Time of one all-to-all [s], in which each device keeps one n-th of its bytes and sends the rest to the others.

    Args:
        device_bytes: what each device has to send [B], any shape.
        group: devices that take part.
        device: whose links, with the efficiency and sharpness of its all-reduce.
    """
    return _seconds((group - 1) / group * np.asarray(device_bytes, dtype=np.float64), group, device)


def send_seconds(message_bytes: ArrayLike, device: Device) -> Floats:
    """Time to send tensors [B], any shape, to the next pipeline stage [s], by an all-reduce of two devices."""
    return _seconds(np.asarray(message_bytes, dtype=np.float64), 2, device)


def _seconds(sent: Floats, group: int, device: Device) -> Floats:
    """Time of a collective in which each device sends this number of bytes [s]."""
    if group == 1:
        return np.zeros(sent.shape)
    figures, link = device.allreduce, device.interconnect
    if figures is None or link is None:
        raise ValueError(f"{device.name} has no link among devices")
    transfer = sent / (figures.efficiency[group] * link.bandwidth)
    return soft_maximum(np.full(sent.shape, figures.launch), transfer, figures.sharpness[group]) * (sent > 0)
