"""What a person reads of a search for the cheapest settings: the answer, what it must be read with, what to paste."""

from __future__ import annotations

import math
from collections.abc import Iterator

from specsim.analysis.intervals import Interval
from specsim.inputs.models.plan import Plan
from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.models.schedule import SchedulePolicy, ScheduleRow
from specsim.inputs.read.scenario import Inputs
from specsim.interop.engines_config import checkpoint_of, vllm_setting
from specsim.reporting.intervals import over_one, percents, plain
from specsim.studies.decide.text import ranges_words
from specsim.studies.optimize.optimum import Finalist, Optimum, described
from specsim.studies.plan.arms import Arm
from specsim.studies.plan.text import TO_NARROW, binding_words, bound_sentences, drafting, limits_words
from specsim.studies.shared.model_error import error_of
from specsim.units import plural

NAMES = {"tensor_parallel": "TP", "max_num_seqs": "max_num_seqs", "token_budget": "token budget"}
MOST_REASONS = 4  # why combinations can never run; all are in the table of trials


def optimize_sentences(inputs: Inputs, found: Optimum) -> list[str]:
    """The answer, and what it must be read with."""
    if not found.finalists:
        return [_only_rough(found), *_search(found), *_barred(found)]
    best = found.best
    return [
        optimize_headline(found),
        *_binding(found),
        *_runner_up(found),
        *_no_difference(found),
        *_search(found),
        *_barred(found),
        *bound_sentences(inputs.scenario, best.result.capacity),
        *([error.sentence] if (error := error_of(inputs, "rate")) else []),
        *_ratios(found),
        *_wide(inputs, found),
    ]


def optimize_headline(found: Optimum) -> str:
    """The answer in a sentence: the cheapest settings, what they cost, and against what there is now."""
    best = found.best
    if not best.result.capacity.bound:
        return f"Interrupted: of the finalists measured so far none meets {limits_words(found.limits)}."
    settings = f"Cheapest within {limits_words(found.limits)}: {finalist_words(best)}"
    return f"{settings}: {cost_words(found, best.gpu_seconds)} per million output tokens{_against_own(found)}."


def short_words(one: Finalist) -> str:
    """``TP 1, schedule 4/2/1, max_num_seqs 256, token budget 8192``."""
    drafts = short_arm_words(one.arm)
    return described(one.at, f"drafts {drafts}" if isinstance(one.arm.policy, StaticPolicy | None) else drafts)


def finalist_words(one: Finalist) -> str:
    """``TP 1, 3 draft tokens, max_num_seqs 256, token budget 8192``."""
    policy = one.arm.policy
    if isinstance(policy, SchedulePolicy) and policy.table:
        return described(one.at, ranges_words(policy.rows))
    return described(one.at, drafting(one.inputs.scenario, one.arm, "no speculation"))


def short_arm_words(arm: Arm) -> str:
    """``none``, ``3``, ``schedule 4/2/1``, ``goodput 3``: as tables and axes call it."""
    match arm.policy:
        case None:
            return "none"
        case StaticPolicy():
            return str(arm.num_draft_tokens)
        case SchedulePolicy():
            return f"schedule {'/'.join(str(row.num_draft_tokens) for row in arm.policy.rows)}"
        case _:
            return f"{arm.policy.kind} {arm.num_draft_tokens}"


def cost_words(found: Optimum, gpu_seconds: float) -> str:
    """``$0.0365``, or ``52.6 GPU-seconds`` without a price."""
    if not math.isfinite(gpu_seconds):
        return ""
    cost = plain(found.cost(gpu_seconds), 3)
    return f"{cost} GPU-seconds" if found.price is None else f"${cost}"


def less(ratio: Interval, resolution: float) -> str:
    """How a cost compares with another: ``16.2 % [15.7, 16.6] below``, or that the two are not distinguishable.

    They are not where the interval holds 1; where it does not, but reaches within what the grid of rates resolves, the
    difference is no more than that.
    """
    if ratio.low <= 1 <= ratio.high:
        return f"not distinguishable ({over_one(ratio)}) from"
    if ratio.low <= 1 + resolution and ratio.high >= 1 - resolution:
        side = "below" if ratio.high < 1 else "above"
        return (
            f"{side} by no more than the grid of rates resolves ({over_one(ratio)}, steps of {100 * resolution:.2g} %)"
        )
    if ratio.high < 1:
        return f"{percents(1 - ratio.estimate, 1 - ratio.high, 1 - ratio.low)} below"
    return f"{percents(ratio.estimate - 1, ratio.low - 1, ratio.high - 1)} above"


def _against_own(found: Optimum) -> str:
    own, best = found.own, found.best
    if found.own_reason:
        return "; the scenario as it stands cannot run"
    if own is None or own is best:
        return "" if own is None else ", the scenario as it stands"
    ratio = best.cost_over(own)
    if ratio is None:
        return "; the scenario as it stands meets the limits at no rate"
    if own.settings is None and own.mean_gpu_seconds < best.mean_gpu_seconds:
        cost = cost_words(found, own.gpu_seconds)
        return f"; the scenario as it stands is not among the combinations and costs less ({cost})"
    cost = cost_words(found, own.gpu_seconds)
    return f", {less(ratio, found.resolution)} the scenario as it stands at mean rates ({cost})"


def _binding(found: Optimum) -> Iterator[str]:
    best = found.best
    if best.result.bottleneck:
        rate = plain(best.result.capacity.bound, 3)
        yield f"A replica then serves {rate} requests/s; {binding_words(found.limits, best.result)}."


def _runner_up(found: Optimum) -> Iterator[str]:
    other = found.runner_up
    if other is None:
        return
    ratio = found.best.cost_over(other)
    against = f"; the cheapest is {less(ratio, found.resolution)} it at mean rates" if ratio else ""
    yield f"Runner-up: {finalist_words(other)}: {cost_words(found, other.gpu_seconds)}{against}."


def _no_difference(found: Optimum) -> Iterator[str]:
    """Limits with which the runs of the cheapest were the same."""
    settings, same = found.best.settings, found.same_as_best()
    if settings is None or not same:
        return
    parts = []
    for name in ("max_num_seqs", "token_budget"):
        values = sorted({getattr(one, name) for one in (settings, *same)})
        if len(values) > 1:
            parts.append(f"{NAMES[name]} {', '.join(map(str, values[:-1]))} or {values[-1]}")
    if parts:
        yield f"Its short runs were the same with {' and '.join(parts)}: these limits are not reached."


def _search(found: Optimum) -> Iterator[str]:
    """What was tried, and on which seeds figures rest."""
    left = len(found.barred)
    can = f"{found.space.size - left:,} of {plural(found.space.size, 'combination')} can run"
    if not found.trials:
        yield f"{can}; all of these were measured as by specsim plan."
    else:
        number = len(found.trials)
        how = f"{number} that optuna proposed" if found.sampled else f"all {number}"
        yield f"{can}; short runs measured {how}."
    if found.trials and found.finalists:
        own = ", including the scenario as it stands," if found.own else ""
        finalists = plural(len(found.finalists), "finalist")
        yield f"Figures of the {finalists}{own} come from the seeds of specsim plan, which the search did not use."
    if found.sampled:
        yield "The last table says little about values tried in few combinations."
    if found.interrupted:
        yield "Interrupted: combinations not measured may be cheaper."


def _barred(found: Optimum) -> Iterator[str]:
    reasons = found.reasons()
    for reason, number in reasons[:MOST_REASONS]:
        yield f"Left out {plural(number, 'combination')}: {reason}."
    if len(reasons) > MOST_REASONS:
        rest = sum(number for _, number in reasons[MOST_REASONS:])
        yield f"Left out {rest:,} more for {len(reasons) - MOST_REASONS} other reasons; see optimize.csv."


def _ratios(found: Optimum) -> Iterator[str]:
    yield (
        "Costs are at the lower bounds; ranks and ratios compare mean rates, paired by seed, with 95 % intervals; "
        f"rates lie on a grid of {100 * found.resolution:.2g} %. The cheapest is chosen on these same figures, so it "
        "looks better than it is, by no more than the interval."
    )
    if found.price is None:
        yield "No price is given, so costs are GPU-seconds; give the price of a GPU-hour with --price."


def _wide(inputs: Inputs, found: Optimum) -> Iterator[str]:
    plan, capacity = inputs.scenario.plan or Plan(), found.best.result.capacity
    if capacity.over(plan.width) > 1:
        yield (
            f"The mean rate of the cheapest is known only to ±{capacity.half_width:.1%} with the longest runs allowed; "
            f"{TO_NARROW}."
        )


def _only_rough(found: Optimum) -> str:
    """What is known without finalists."""
    if not found.ranked:
        return "Interrupted: no combination measured so far meets the limits."
    first = found.ranked[0]
    return (
        f"Interrupted before the finalists were measured: the cheapest of {len(found.trials)} short runs so far is "
        f"{described(first.settings[:3], short_arm_words(first.arm))}: about "
        f"{cost_words(found, first.gpu_seconds)} per million output tokens."
    )


def vllm_flags(one: Finalist, checkpoint: str | None = None) -> str:
    """The settings as vLLM's flags; what the search leaves alone is not among them, but for pipeline stages.

    Args:
        one: what to set.
        checkpoint: the drafter's, as the engine is to load it; by default as the scenario calls it.
    """
    deployment, (places, budget) = one.inputs.scenario.deployment, one.limits
    flags = [f"--tensor-parallel-size {deployment.tensor_parallel}"]
    if deployment.pipeline_parallel > 1:
        flags.append(f"--pipeline-parallel-size {deployment.pipeline_parallel}")
    flags += [f"--max-num-seqs {places}", f"--max-num-batched-tokens {budget}"]
    table, drafter = _as_table(one), one.inputs.scenario.speculation.drafter
    if table is not None:
        own = checkpoint_of(drafter)
        flags.append(vllm_setting(drafter, table, own and (checkpoint or own), places).text)
    return " ".join(flags)


def vllm_text(one: Finalist, checkpoint: str | None = None) -> str:
    """The flags under a heading, which says what they cannot."""
    policy, own = one.arm.policy, checkpoint_of(one.inputs.scenario.speculation.drafter)
    heading = "# vLLM"
    if policy and _as_table(one) is None:
        heading += f" (no setting for draft lengths by {policy.kind}: speculation is left out)"
    elif policy and own and checkpoint is None:
        heading += f" ({own} is a placeholder; name your drafter's checkpoint with --checkpoint)"
    return f"{heading}\n{vllm_flags(one, checkpoint)}"


def _as_table(one: Finalist) -> SchedulePolicy | None:
    """The policy as a table of draft lengths by batch, where it is one that drafts."""
    match one.arm.policy:
        case StaticPolicy(num_draft_tokens=length):
            return SchedulePolicy(kind="schedule", table=(ScheduleRow(batch=(1, None), num_draft_tokens=length),))
        case SchedulePolicy() as schedule if all(row.context == (0, None) for row in schedule.rows):
            return schedule
        case _:
            return None
