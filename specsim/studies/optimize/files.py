"""The files of a search: what ``specsim optimize`` leaves in its folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, bytes_writer, json_writer, table_writer, text_writer
from specsim.reporting.inputs import provenance_json
from specsim.reporting.style import no_math, png_bytes, svg_bytes
from specsim.reporting.text import as_text
from specsim.studies.optimize.figure import OptimizePoint, optimize_figure
from specsim.studies.optimize.optimum import Finalist, Optimum
from specsim.studies.optimize.settings import ENGINE_FILE, engine_text, scenario_text
from specsim.studies.optimize.space import Settings
from specsim.studies.optimize.tables import finalists_table, worth_table
from specsim.studies.optimize.text import short_words
from specsim.studies.optimize.wording import cost_words, setting_values, short_arm_words, value_of
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.run import ArmResult
from specsim.studies.plan.text import limits_words


def optimize_files(inputs: Inputs, found: Optimum, sentences: Sequence[str], paste: str) -> Mapping[str, Writer]:
    """File name → what writes it; without finalists there are no settings to write.

    Args:
        inputs: what was searched.
        found: what came out.
        sentences: the answer, as printed.
        paste: flags of the cheapest; empty without one.
    """
    warning = extrapolation_sentence([(inputs, found.extrapolation)])
    tables = ([finalists_table(found)] if found.finalists else []) + ([worth_table(found)] if found.ranked else [])
    files = {
        "optimize.csv": table_writer(pd.DataFrame(list(_rows(found)))),
        "optimize.json": _json(found, sentences, paste, warning),
        "answer.txt": text_writer(as_text(sentences, *tables) + (f"{paste}\n" if paste else "")),
        "provenance.json": text_writer(provenance_json(inputs, warning)),
        **_figures(inputs, found),
    }
    if found.finalists:
        files |= {
            "scenario.yaml": text_writer(scenario_text(found.best, inputs)),
            "vllm.txt": text_writer(paste + "\n"),
        }
        if found.best.inputs.engine != inputs.engine:
            files[ENGINE_FILE] = text_writer(engine_text(found.best))
    return files


def _rows(found: Optimum) -> Iterator[dict[str, Any]]:
    """Finalists, trials, and combinations that can never run."""
    for one in found.finalists:
        places, budget = one.limits
        at = one.inputs.scenario.deployment.tensor_parallel, places, budget
        costs = one.result.capacity.bound, one.gpu_seconds
        yield _columns("final", at, one.arm, one.result, found, costs) | {"as_it_stands": one.as_it_stands}
    for trial in found.trials:
        at = trial.settings[:3]
        rate = trial.result.capacity.mean if trial.result else 0.0
        row = _columns("short", at, trial.arm, trial.result, found, (rate, trial.gpu_seconds))
        yield row | ({"state": "left out", "reason": trial.reason} if trial.reason else {})
    for settings, reason in found.barred.items():
        policy = {"policy": settings.policy, "num_draft_tokens": settings.num_draft_tokens}
        yield _place("none", settings[:3]) | policy | {"state": "left out", "reason": reason}


def _place(fidelity: str, at: tuple[int, int, int]) -> dict[str, Any]:
    return {"fidelity": fidelity, "tensor_parallel": at[0], "max_num_seqs": at[1], "token_budget": at[2]}


def _columns(
    fidelity: str,
    at: tuple[int, int, int],
    arm: Arm,
    result: ArmResult | None,
    found: Optimum,
    costs: tuple[float, float],
) -> dict[str, Any]:
    """A row; the rate is the one that its cost is at, the bound of finalists and the mean of short runs."""
    rate, gpu_seconds = costs
    row = _place(fidelity, at) | {
        "policy": arm.policy.kind if arm.policy else "none",
        "num_draft_tokens": arm.num_draft_tokens,
        "drafts": short_arm_words(arm),
        "state": "measured" if rate else "meets the limits at no rate",
        "reason": "",
        "requests_per_s": rate,
        "gpu_seconds_per_million_tokens": gpu_seconds if math.isfinite(gpu_seconds) else math.nan,
        "dollars_per_million_tokens": math.nan if found.price is None or not rate else found.cost(gpu_seconds),
    }
    if result is None:
        return row
    capacity, short = result.capacity, result.pressure
    limit = None if capacity.binding is None else found.limits[capacity.binding]
    return row | {
        "binds": "" if not short else f"{limit.latency} p{limit.percentile}" if limit else "saturation",
        "short_of": short.resource if short else "",
        "mean_requests_per_s": capacity.mean,
        "seeds": len(capacity.rates),
        "num_requests": capacity.num_requests,
        "as_it_stands": False,
    }


def _json(found: Optimum, sentences: Sequence[str], paste: str, warning: str | None) -> Writer:
    content: dict[str, Any] = {
        "answer": sentences[0],
        "limits": [limit._asdict() for limit in found.limits],
        "price_per_gpu_hour": found.price,
        "space": found.space._asdict(),
        "combinations": found.space.size,
        "never_run": [{"reason": reason, "combinations": number} for reason, number in found.reasons()],
        "proposed_by_optuna": found.sampled,
        "interrupted": found.interrupted,
        "finalists": [_finalist_json(found, one) for one in found.finalists],
        "why_not_as_it_stands": found.own_reason or None,
        "vllm": paste or None,
        "trials": [row for row in _rows(found) if row["fidelity"] == "short"],
    }
    if warning:
        content["warning"] = warning
    return json_writer(content)


def _finalist_json(found: Optimum, one: Finalist) -> dict[str, Any]:
    places, budget = one.limits
    at, capacity = (one.inputs.scenario.deployment.tensor_parallel, places, budget), one.result.capacity
    ratio = one.cost_over(found.best)
    policy = one.arm.policy
    return _columns("final", at, one.arm, one.result, found, (capacity.bound, one.gpu_seconds)) | {
        "as_it_stands": one.as_it_stands,
        "policy": policy.model_dump(mode="json", exclude_none=True) if policy else None,
        "rates_by_seed": capacity.rates.tolist(),
        "cost_over_cheapest": ratio and {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high},
        "pressure": one.result.pressure and one.result.pressure._asdict(),
    }


def _figures(inputs: Inputs, found: Optimum) -> dict[str, Writer]:
    """Costs by setting, of short runs; where there were none, of finalists. Nothing where no setting varies."""
    panels = setting_values(found)
    best = found.best.settings if found.finalists else None
    costs: list[tuple[Settings, float]] = [(one.settings, one.gpu_seconds) for one in found.trials]
    if not costs:
        costs = [(one.settings, one.gpu_seconds) for one in found.finalists if one.settings]
    points = [
        OptimizePoint(tuple(value_of(settings, name) for name, _ in panels), found.cost(gpu_seconds), settings == best)
        for settings, gpu_seconds in costs
        if math.isfinite(gpu_seconds)
    ]
    if not panels or not points:
        return {}
    title = f"{cost_words(found, found.ranked[0].gpu_seconds)} per million output tokens so far" if found.ranked else ""
    if found.finalists:
        title = f"{short_words(found.best)}: {cost_words(found, found.best.gpu_seconds)} per million output tokens"
    kind = "short runs" if found.trials else "finalists"
    figure = optimize_figure(
        points,
        panels,
        title=no_math(title),
        subtitle=no_math(subtitle(inputs)),
        legend=f"within {limits_words(found.limits)}; dots are {kind}, a dash the cheapest of a value, the diamond the "
        "answer",
        up=no_math(f"{'GPU-seconds' if found.price is None else '$'} per million output tokens"),
    )
    return {"optimize.png": bytes_writer(png_bytes(figure)), "optimize.svg": bytes_writer(svg_bytes(figure))}
