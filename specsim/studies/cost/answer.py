"""The answer of single steps whole: sentences, tables of time, limits and memory, and the figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specsim.inputs.read.scenario import Inputs
from specsim.reporting.acceptance import acceptance_sentences
from specsim.reporting.deployment import deployment_words
from specsim.reporting.extrapolation import extrapolation_sentence
from specsim.reporting.inputs import input_files
from specsim.reporting.publish import Answer
from specsim.reporting.wording import drafts
from specsim.studies.cost.run import CostReport
from specsim.studies.cost.tables import cost_tables, step_table
from specsim.studies.cost.text import WAITS_FOR, cost_sentences, headline_step

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cost_answer(inputs: Inputs, report: CostReport, *, by_policy: bool, drawn: bool) -> Answer:
    """What ``specsim cost`` prints and writes.

    Args:
        inputs: what was priced.
        report: what came out.
        by_policy: whether the draft lengths are those that the policy names.
        drawn: whether there is a figure.
    """
    warning = extrapolation_sentence([(inputs, report.extrapolation)])
    return Answer(
        sentences=[*cost_sentences(inputs, report, by_policy=by_policy), *acceptance_sentences(inputs)],
        tables=cost_tables(inputs.scenario, report),
        figures={"cost": draw(inputs, report)} if drawn else {},
        files=input_files(inputs, warning),
        warning=warning,
    )


def draw(inputs: Inputs, report: CostReport) -> Figure:
    """The steps as bars."""
    # here, since matplotlib takes a third of a second to load and the terminal alone needs none
    from specsim.studies.cost.figure import cost_figure

    steps = step_table(inputs.scenario, report).frame()
    return cost_figure(steps, title=_title(inputs, report), subtitle=_what(inputs, report))


def _title(inputs: Inputs, report: CostReport) -> str:
    step = headline_step(report)
    how = f" with {drafts(inputs.scenario, step.num_draft_tokens)}" if step.num_draft_tokens else ""
    waits = "waits" if step.runs else "would wait"
    return f"At batch {step.batch} a step{how} {waits} longest for {WAITS_FOR[step.limit]}"


def _what(inputs: Inputs, report: CostReport) -> str:
    prompts = f", {report.prompt_tokens:,} prompt tokens" if report.prompt_tokens else ""
    return f"{deployment_words(inputs)}; {report.context:,} tokens of context{prompts}"
