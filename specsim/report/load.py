"""What a person reads of one load, and the files it leaves."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pandas as pd
from rich.markup import escape
from rich.table import Table

from specsim.analysis.intervals import Interval
from specsim.analysis.latencies import e2e, latency_growth, queueing, tpot, ttft
from specsim.planner.compare import METRICS, THROUGHPUT, LoadResult
from specsim.planner.notes import held_acceptance
from specsim.records import PARTS, RequestRecords
from specsim.report.extrapolation import extrapolation_sentence
from specsim.report.fleet import fleet_sentences, fleet_summary
from specsim.report.folder import Writer, table_writer, text_writer
from specsim.report.inputs import provenance_json, resolved_scenario
from specsim.report.text import as_text
from specsim.report.traffic import left_out_sentence, load_words, traffic_sentences
from specsim.report.words import policy_words
from specsim.schema.load import Inputs
from specsim.schema.policy import ConfidencePolicy
from specsim.schema.scenario import Scenario
from specsim.schema.workload import ClosedLoop

GROWS = 1.3  # times as long per token in the last quarter as in the first; in balance it is 1 but for chance and ramp
KEEPS_UP = 0.8  # share of a run over which requests arrive; what follows is the last ones' own latency, or a queue


def load_sentences(scenario: Scenario, result: LoadResult) -> list[str]:
    """The answer, and what it must be read with."""
    held = held_acceptance(scenario.speculation, result.num_draft_tokens)
    read_with = [*traffic_sentences(scenario.workload), *left_out_sentence(result.left_out)]
    notes = [*saturation(scenario, result), *preemptions(scenario, result), *reuse(scenario, result)]
    told = [load_answer(scenario, result), *fleet_sentences(scenario, result), *notes, *confidence(scenario)]
    return [*told, *read_with, *held]


def load_answer(scenario: Scenario, result: LoadResult) -> str:
    """The answer in a sentence."""
    k, at = result.num_draft_tokens, load_words(scenario.workload.load)
    plain = result.interval(0, THROUGHPUT).estimate
    if k == 0:
        return f"At {at}: {plain:,.0f} output tokens/s without speculation."
    speedup, tpot = result.speedup(), next(metric for metric in METRICS if metric.name.startswith("TPOT p50"))
    before, after = (result.interval(arm, tpot).estimate for arm in (0, k))
    latency = "" if math.isnan(before) else f" and median TPOT from {before:.1f} to {after:.1f} ms"
    arm, one = policy_words(scenario), k == 1 and scenario.speculation.policy.kind == "static"
    return (
        f"At {at}, {arm} {'changes' if one else 'change'} output throughput by "
        f"{speedup.estimate:.2f}× [{speedup.low:.2f}, {speedup.high:.2f}]{latency}."
    )


def saturation(scenario: Scenario, result: LoadResult) -> list[str]:
    """A warning for each arm that cannot serve the rate offered: its latencies then grow as long as requests arrive."""
    load = scenario.workload.load
    if isinstance(load, ClosedLoop):
        return []
    warnings = []
    for k, share in result.sending_share.items():
        growth = latency_growth(result.records[k].requests)
        if 0 < share < KEEPS_UP and growth > GROWS:
            warnings.append(
                f"{_with(scenario, k)} the server does not keep up: serving the requests took {1 / share:.2f} times "
                f"as long as sending them, and a token of the last quarter {growth:.1f} times as long as one of the "
                "first. The queue, and with it every latency, grows as long as requests arrive."
            )
    return warnings


def _with(scenario: Scenario, num_draft_tokens: int) -> str:
    return f"With {policy_words(scenario)}" if num_draft_tokens else "Without speculation"


def preemptions(scenario: Scenario, result: LoadResult) -> list[str]:
    """A note for each arm in which KV blocks ran out."""
    notes = []
    for k, run in result.records.items():
        lost = int(run.requests.preemptions.sum())
        if lost:
            requests = run.requests
            again = int(run.steps.num_prompt_tokens.sum() - (requests.prompt_tokens - requests.cached_tokens).sum())
            tokens = f", and {again:,} tokens were computed again" if again > 0 else ""
            notes.append(f"{_with(scenario, k)} KV blocks ran out: {lost:,} times a request lost its place{tokens}.")
    return notes


def reuse(scenario: Scenario, result: LoadResult) -> list[str]:
    """How much of the prompts was found in the cache, by arm."""
    if not scenario.deployment.prefix_caching:
        return []
    shares = [
        f"{run.requests.cached_tokens.sum() / run.requests.prompt_tokens.sum():.1%} {_with(scenario, k).lower()}"
        for k, run in result.records.items()
    ]
    return [f"Of the prompt tokens, the KV cache held {' and '.join(shares)}."]


def confidence(scenario: Scenario) -> list[str]:
    """What the confidence policy knows here, and what it does not."""
    if not isinstance(scenario.speculation.policy, ConfidencePolicy):
        return []
    return [
        "The drafter's confidence is the probability in made-up rows and says nothing of whether a token is accepted; "
        "a real drafter's does, and gains more."
    ]


def load_table(scenario: Scenario, result: LoadResult) -> Table:
    """Every metric of both arms with its 95 % interval; metrics that no run has are left out."""
    arms = list(result.values)
    table = Table("metric", *(policy_words(scenario) if k else "without" for k in arms))
    for column in table.columns[1:]:
        column.justify = "right"
    for metric in METRICS:
        cells = [_cell(result.interval(k, metric)) for k in arms]
        if any(cells):
            table.add_row(escape(metric.name), *cells)
    return table


def _cell(interval: Interval) -> str:
    if math.isnan(interval.estimate):
        return ""
    half = interval.high - interval.estimate
    return f"{interval.estimate:,.4g} ± {half:.2g}"


def load_files(inputs: Inputs, result: LoadResult) -> Mapping[str, Writer]:
    """File name → what writes it."""
    warning = extrapolation_sentence([(inputs, result.extrapolation)])
    texts = {
        "answer.txt": as_text(load_sentences(inputs.scenario, result), load_table(inputs.scenario, result)),
        "summary.json": _summary(inputs.scenario, result, warning),
        "scenario.yaml": resolved_scenario(inputs),
        "provenance.json": provenance_json(inputs, warning),
    }
    frames = {}
    for k, run in result.records.items():
        frames[f"requests-{k}.csv"] = pd.DataFrame(_columns(run.requests) | _latencies(run.requests))
        steps = _columns(run.steps)
        parts = steps.pop("parts")
        frames[f"steps-{k}.csv"] = pd.DataFrame(steps | {f"{part}_s": parts[:, i] for i, part in enumerate(PARTS)})
    return {name: text_writer(text) for name, text in texts.items()} | {
        name: table_writer(frame) for name, frame in frames.items()
    }


def _latencies(requests: RequestRecords) -> dict[str, Any]:
    """Of each request [s]."""
    return {"queue_s": queueing(requests), "ttft_s": ttft(requests), "tpot_s": tpot(requests), "e2e_s": e2e(requests)}


def _columns(records: Any) -> dict[str, Any]:
    """Those that a run has."""
    columns = {field.name: getattr(records, field.name) for field in fields(records)}
    return {name: column for name, column in columns.items() if column is not None}


def _summary(scenario: Scenario, result: LoadResult, warning: str | None) -> str:
    arms = {
        str(k): {metric.name: _finite(asdict(result.interval(k, metric))) for metric in METRICS} for k in result.values
    }
    found = {"num_draft_tokens": result.num_draft_tokens, "metrics": arms} | fleet_summary(scenario, result)
    found |= {"warning": warning} if warning else {}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _finite(interval: dict[str, float]) -> dict[str, float | None]:
    """JSON has no NaN."""
    return {key: value if math.isfinite(value) else None for key, value in interval.items()}
