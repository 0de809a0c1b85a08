"""A calibration's answer whole: sentences, tables of parameters and figures, and the profile that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import specsim
from specsim.forward import Reach, farthest
from specsim.inputs.models.engine import CalibratedRange, Engine
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.folders import text_writer
from specsim.reporting.publish import Answer
from specsim.studies.accuracy.calibrate.observations import Seen
from specsim.studies.accuracy.calibrate.parameters import VLLM_GRAPH_SIZES
from specsim.studies.accuracy.calibrate.run import Calibration
from specsim.studies.accuracy.calibrate.text import headline, narrowed, parameter_table, point_table, reservations


def calibration_answer(
    found: Calibration,
    seen: Sequence[Seen],
    start: Engine,
    inputs: Inputs,
    *,
    tables: Sequence[Path],
    num_open: int,
    name: str | None,
    out: Path | None,
) -> Answer:
    """What ``specsim calibrate`` prints, and the one file that it writes.

    Args:
        found: the fit.
        seen: the figures that it was fitted to.
        start: the profile that it started from.
        inputs: of one of the figures.
        tables: that the figures are from.
        num_open: rows of open loops, which are not used.
        name: what to call the profile; None for a name made of where it started and of the device.
        out: file for the profile; None for none.
    """
    points = [one.observation for one in seen]
    profile = profile_text(
        found,
        name=name or f"{start.name}, calibrated on {inputs.device.name}",
        device=inputs.scenario.deployment.device,
        data=tables,
        num_points=len(points),
        reached=farthest(one.reach for one in seen),
        today=date.today(),
        start=inputs.scenario.deployment.engine,
    )
    reserved = reservations(start, speculating=any(one.speculating for one in seen), num_open=num_open)
    return Answer(
        sentences=[headline(found, points), *narrowed(inputs), *reserved],
        tables=[parameter_table(found), point_table(found, points)],
        beside={"--out": text_writer(profile)} if out else {},
        footer=[f"written to {out}; name it in a scenario as deployment.engine"] if out else [],
    )


def profile_text(
    found: Calibration,
    *,
    name: str,
    device: str,
    data: Sequence[Path],
    num_points: int,
    reached: Reach,
    today: date,
    start: str = "",
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
        start: what names the profile that it was fitted from; a path is not written down.
    """
    engine = found.engine
    profile: dict[str, Any] = {"name": name, "device": device}
    named = engine.device is None and start and not Path(start).suffix
    general = {"general": start} if named else {}
    profile |= general | engine.model_dump(mode="json", exclude_none=True, exclude={"name", "device", "sources"})
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
    profile["measured_range"] = {name: getattr(reached, name) for name in CalibratedRange.model_fields}
    sources["measured_range"] = {"kind": "measured", "reference": f"the most in a step behind the figures of {tables}"}
    profile["sources"] = sources
    text: str = yaml.safe_dump(profile, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    return text
