"""Single steps as tables: time, limits and memory, on the terminal and in files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from specsim.costs.memory import GIB
from specsim.inputs.models.scenario import Scenario
from specsim.records import PARTS
from specsim.reporting.columns import AnyTable, Column, Table, shown
from specsim.reporting.wording import drafts
from specsim.studies.cost.run import RESOURCES, CostReport, MemoryReport, StepReport
from specsim.studies.cost.text import WAITS_FOR, in_ms, percent

HEADERS = {"communication": "links", "kv": "KV"}
Line = tuple[str, Callable[[MemoryReport], str]]
"""Of the terminal's table of memory: its name, and its value in an arm."""


def cost_tables(scenario: Scenario, report: CostReport) -> list[AnyTable]:
    """Time, limits and memory."""
    steps = step_table(scenario, report)
    return [steps, limit_table(steps), memory_lines(scenario, report), memory_table(report)]


def step_table(scenario: Scenario, report: CostReport) -> Table[StepReport]:
    """A row per step; the terminal shows milliseconds and share of each part, the file SI units of one device."""
    return Table(
        rows=report.steps,
        columns=[
            Column("batch", lambda step: step.batch, "requests", "requests that decode", "batch",
                   lambda step: str(step.batch)),
            Column("num_draft_tokens", lambda step: step.num_draft_tokens, "tokens",
                   "draft tokens per verify, or levels of the tree; 0 without speculation",
                   "levels" if scenario.speculation.tree else "drafts", lambda step: str(step.num_draft_tokens)),
            Column("context_tokens", lambda step: report.context, "tokens", "of each request so far"),
            Column("prompt_tokens", lambda step: report.prompt_tokens, "tokens", "of a prompt computed in the step"),
            Column("step_s", lambda step: step.seconds, "s", "time of the step", "ms",
                   lambda step: in_ms(step.seconds)),
            shown("ratio", lambda step: f"{step.over_plain:.2f}" if step.num_draft_tokens else ""),
            *(_part(report, i) for i in range(len(PARTS))),
            Column("over_plain", lambda step: step.over_plain, "",
                   "time over that of the same step without drafts: the acceptance length that breaks even"),
            Column("tokens", lambda step: step.tokens, "tokens", "output tokens that it yields on average"),
            Column("limit", lambda step: step.limit, "", "resource that it waits for longest"),
            *(
                Column(f"waits_for_{resource}_s", partial(_waits, resource), "s",
                       f"spent waiting for {WAITS_FOR[resource]}, drafting included")
                for resource in RESOURCES
            ),
            Column("bytes_per_s", lambda step: step.bytes_per_s, "B/s", "moved per device"),
            Column("bandwidth_share", lambda step: step.bandwidth_share, "", "bytes over what the peak could move"),
            Column("flops_per_s", lambda step: step.flops_per_s, "FLOP/s", "computed per device"),
            Column("compute_share", lambda step: step.compute_share, "", "operations over what the peak could do"),
            Column("requests_that_fit", lambda step: step.room, "requests",
                   "of this context with these drafts, that the KV pool holds at once"),
        ],
        file="cost.csv",
        title="time of a step by part, in ms; ratio to one without drafts, the acceptance length that breaks even",
    )  # fmt: skip


def _part(report: CostReport, i: int) -> Column[StepReport]:
    """The time of a part; the terminal shows it where some step has any."""
    part = PARTS[i]

    def cell(step: StepReport) -> str:
        return f"{in_ms(step.time[i])} {step.time[i] / step.seconds:4.0%}"

    used = any(step.time[i] for step in report.steps)
    head, share = (HEADERS.get(part, part), cell) if used else ("", None)
    return Column(f"{part}_s", lambda step: step.time[i], "s", f"its time by part: {part}", head, share)


def _waits(resource: str, step: StepReport) -> float:
    return step.waits[resource]


def limit_table(steps: Table[StepReport]) -> Table[StepReport]:
    """What each step yields, what it waits for and what it achieves per device."""
    return Table(
        rows=steps.rows,
        columns=[
            *(shown(column.head, column.cell) for column in steps.columns[:2] if column.cell),
            shown("tokens", lambda step: f"{step.tokens:,.4g}"),
            shown("tokens/s", lambda step: f"{step.tokens / step.seconds:,.0f}"),
            shown(
                "waits longest for",
                lambda step: f"{WAITS_FOR[step.limit]}, {step.waits[step.limit] / step.seconds:.0%}",
                left=True,
            ),
            shown("TB/s", lambda step: f"{step.bytes_per_s / 1e12:.3g} ({step.bandwidth_share:.0%})"),
            shown("TFLOP/s", lambda step: f"{step.flops_per_s / 1e12:,.3g} ({percent(step.compute_share)})"),
        ],
        title="limits",
    )


def memory_table(report: CostReport) -> Table[MemoryReport]:
    """A row without a drafter and one with it, of one device."""
    return Table(
        rows=report.memory,
        columns=[
            Column("num_draft_tokens", lambda arm: arm.num_draft_tokens, "tokens", "of the drafter; 0 without one"),
            Column("usable_bytes", lambda arm: arm.plan.usable, "B", "that the engine uses"),
            Column("weights_bytes", lambda arm: arm.plan.weights, "B", "weights of the target"),
            Column("draft_weights_bytes", lambda arm: arm.plan.draft_weights, "B", "weights of the drafter"),
            Column("reserve_bytes", lambda arm: arm.plan.reserve, "B", "activations, graphs, buffers"),
            Column("kv_bytes_per_token", lambda arm: arm.plan.kv_bytes_per_token, "B", "KV of a token"),
            Column("kv_tokens", lambda arm: arm.plan.kv_tokens, "tokens", "that the KV pool holds"),
            Column("request_tokens", lambda arm: report.request_tokens, "tokens", "prompt and output, mean request"),
            Column("requests", lambda arm: arm.requests, "requests", "mean requests that the KV pool holds at once"),
            Column(
                "recurrent_states_bytes", lambda arm: arm.states * arm.state_bytes, "B", "recurrent states of a request"
            ),
        ],
        file="memory.csv",
    )


def memory_lines(scenario: Scenario, report: CostReport) -> Table[Line]:
    """One device's memory, a column without a drafter and one with it."""
    columns: list[Column[Line]] = [shown("memory of a device", lambda line: line[0], left=True)]
    for arm in report.memory:
        name = f"with {drafts(scenario, arm.num_draft_tokens)}" if arm.num_draft_tokens else "without"
        columns.append(shown(name, partial(_of_arm, arm)))
    return Table(MEMORY_LINES, columns)


def _of_arm(arm: MemoryReport, line: Line) -> str:
    return line[1](arm)


MEMORY_LINES: tuple[Line, ...] = (
    ("weights, GiB", lambda arm: f"{arm.plan.weights / GIB:.2f}"),
    ("drafter's weights, GiB", lambda arm: f"{arm.plan.draft_weights / GIB:.2f}"),
    ("activations, graphs, buffers, GiB", lambda arm: f"{arm.plan.reserve / GIB:.2f}"),
    ("KV pool, GiB", lambda arm: f"{arm.plan.kv_tokens * arm.plan.kv_bytes_per_token / GIB:.2f}"),
    ("KV pool, tokens", lambda arm: f"{arm.plan.kv_tokens:,}"),
    ("KV bytes a token", lambda arm: f"{arm.plan.kv_bytes_per_token:,.0f}"),
    ("mean requests at once", lambda arm: f"{arm.requests:,}"),
)
