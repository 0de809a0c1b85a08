"""The files of single steps: what ``specsim cost`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from specsim.inputs.read.scenario import Inputs
from specsim.records import PARTS
from specsim.reporting.deployment import subtitle
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.folders import Writer, bytes_writer, table_writer, text_writer
from specsim.reporting.inputs import provenance_json, resolved_scenario
from specsim.reporting.style import no_math, png_bytes, svg_bytes
from specsim.reporting.text import as_text
from specsim.reporting.wording import drafts
from specsim.studies.cost.figure import cost_figure
from specsim.studies.cost.run import RESOURCES, CostReport
from specsim.studies.cost.text import WAITS_FOR, headline_step, limit_table, memory_table, time_table


def cost_files(inputs: Inputs, report: CostReport, sentences: Sequence[str]) -> Mapping[str, Writer]:
    """File name → what writes it.

    Args:
        inputs: what was priced.
        report: what came out.
        sentences: the answer, as printed.
    """
    steps = steps_frame(report)
    figure = cost_figure(steps, title=_title(inputs, report), subtitle=no_math(_what(inputs, report)))
    tables = [table(inputs.scenario, report) for table in (time_table, limit_table, memory_table)]
    return {
        "cost.csv": table_writer(steps),
        "memory.csv": table_writer(memory_frame(report)),
        "cost.png": bytes_writer(png_bytes(figure)),
        "cost.svg": bytes_writer(svg_bytes(figure)),
        "answer.txt": text_writer(as_text(sentences, *tables)),
        "scenario.yaml": text_writer(resolved_scenario(inputs)),
        "provenance.json": text_writer(
            provenance_json(inputs, extrapolation_sentence([(inputs, report.extrapolation)]))
        ),
    }


def _title(inputs: Inputs, report: CostReport) -> str:
    step = headline_step(report)
    how = f" with {drafts(inputs.scenario, step.num_draft_tokens)}" if step.num_draft_tokens else ""
    waits = "waits" if step.runs else "would wait"
    return f"At batch {step.batch} a step{how} {waits} longest for {WAITS_FOR[step.limit]}"


def _what(inputs: Inputs, report: CostReport) -> str:
    prompts = f", {report.prompt_tokens:,} prompt tokens" if report.prompt_tokens else ""
    return f"{subtitle(inputs).split(';')[0]}; {report.context:,} tokens of context{prompts}"


def steps_frame(report: CostReport) -> pd.DataFrame:
    """One row per step: SI units, one device's bytes and operations."""
    return pd.DataFrame(
        {
            "batch": step.batch,
            "num_draft_tokens": step.num_draft_tokens,
            "context_tokens": report.context,
            "prompt_tokens": report.prompt_tokens,
            "step_s": step.seconds,
            **{f"{part}_s": seconds for part, seconds in zip(PARTS, step.time, strict=True)},
            "over_plain": step.over_plain,
            "tokens": step.tokens,
            "limit": step.limit,
            **{f"waits_for_{resource}_s": step.waits[resource] for resource in RESOURCES},
            "bytes_per_s": step.bytes_per_s,
            "bandwidth_share": step.bandwidth_share,
            "flops_per_s": step.flops_per_s,
            "compute_share": step.compute_share,
            "requests_that_fit": step.room,
        }
        for step in report.steps
    )


def memory_frame(report: CostReport) -> pd.DataFrame:
    """One row without a drafter and one with it: bytes of one device."""
    return pd.DataFrame(
        {
            "num_draft_tokens": arm.num_draft_tokens,
            "usable_bytes": arm.plan.usable,
            "weights_bytes": arm.plan.weights,
            "draft_weights_bytes": arm.plan.draft_weights,
            "reserve_bytes": arm.plan.reserve,
            "kv_bytes_per_token": arm.plan.kv_bytes_per_token,
            "kv_tokens": arm.plan.kv_tokens,
            "request_tokens": report.request_tokens,
            "requests": arm.requests,
            "recurrent_states_bytes": arm.states * arm.state_bytes,
        }
        for arm in report.memory
    )
