"""What a person reads of single steps: the answer in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.errors import Problem, raise_if_any
from specsim.inputs.models.policy import OffAbovePolicy, Policy, StaticPolicy
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.inputs.read.lists import read_list
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.wording import drafts, policy_words
from specsim.studies.cost.run import CostReport, MemoryReport, StepReport
from specsim.studies.shared.model_error import error_of
from specsim.studies.shared.notes import held_acceptance

WAITS_FOR = {
    "weights": "memory bandwidth (weights)",
    "kv": "memory bandwidth (KV)",
    "compute": "compute",
    "launches": "kernel launches",
    "links": "links between devices",
    "host": "host",
}
MIB = 2**20
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
    raise_if_any(problems)
    return list(dict.fromkeys(found)), list(dict.fromkeys(lengths))


def named_lengths(policy: Policy) -> list[int]:
    """No drafts, and the draft lengths that a policy names: those of a schedule, of others the longest."""
    named = {row.num_draft_tokens for row in policy.rows} if isinstance(policy, SchedulePolicy) else set()
    return sorted({0, policy.num_draft_tokens, *named})


def cost_sentences(inputs: Inputs, report: CostReport, *, by_policy: bool = False) -> list[str]:
    """The answer, and what it must be read with.

    Args:
        inputs: what was priced.
        report: what came out.
        by_policy: whether the draft lengths are those that the policy names.
    """
    prompts = f", beside {report.prompt_tokens:,} tokens of a prompt" if report.prompt_tokens else ""
    return [
        _headline(inputs.scenario, report),
        *_never_runs(report),
        *_lost(report),
        f"Steps of requests with {report.context:,} tokens of context each{prompts}.",
        *(_shorter(inputs.scenario) if by_policy else ()),
        *_notes(inputs, report),
        *_model(inputs),
    ]


def headline_step(report: CostReport) -> StepReport:
    """The step that the first sentence is about: the largest batch with the longest draft."""
    return max(report.steps, key=lambda step: (step.batch, step.num_draft_tokens))


def _headline(scenario: Scenario, report: CostReport) -> str:
    step = headline_step(report)
    drafted, ratio, instead = "", "", ""
    if step.num_draft_tokens:
        drafted = f" with {drafts(scenario, step.num_draft_tokens)}"
        ratio = f", {step.over_plain:.2f} × one without (so it pays from {step.over_plain:.2f} tokens per verify on),"
        instead = f" instead of {step.batch:,}"
    share, takes = step.waits[step.limit] / step.seconds, "takes" if step.runs else "would take"
    return (
        f"At batch {step.batch} a step{drafted} {takes} {in_ms(step.seconds)} ms{ratio} and yields {step.tokens:,.4g} "
        f"tokens{instead}; it waits longest for {WAITS_FOR[step.limit]}: {share:.0%} of the time. {_achieved(step)}."
    )


def _achieved(step: StepReport) -> str:
    return (
        f"It moves {step.bytes_per_s / 1e12:.2f} TB/s ({step.bandwidth_share:.0%} of the peak) and computes "
        f"{step.flops_per_s / 1e12:,.3g} TFLOP/s ({percent(step.compute_share)} of the peak)"
    )


def _never_runs(report: CostReport) -> Iterator[str]:
    """Steps of more contexts than fit the KV pool, without a drafter and with it."""
    for arm, how in ((False, "without a drafter"), (True, "with the drafter")):
        beyond = [step for step in report.steps if not step.runs and bool(step.num_draft_tokens) == arm]
        if beyond:
            batches = ", ".join(str(batch) for batch in sorted({step.batch for step in beyond}))
            yield (
                f"Batch {batches} never runs {how}: of requests with {report.context:,} tokens of context the KV pool "
                f"holds {min(step.room for step in beyond):,}."
            )


def _lost(report: CostReport) -> Iterator[str]:
    """The concurrency that the drafter takes."""
    if len(report.memory) < 2:
        return
    plain, loaded = report.memory
    pools, lost = (plain.plan.kv_tokens, loaded.plan.kv_tokens), plain.requests - loaded.requests
    if not lost and pools[0] == pools[1]:
        yield "Drafting takes nothing of the KV pool."
        return
    yield (
        f"{_taken(*pools)}: of the mean request ({report.request_tokens:,} tokens) {loaded.requests:,} fit at once "
        f"instead of {plain.requests:,}, {lost:,} fewer.{_states(loaded)}"
    )


def _taken(before: int, after: int) -> str:
    if before == after:
        return f"Drafting leaves the KV pool its {before:,} tokens, and a request takes more of them"
    return f"The drafter takes {1 - after / before:.0%} of the KV pool, {after:,} tokens instead of {before:,}"


def _states(loaded: MemoryReport) -> str:
    """What layers without a cache keep while drafts are verified."""
    if not loaded.state_bytes:
        return ""
    kept = f"{loaded.states * loaded.state_bytes / MIB:,.0f} MiB instead of {loaded.state_bytes / MIB:,.0f}"
    return (
        f" While {loaded.states - 1} drafts are verified a request keeps {loaded.states} recurrent states of its "
        f"linear-attention layers, to go back to the last token accepted: {kept}."
    )


def _shorter(scenario: Scenario) -> Iterator[str]:
    """That a policy drafts less than its longest draft, where what it drafts is found out as it goes."""
    policy = scenario.speculation.policy
    if not isinstance(policy, StaticPolicy | OffAbovePolicy | SchedulePolicy):
        yield (
            f"The policy drafts {policy_words(scenario)}, so it runs steps with fewer too; --num-draft-tokens prices "
            "them."
        )


def _notes(inputs: Inputs, report: CostReport) -> Iterator[str]:
    limit = inputs.engine.max_num_seqs
    if report.memory[-1].requests > limit:
        yield (
            f"The engine's max_num_seqs ({limit:,}) limits concurrency, not memory, for the mean request "
            f"({report.request_tokens:,} tokens)."
        )
    longest = max(step.num_draft_tokens for step in report.steps)
    yield from held_acceptance(inputs.scenario.speculation, longest)
    stages = inputs.scenario.deployment.pipeline_parallel
    if stages > 1:
        yield f"One batch passes through the {stages} pipeline stages at a time, so each device waits for the others."


def _model(inputs: Inputs) -> Iterator[str]:
    """How far measured steps lie from these: as rates do, turned round."""
    if error := error_of(inputs, "rate"):
        yield error.sentence


def in_ms(seconds: float) -> str:
    """Milliseconds with three digits, the smallest with two decimals."""
    milliseconds = 1e3 * seconds
    decimals = 2 if milliseconds < 10 else 1 if milliseconds < 100 else 0
    return f"{milliseconds:,.{decimals}f}"


def percent(share: float) -> str:
    """Percent, with a decimal where there are few."""
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
