"""What a person reads of a calibration, and the profile that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.table import Table

import specsim
from specsim import units
from specsim.forward import Reach
from specsim.inputs.models.engine import Engine
from specsim.studies.accuracy.calibrate.parameters import VLLM_GRAPH_SIZES
from specsim.studies.accuracy.calibrate.run import DIGITS, Calibration, Observation


def answer(found: Calibration, points: Sequence[Observation]) -> str:
    """The result in a sentence."""
    before, after = np.abs(found.prior_errors), np.abs(found.errors)
    known = sum(p.identified for p in found.parameters)
    return (
        f"{known} of {len(found.parameters)} parameters are identified by {len(points)} measured figures: their median "
        f"error falls from {np.median(before):.1%} to {np.median(after):.1%}, the largest from {before.max():.0%} to "
        f"{after.max():.0%}."
    )


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


def parameter_table(found: Calibration) -> Table:
    """Each parameter before and after."""
    table = Table(title="parameters")
    for name in ("parameter", "prior", "fitted", "standard error", ""):
        table.add_column(name, justify="left" if name in ("parameter", "") else "right")
    for p in found.parameters:
        value, error = _text(p.path, p.value), f"{p.error:.0%}" if p.identified else ""
        remark = "" if p.identified else "at its limit" if p.at_limit else "not identified: kept"
        table.add_row(p.path, _text(p.path, p.prior), value, error, remark)
    return table


def point_table(found: Calibration, points: Sequence[Observation]) -> Table:
    """Each figure's error before and after."""
    table = Table(title="predicted / measured - 1")
    for name in ("figure", "measured", "before", "after"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    for point, before, after in zip(points, found.prior_errors, found.errors, strict=True):
        table.add_row(point.name, f"{point.measured:,.4g}", f"{before:+.1%}", f"{after:+.1%}")
    return table


def _text(path: str, value: float | None) -> str:
    if value is None:
        return "none"
    value = float(f"{value:.{DIGITS}g}")
    return units.format_exact(value, units.TIME) if _is_time(path) else f"{value:g}"


def _is_time(path: str) -> bool:
    return "time" in path or path.endswith("launch")


def profile_text(
    found: Calibration,
    *,
    name: str,
    device: str,
    data: Sequence[Path],
    num_points: int,
    reached: Reach,
    today: date,
) -> str:
    """The profile as YAML, each fitted number with its source; it reads back as the same profile.

    Args:
        found: the fit.
        name: what to call the profile.
        device: catalogue name of the device that it is for.
        data: tables that it was fitted to.
        num_points: figures of them that were used.
        reached: how far the steps behind the figures went.
        today: the date of the fit.
    """
    engine = found.engine
    profile: dict[str, Any] = {"name": name, "device": device}
    profile |= engine.model_dump(mode="json", exclude_none=True, exclude={"name", "device", "sources"})
    profile["kernels"] = {block: fields for block, fields in profile.get("kernels", {}).items() if fields}
    if not profile["kernels"]:
        del profile["kernels"]
    tables, median = ", ".join(file.name for file in data), float(np.median(np.abs(found.errors)))
    sources = {path: source.model_dump() for path, source in engine.sources.items()}
    for p in found.parameters:
        if p.identified or p.at_limit:
            certainty = "the figures would have it beyond this limit" if p.at_limit else f"standard error {p.error:.0%}"
            sources[p.path] = {
                "kind": "measured",
                "reference": (
                    f"specsim calibrate, {today.isoformat()}, specsim {specsim.__version__}: fitted with the others to "
                    f"{num_points} figures of {tables} (median error then {median:.1%}); {certainty}"
                ),
            }
    if engine.graphs and "graphs.sizes" not in sources and engine.graphs.sizes == VLLM_GRAPH_SIZES:
        reference = (
            "vLLM's default capture sizes up to 512 tokens (vllm/config: 1, 2, 4, multiples of 8, from 256 of 16)"
        )
        sources["graphs.sizes"] = {"kind": "assumed", "reference": reference}
    if engine.graphs and "graphs.eager_time_per_layer" not in sources and "graphs" not in sources:
        reference = "not identified by the figures: launching is taken to add nothing to the device's own time"
        sources["graphs.eager_time_per_layer"] = {"kind": "assumed", "reference": reference}
    profile["measured_range"] = reached._asdict()
    sources["measured_range"] = {"kind": "measured", "reference": f"the most in a step behind the figures of {tables}"}
    profile["sources"] = sources
    text: str = yaml.safe_dump(profile, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    return text
