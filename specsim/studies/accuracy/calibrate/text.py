"""What a person reads of a calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim import units
from specsim.inputs.models.engine import Engine
from specsim.inputs.read.case import case_of
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import Table, shown
from specsim.studies.accuracy.calibrate.run import DIGITS, Calibration, Fitted, Observation
from specsim.studies.shared.model_error import model_error


def headline(found: Calibration, points: Sequence[Observation]) -> str:
    """The result in a sentence."""
    before, after = np.abs(found.prior_errors), np.abs(found.errors)
    known = sum(p.identified for p in found.parameters)
    return (
        f"{known} of {len(found.parameters)} parameters are identified by {len(points)} measured figures: their median "
        f"error falls from {np.median(before):.1%} to {np.median(after):.1%}, the largest from {before.max():.0%} to "
        f"{after.max():.0%}."
    )


def narrowed(inputs: Inputs) -> list[str]:
    """By how much the model's error is smaller under a calibrated profile in such cases; empty where it is not."""
    case = case_of(inputs)
    before, after = (model_error(case._replace(profile=kind), "speedup") for kind in ("general", "calibrated"))
    if after.half_width >= before.half_width:
        return []
    (low, high), (wide_low, wide_high) = after.around(1.0), before.around(1.0)
    return [
        f"It narrows the model's error of speedups (90 %) to {low:.2f} to {high:.2f} times those predicted, from "
        f"{wide_low:.2f} to {wide_high:.2f} under a profile for any device ({after.words})."
    ]


def reservations(engine: Engine, *, speculating: bool, num_open: int) -> list[str]:
    """What a person should know before trusting the fit.

    Args:
        engine: the profile that it started from.
        speculating: whether any figure was measured with speculation.
        num_open: rows of open loops, which are not used.
    """
    sentences = []
    if engine.device is not None:
        sentences.append(
            f"It starts from {engine.name}, which is calibrated itself: figures that it was fitted to count twice "
            "(--start names another profile)."
        )
    if not speculating:
        sentences.append("No figure was measured with speculation: what drafting and verifying add is not fitted.")
    if num_open:
        sentences.append(f"{num_open} rows of open loops are not used: their steps depend on how long steps take.")
    return sentences


def parameter_table(found: Calibration) -> Table[Fitted]:
    """Each parameter before and after."""
    return Table(
        rows=found.parameters,
        columns=[
            shown("parameter", lambda p: p.path, left=True),
            shown("prior", lambda p: _text(p.path, p.prior)),
            shown("fitted", lambda p: _text(p.path, p.value)),
            shown("standard error", lambda p: f"{p.error:.0%}" if p.identified else ""),
            shown("", _remark, left=True),
        ],
        title="parameters",
    )


def _remark(p: Fitted) -> str:
    return "" if p.identified else "at its limit" if p.at_limit else "not identified: kept"


Point = tuple[Observation, float, float]
"""A figure, and its error before and after."""


def point_table(found: Calibration, points: Sequence[Observation]) -> Table[Point]:
    """Each figure's error before and after."""
    return Table(
        rows=list(zip(points, found.prior_errors.tolist(), found.errors.tolist(), strict=True)),
        columns=[
            shown("figure", lambda point: point[0].name, left=True),
            shown("measured", lambda point: f"{point[0].measured:,.4g}"),
            shown("before", lambda point: f"{point[1]:+.1%}"),
            shown("after", lambda point: f"{point[2]:+.1%}"),
        ],
        title="predicted / measured - 1",
    )


def _text(path: str, value: float | None) -> str:
    if value is None:
        return "none"
    value = float(f"{value:.{DIGITS}g}")
    is_time = "time" in path or path.endswith("launch")
    return units.format_exact(value, units.TIME) if is_time else f"{value:g}"
