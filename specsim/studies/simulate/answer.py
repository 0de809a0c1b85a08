"""A load's answer whole: sentences, tables of metrics, the summary in JSON, and the records of single runs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from specsim.analysis.intervals import Interval
from specsim.analysis.run_metrics import CLASS_METRICS, METRICS
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, text_writer
from specsim.reporting.inputs import input_files, source_sentences
from specsim.reporting.publish import Answer
from specsim.reporting.record_tables import Format
from specsim.studies.simulate.drawn import drawn_load
from specsim.studies.simulate.fleet_text import fleet_summary
from specsim.studies.simulate.run import LoadResult
from specsim.studies.simulate.tables import run_tables
from specsim.studies.simulate.text import load_sentences, load_tables


def load_answer(
    inputs: Inputs,
    result: LoadResult,
    form: Format = "csv",
    *,
    rounds: bool = False,
    footer: Sequence[str] = (),
    trace: Writer | None = None,
) -> Answer:
    """What ``specsim simulate`` prints and writes.

    Args:
        inputs: what was simulated.
        result: what came out.
        form: of the tables of records.
        rounds: whether there is a table of rounds; they have to have been kept.
        footer: what is printed last.
        trace: writes the trace, where one is asked for.
    """
    scenario = inputs.scenario
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    summary = text_writer(_summary(scenario, result, warning))
    left = f"{result.missing} of {scenario.run.replications} replications missing"
    sentences = load_sentences(scenario, result)
    return Answer(
        sentences=[*sentences, *source_sentences(inputs)],
        tables=[*load_tables(scenario, result), *run_tables(result, form, rounds=rounds)],
        figures={"simulate": drawn_load(inputs, result, title=sentences[0])},
        files={"summary.json": summary, **input_files(inputs, warning)},
        footer=footer,
        beside={"--trace": trace} if trace else {},
        warning=warning,
        partial=left if result.missing else "",
    )


def _summary(scenario: Scenario, result: LoadResult, warning: str) -> str:
    """Every metric of both arms, of the steady part and of whole runs, and by class."""
    arms = list(result.values)
    found: dict[str, Any] = {
        "num_draft_tokens": result.num_draft_tokens,
        "steady_share": result.steady_share,
        "metrics": {k: {m.label: _finite(result.interval(k, m)) for m in METRICS} for k in arms},
        "whole_run": {k: {m.label: _finite(result.whole_interval(k, m)) for m in METRICS} for k in arms},
    }
    if result.classes:
        found["classes"] = {
            k: [
                {m.label: _finite(result.class_interval(k, number, m)) for m in CLASS_METRICS}
                for number in range(values.shape[1])
            ]
            for k, values in result.classes.items()
        }
    found |= fleet_summary(scenario, result)
    if result.missing:
        found["missing_replications"] = result.missing
    if warning:
        found["warning"] = warning
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _finite(interval: Interval) -> dict[str, float | None]:
    """JSON has no NaN."""
    return {key: value if math.isfinite(value) else None for key, value in asdict(interval).items()}
