"""The files of a plan: what ``specsim plan`` leaves in its folder."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.inputs import provenance_json, resolved_scenario
from specsim.reporting.style import no_math, png_bytes, svg_bytes
from specsim.reporting.text import as_text
from specsim.reporting.wording import policy_words
from specsim.studies.plan.arms import with_arm
from specsim.studies.plan.figure import PlanBar, plan_figure
from specsim.studies.plan.run import ArmResult, PlanResult
from specsim.studies.plan.text import limits_words, plan_table


def plan_files(inputs: Inputs, result: PlanResult, sentences: Sequence[str]) -> Mapping[str, Writer]:
    """File name → what writes it.

    Args:
        inputs: what was planned.
        result: what came out.
        sentences: the answer, as printed.
    """
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    figure = plan_figure(
        [_bar(inputs, result, found) for found in result.arms],
        title="Requests/s of a replica within " + limits_words(result.limits),
        subtitle=no_math(subtitle(inputs)),
        replicas=_series(result),
    )
    return {
        "plan.csv": table_writer(arms_frame(result)),
        "plan.json": text_writer(_json(result, sentences, warning)),
        "plan.png": bytes_writer(png_bytes(figure)),
        "plan.svg": bytes_writer(svg_bytes(figure)),
        "answer.txt": text_writer(as_text(sentences, plan_table(inputs.scenario, result))),
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(provenance_json(inputs, warning)),
        **_replica_files(result),
    }


def arms_frame(result: PlanResult) -> pd.DataFrame:
    """A row for each arm."""
    return pd.DataFrame([_columns(result, found) for found in result.arms])


def _columns(result: PlanResult, found: ArmResult) -> dict[str, Any]:
    capacity, gain, serving, short = found.capacity, result.gain(found), result.serving(found), found.pressure
    bound_by = None if capacity.binding is None else result.limits[capacity.binding]
    stops = "saturation" if bound_by is None else f"{bound_by.latency} p{bound_by.percentile}"
    return {
        "policy": found.arm.policy.kind if found.arm.policy else "none",
        "num_draft_tokens": found.arm.num_draft_tokens,
        "requests_per_s": capacity.bound,
        "mean_requests_per_s": capacity.mean,
        "half_width": capacity.half_width,
        "seeds": len(capacity.rates),
        "num_requests": capacity.num_requests,
        "saturated_requests_per_s": capacity.saturated,
        "gain": gain.estimate if gain else math.nan,
        "gain_low": gain.low if gain else math.nan,
        "gain_high": gain.high if gain else math.nan,
        "binds": stops if short else "empty system",
        "short_of": short.resource if short else "",
        "utilisation": short.utilisation if short else math.nan,
        "tokens_per_s": found.tokens_per_s,
        "dollars_per_million_tokens": _number(result.dollars_per_million(found)),
        "joules_per_token": _number(result.joules_per_token(found)),
        "replicas_peak": int(serving.replicas.max()) if serving else math.nan,
        "replicas_mean": serving.mean_replicas if serving else math.nan,
        "gpus": serving.gpus if serving else math.nan,
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _json(result: PlanResult, sentences: Sequence[str], warning: str | None) -> str:
    found: dict[str, Any] = {
        "answer": sentences[0],
        "limits": [limit._asdict() for limit in result.limits],
        "best": result.best.arm.name,
        "arms": [_arm_json(result, arm) for arm in result.arms],
        "missing": [arm.name for arm in result.missing],
    }
    if warning:
        found["warning"] = warning
    return json.dumps(finite(found), indent=2, ensure_ascii=False) + "\n"


def _arm_json(result: PlanResult, found: ArmResult) -> dict[str, Any]:
    gain, serving = result.gain(found), result.serving(found)
    return _columns(result, found) | {
        "name": found.arm.name,
        "rates_by_seed": found.capacity.rates.tolist(),
        "gain": asdict(gain) if gain else None,
        "pressure": found.pressure._asdict() if found.pressure else None,
        "floors": [
            {"limit": floor.limit._asdict(), "seconds": floor.seconds, "parts": floor.parts} for floor in found.floors
        ],
        "serving": serving._replace(replicas=serving.replicas.tolist())._asdict() if serving else None,
    }


def finite(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _bar(inputs: Inputs, result: PlanResult, found: ArmResult) -> PlanBar:
    name = policy_words(with_arm(inputs.scenario, found.arm)) if found.arm.policy else "no speculation"
    return PlanBar(name, found.capacity.bound, found.capacity.rates, found is result.best)


def _series(result: PlanResult) -> pd.DataFrame | None:
    """Replicas over time with the best arm, where the demand changes."""
    serving, demand = result.serving(result.best), result.demand
    if serving is None or demand is None or len(demand.rates) == 1:
        return None
    starts = np.cumsum(demand.seconds) - demand.seconds
    return pd.DataFrame(
        {"start_s": starts, "seconds": demand.seconds, "requests_per_s": demand.rates, "replicas": serving.replicas}
    )


def _replica_files(result: PlanResult) -> dict[str, Writer]:
    series = _series(result)
    return {} if series is None else {"replicas.csv": table_writer(series)}
