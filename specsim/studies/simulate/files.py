"""The files that a load leaves: a summary in JSON, and tables of requests, steps and rounds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from specsim.analysis.acceptance import acceptance_length
from specsim.analysis.intervals import Interval
from specsim.analysis.latencies import decode_rate, e2e, queueing, tpot, ttft
from specsim.analysis.run_metrics import CLASS_METRICS, METRICS
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.read.scenario import Inputs
from specsim.records import PARTS, USES, RequestRecords, RoundRecords, StepRecords
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, text_writer
from specsim.reporting.inputs import provenance_json, resolved_scenario
from specsim.reporting.record_tables import Columns, Format, columns_writer
from specsim.reporting.text import as_text
from specsim.studies.simulate.fleet_text import fleet_summary
from specsim.studies.simulate.run import LoadResult
from specsim.studies.simulate.text import load_sentences, load_tables


def load_files(
    inputs: Inputs, result: LoadResult, form: Format = "csv", *, rounds: bool = False
) -> Mapping[str, Writer]:
    """File name → what writes it.

    Args:
        inputs: what was simulated.
        result: what came out.
        form: of the tables.
        rounds: whether there is a table of rounds; they have to have been kept.
    """
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    texts = {
        "answer.txt": as_text(load_sentences(inputs.scenario, result), *load_tables(inputs.scenario, result)),
        "summary.json": _summary(inputs.scenario, result, warning),
        "scenario.yaml": resolved_scenario(inputs),
        "provenance.json": provenance_json(inputs, warning),
    }
    tables: dict[str, Columns] = {}
    for k, run in result.records.items():
        tables[f"requests-{k}"] = request_columns(run.requests)
        tables[f"steps-{k}"] = step_columns(run.steps)
        if rounds and run.rounds is not None:
            tables[f"rounds-{k}"] = round_columns(run.rounds)
    return {name: text_writer(text) for name, text in texts.items()} | {
        f"{name}.{form}": columns_writer(columns, form) for name, columns in tables.items()
    }


def request_columns(requests: RequestRecords) -> Columns:
    """What is known of each request, and what follows from it."""
    columns = _columns(requests)
    accepted = columns.pop("accepted", None)
    columns |= {"queue_s": queueing(requests), "ttft_s": ttft(requests)}
    columns |= {"tpot_s": tpot(requests), "e2e_s": e2e(requests), "tokens_per_s": decode_rate(requests)}
    if accepted is not None and accepted.shape[1] > 1:
        columns["acceptance_length"] = acceptance_length(accepted)
        columns |= {f"accepted_{number}": accepted[:, number] for number in range(accepted.shape[1])}
    return columns


def step_columns(steps: StepRecords) -> Columns:
    """What each step held, its seconds by part and what it asked of a device."""
    columns = _columns(steps)
    parts, used = columns.pop("parts"), columns.pop("used", None)
    columns |= {f"{part}_s": parts[:, i] for i, part in enumerate(PARTS)}
    return columns if used is None else columns | {use: used[:, i] for i, use in enumerate(USES)}


def round_columns(rounds: RoundRecords) -> Columns:
    """What each request drafted and received in each step."""
    return _columns(rounds)


def _columns(records: Any) -> dict[str, Any]:
    found = {field.name: getattr(records, field.name) for field in fields(records)}
    return {name: column for name, column in found.items() if column is not None}


def _summary(scenario: Scenario, result: LoadResult, warning: str | None) -> str:
    """Every metric of both arms, of the steady part and of whole runs, and by class."""
    arms = list(result.values)
    found: dict[str, Any] = {
        "num_draft_tokens": result.num_draft_tokens,
        "steady_share": result.steady_share,
        "metrics": {k: {m.name: _finite(result.interval(k, m)) for m in METRICS} for k in arms},
        "whole_run": {k: {m.name: _finite(result.whole_interval(k, m)) for m in METRICS} for k in arms},
    }
    if result.classes:
        found["classes"] = {
            k: [
                {m.name: _finite(result.class_interval(k, number, m)) for m in CLASS_METRICS}
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
