"""What a person reads of single steps: the answer in sentences, and tables of time, limits and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from specsim.costs.memory import GIB
from specsim.errors import InputError, Problem
from specsim.planner.cost import CostReport, MemoryReport, StepReport
from specsim.records import PARTS
from specsim.report.numbers import read_list
from specsim.report.words import drafts
from specsim.schema.load import Inputs
from specsim.schema.scenario import Scenario

WAITS_FOR = {
    "weights": "memory bandwidth (weights)",
    "kv": "memory bandwidth (KV)",
    "compute": "compute",
    "launches": "kernel launches",
    "links": "links between devices",
    "host": "host",
}
HEADERS = {"communication": "links", "kv": "KV"}
LARGEST_BATCH, LONGEST_DRAFT = 65536, 64


def read_steps(batches: str, draft_lengths: str) -> tuple[list[int], list[int]]:
    """The lists given on the command line, each value once.

    Raises:
        InputError: naming every entry that is not a batch or a draft length.
    """
    problems: list[Problem] = []
    batch_remedy, draft_remedy = (
        f"write whole numbers from {low} to {high}" for low, high in ((1, LARGEST_BATCH), (0, LONGEST_DRAFT))
    )
    found = read_list(batches, int, lambda b: 1 <= b <= LARGEST_BATCH, "--batch", batch_remedy, problems)
    lengths = read_list(
        draft_lengths, int, lambda k: 0 <= k <= LONGEST_DRAFT, "--num-draft-tokens", draft_remedy, problems
    )
    if problems:
        raise InputError(problems)
    return list(dict.fromkeys(found)), list(dict.fromkeys(lengths))


def cost_sentences(inputs: Inputs, report: CostReport) -> list[str]:
    """The answer, and what it must be read with."""
    prompts = f", beside {report.prompt_tokens:,} tokens of a prompt" if report.prompt_tokens else ""
    return [
        _headline(inputs.scenario, report),
        *_lost(report),
        f"Steps of requests with {report.context:,} tokens of context each{prompts}.",
        *_notes(inputs, report),
    ]


def headline_step(report: CostReport) -> StepReport:
    """The step that the first sentence is about: the largest batch with the longest draft."""
    return max(report.steps, key=lambda step: (step.batch, step.num_draft_tokens))


def _headline(scenario: Scenario, report: CostReport) -> str:
    step = headline_step(report)
    drafted, ratio, instead = "", "", ""
    if step.num_draft_tokens:
        drafted = f" with {drafts(scenario, step.num_draft_tokens)}"
        ratio = f", {step.over_plain:.2f} × one without,"
        instead = f" instead of {step.batch:,}"
    share = step.waits[step.limit] / step.seconds
    return (
        f"At batch {step.batch} a step{drafted} takes {_ms(step.seconds)} ms{ratio} and yields {step.tokens:,.4g} "
        f"tokens{instead}; it waits longest for {WAITS_FOR[step.limit]}: {share:.0%} of the time. {_achieved(step)}."
    )


def _achieved(step: StepReport) -> str:
    return (
        f"It moves {step.bytes_per_s / 1e12:.2f} TB/s ({step.bandwidth_share:.0%} of the peak) and computes "
        f"{step.flops_per_s / 1e12:,.3g} TFLOP/s ({_percent(step.compute_share)} of the peak)"
    )


def _lost(report: CostReport) -> Iterator[str]:
    """The concurrency that the drafter takes."""
    if len(report.memory) < 2:
        return
    plain, loaded = report.memory
    if loaded.plan.kv_tokens == plain.plan.kv_tokens:
        yield "Drafting takes nothing of the KV pool."
        return
    pools, lost = (plain.plan.kv_tokens, loaded.plan.kv_tokens), plain.requests - loaded.requests
    yield (
        f"The drafter takes {1 - pools[1] / pools[0]:.0%} of the KV pool, {pools[1]:,} tokens instead of {pools[0]:,}: "
        f"of the mean request ({report.request_tokens:,} tokens) {loaded.requests:,} fit at once instead of "
        f"{plain.requests:,}, {lost:,} fewer."
    )


def _notes(inputs: Inputs, report: CostReport) -> Iterator[str]:
    limit = inputs.engine.max_num_seqs
    if report.memory[-1].requests > limit:
        yield f"The engine runs {limit:,} requests at most (max_num_seqs), so here memory does not limit how many."
    for memory in report.memory:
        mine = [step for step in report.steps if bool(step.num_draft_tokens) == bool(memory.num_draft_tokens)]
        short = sorted({step.batch for step in mine if _needed(memory, step, report.context) > memory.plan.kv_tokens})
        if short:
            how = "with the drafter" if memory.num_draft_tokens else "without a drafter"
            yield (
                f"Batch {', '.join(map(str, short))} never runs {how}: so many contexts of {report.context:,} "
                "tokens do not fit the KV pool."
            )
    stages = inputs.scenario.deployment.pipeline_parallel
    if stages > 1:
        yield f"One batch passes through the {stages} pipeline stages at a time, so each device waits for the others."


def _needed(memory: MemoryReport, step: StepReport, context: int) -> int:
    return step.batch * memory.plan.pool_tokens(context + step.num_draft_tokens, step.num_draft_tokens)


def time_table(scenario: Scenario, report: CostReport) -> Table:
    """Milliseconds and share of each part, a row per step."""
    used = [i for i, _ in enumerate(PARTS) if any(step.time[i] for step in report.steps)]
    table = Table(
        "batch",
        _length(scenario),
        "ms",
        "ratio",
        *(HEADERS.get(PARTS[i], PARTS[i]) for i in used),
        title="time of a step by part, in ms; ratio to the same step without drafts",
    )
    for column in table.columns:
        column.justify = "right"
    for step in report.steps:
        parts = [f"{_ms(step.time[i])} {step.time[i] / step.seconds:4.0%}" for i in used]
        over = f"{step.over_plain:.2f}" if step.num_draft_tokens else ""
        table.add_row(str(step.batch), str(step.num_draft_tokens), _ms(step.seconds), over, *parts)
    return table


def limit_table(scenario: Scenario, report: CostReport) -> Table:
    """What each step yields, what it waits for and what it achieves per device."""
    table = Table(
        "batch", _length(scenario), "tokens", "tokens/s", "waits longest for", "TB/s", "TFLOP/s", title="limits"
    )
    for i, column in enumerate(table.columns):
        column.justify = "left" if i == 4 else "right"
    for step in report.steps:
        table.add_row(
            str(step.batch),
            str(step.num_draft_tokens),
            f"{step.tokens:,.4g}",
            f"{step.tokens / step.seconds:,.0f}",
            f"{WAITS_FOR[step.limit]}, {step.waits[step.limit] / step.seconds:.0%}",
            f"{step.bytes_per_s / 1e12:.3g} ({step.bandwidth_share:.0%})",
            f"{step.flops_per_s / 1e12:,.3g} ({_percent(step.compute_share)})",
        )
    return table


def memory_table(scenario: Scenario, report: CostReport) -> Table:
    """One device's memory, without a drafter and with it."""
    arms = [
        f"with {drafts(scenario, arm.num_draft_tokens)}" if arm.num_draft_tokens else "without" for arm in report.memory
    ]
    table = Table("memory of a device", *arms)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, cells in memory_rows(report.memory):
        table.add_row(name, *cells)
    return table


def memory_rows(memory: Sequence[MemoryReport]) -> Iterator[tuple[str, list[str]]]:
    """Name of a line → its value in each arm."""
    plans = [arm.plan for arm in memory]
    yield "weights, GiB", [f"{plan.weights / GIB:.2f}" for plan in plans]
    yield "drafter's weights, GiB", [f"{plan.draft_weights / GIB:.2f}" for plan in plans]
    yield "activations, graphs, buffers, GiB", [f"{plan.reserve / GIB:.2f}" for plan in plans]
    yield "KV pool, GiB", [f"{plan.kv_tokens * plan.kv_bytes_per_token / GIB:.2f}" for plan in plans]
    yield "KV pool, tokens", [f"{plan.kv_tokens:,}" for plan in plans]
    yield "KV bytes a token", [f"{plan.kv_bytes_per_token:,.0f}" for plan in plans]
    yield "mean requests at once", [f"{arm.requests:,}" for arm in memory]


def _length(scenario: Scenario) -> str:
    """What the draft length counts."""
    return "levels" if scenario.speculation.tree else "drafts"


def _ms(seconds: float) -> str:
    """Milliseconds with three digits, the smallest with two decimals."""
    milliseconds = 1e3 * seconds
    decimals = 2 if milliseconds < 10 else 1 if milliseconds < 100 else 0
    return f"{milliseconds:,.{decimals}f}"


def _percent(share: float) -> str:
    """Percent, with a decimal where there are few."""
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
