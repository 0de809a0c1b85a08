"""A warning where prices lie beyond what a device's figures were measured over."""

from __future__ import annotations

from specsim.costs.extrapolation import Extrapolation
from specsim.schema.hardware import Device

MB = 1e6


def extrapolation_sentence(device: Device, found: Extrapolation | None) -> str | None:
    """What was extrapolated, in a sentence; None where nothing was."""
    measured, parts = device.measured_range, list[str]()
    if found is None or measured is None:
        return None
    if found.rows is not None:
        parts.append(f"steps of up to {found.rows:,} tokens, measured up to {measured.linear_rows:,}")
    if found.small_share and measured.linear_weights is not None:
        parts.append(
            f"matrices down to {found.smallest_bytes / MB:.3g} MB, measured from {measured.linear_weights / MB:g} MB "
            f"on ({found.small_share:.0%} of the weights are in smaller ones)"
        )
    return f"Beyond what the matrix products of {device.name} were fitted to: {'; '.join(parts)}."
