"""A search's answer whole: sentences, tables, JSON, the figure, and the scenario with the cheapest settings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import yaml
from matplotlib.figure import Figure

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.columns import Table
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, json_writer, text_writer
from specsim.reporting.inputs import provenance_json, resolved_scenario, source_sentences
from specsim.reporting.publish import Answer
from specsim.studies.optimize.figure import OptimizePoint, optimize_figure
from specsim.studies.optimize.optimum import Finalist, Optimum
from specsim.studies.optimize.space import Settings
from specsim.studies.optimize.tables import (
    Tried,
    finalists_table,
    setting_values,
    tried_table,
    value_of,
    worth_table,
)
from specsim.studies.optimize.text import cost_words, optimize_sentences, short_words, vllm_text
from specsim.studies.plan.text import limits_words
from specsim.units import plural

ENGINE_FILE = "engine.yaml"


def optimize_answer(inputs: Inputs, found: Optimum, checkpoint: str | None = None) -> Answer:
    """What ``specsim optimize`` prints and writes; without finalists there are no settings to write.

    Args:
        inputs: what was searched.
        found: what came out.
        checkpoint: the drafter's, as the engine is to load it; by default as the scenario calls it.
    """
    warning = extrapolation_sentence([(inputs, found.extrapolation)])
    sentences = [*optimize_sentences(inputs, found), *source_sentences(inputs)]
    paste = vllm_text(found.best, checkpoint) if found.finalists else ""
    tried, figure = tried_table(found), _draw(inputs, found)
    files = {
        "optimize.json": json_writer(_json(found, tried, sentences[0], paste, warning)),
        "provenance.json": text_writer(provenance_json(inputs, warning)),
    }
    done = f"{plural(len(found.trials), 'trial')} and {plural(len(found.finalists), 'finalist')} were finished"
    return Answer(
        sentences=sentences,
        tables=[tried, finalists_table(found), worth_table(found)],
        figures={"optimize": figure} if figure else {},
        files={**files, **(_settings(inputs, found.best, paste) if found.finalists else {})},
        appendix=paste,
        warning=warning,
        partial=done if found.interrupted else "",
    )


def _settings(asked: Inputs, best: Finalist, paste: str) -> dict[str, Writer]:
    """Flags, and the scenario with these settings; its engine profile is the one asked for, or lies beside it."""
    inputs, files = best.inputs, {"vllm.txt": text_writer(f"{paste}\n")}
    if inputs.engine != asked.engine:
        deployment = inputs.scenario.deployment.model_copy(update={"engine": ENGINE_FILE})
        scenario = inputs.scenario.model_copy(update={"deployment": deployment})
        read = {name: file for name, file in inputs.files.items() if name != "engine"}
        profile = inputs.engine.model_dump(mode="json", exclude_none=True)
        files[ENGINE_FILE] = text_writer(yaml.safe_dump(profile, sort_keys=False, allow_unicode=True, width=100))
        inputs = replace(inputs, scenario=scenario, files=read)
    return files | {"scenario.yaml": text_writer(resolved_scenario(inputs))}


def _json(found: Optimum, tried: Table[Tried], headline: str, paste: str, warning: str) -> dict[str, Any]:
    rows = tried.records()
    short = [row for row in rows if row["fidelity"] == "short"]
    trials = [{name: value for name, value in row.items() if value is not None} for row in short]  # what is known
    return {
        "answer": headline,
        "limits": [limit._asdict() for limit in found.limits],
        "price_per_gpu_hour": found.price,
        "space": found.space._asdict(),
        "combinations": found.space.size,
        "never_run": [{"reason": reason, "combinations": number} for reason, number in found.reasons()],
        "proposed_by_optuna": found.sampled,
        "interrupted": found.interrupted,
        "finalists": [row | _details(found, one) for row, one in zip(rows, found.finalists, strict=False)],
        "why_not_as_it_stands": found.own_reason or None,
        "vllm": paste or None,
        "trials": trials,
        **({"warning": warning} if warning else {}),
    }


def _details(found: Optimum, one: Finalist) -> dict[str, Any]:
    """What JSON has of a finalist in place of and besides the columns of its row."""
    ratio, policy = one.cost_over(found.best), one.arm.policy
    return {
        "policy": policy.model_dump(mode="json", exclude_none=True) if policy else None,
        "rates_by_seed": one.result.capacity.rates.tolist(),
        "cost_over_cheapest": ratio and {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high},
        "pressure": one.result.bottleneck and one.result.bottleneck._asdict(),
    }


def _draw(inputs: Inputs, found: Optimum) -> Figure | None:
    """Costs by setting, of short runs; where there were none, of finalists. None where no setting varies."""
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
        return None
    if found.finalists:
        title = f"{short_words(found.best)}: {cost_words(found, found.best.gpu_seconds)} per million output tokens"
    else:
        title = f"{cost_words(found, found.ranked[0].gpu_seconds)} per million output tokens so far"
    kind = "short runs" if found.trials else "finalists"
    return optimize_figure(
        points,
        panels,
        title=title,
        subtitle=subtitle(inputs),
        legend=f"within {limits_words(found.limits)}; dots are {kind}, a dash the cheapest of a value, the diamond the "
        "answer",
        up=f"{'GPU-seconds' if found.price is None else '$'} per million output tokens",
    )
