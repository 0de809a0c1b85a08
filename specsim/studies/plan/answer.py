"""A plan's answer whole: sentences, the table of arms, replicas over time, JSON, and the figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import json_writer
from specsim.reporting.inputs import input_files, source_sentences
from specsim.reporting.publish import Answer
from specsim.studies.plan.figure import PlanBar, plan_figure
from specsim.studies.plan.result import ArmResult, PlanResult
from specsim.studies.plan.tables import plan_table, replicas_table
from specsim.studies.plan.text import drafting, limits_words, plan_sentences


def plan_answer(inputs: Inputs, result: PlanResult, *, quick: bool = False) -> Answer:
    """What ``specsim plan`` prints and writes; ``quick`` if it was but looked at."""
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    rough = ["A quick look: few seeds and a wide bound; leave out --quick for a plan."] if quick else []
    sentences = [*plan_sentences(inputs, result), *rough, *source_sentences(inputs)]
    arms, replicas = plan_table(inputs.scenario, result), replicas_table(result)
    found: dict[str, Any] = {
        "answer": sentences[0],
        "limits": [limit._asdict() for limit in result.limits],
        "best": result.best.arm.name,
        "arms": [row | _details(result, arm) for row, arm in zip(arms.records(), result.arms, strict=True)],
        "missing": [one.arm.name for one in result.missing],
    }
    if warning:
        found["warning"] = warning
    number = len(result.missing) + len(result.arms)
    return Answer(
        sentences=sentences,
        tables=[arms] if replicas is None else [arms, replicas],
        figures={"plan": _draw(inputs, result, None if replicas is None else replicas.frame())},
        files={"plan.json": json_writer(found), **input_files(inputs, warning)},
        warning=warning,
        partial=f"{len(result.missing)} of {number} arms missing" if result.missing else "",
    )


def _details(result: PlanResult, found: ArmResult) -> dict[str, Any]:
    """What JSON has of an arm besides the columns of its row."""
    gain, serving = result.gain(found), result.serving(found)
    return {
        "name": found.arm.name,
        "rates_by_seed": found.capacity.rates.tolist(),
        "gain": asdict(gain) if gain else None,
        "pressure": found.bottleneck._asdict() if found.bottleneck else None,
        "floors": [
            {"limit": latency.limit._asdict(), "seconds": latency.seconds, "parts": latency.parts}
            for latency in found.unloaded
        ],
        "serving": serving._replace(replicas=serving.replicas.tolist())._asdict() if serving else None,
    }


def _draw(inputs: Inputs, result: PlanResult, replicas: pd.DataFrame | None) -> Figure:
    bars = [
        PlanBar(
            drafting(inputs.scenario, found.arm, "no speculation"),
            found.capacity.bound,
            found.capacity.rates,
            found is result.best,
        )
        for found in result.arms
    ]
    return plan_figure(
        bars,
        title=f"Requests/s of a replica within {limits_words(result.limits)}",
        subtitle=subtitle(inputs),
        replicas=replicas,
    )
