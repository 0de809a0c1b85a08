"""What a person reads of a search for the cheapest settings: the answer, and what it must be read with."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.inputs.models.plan import Plan
from specsim.inputs.models.policy import StaticPolicy
from specsim.inputs.models.schedule import SchedulePolicy
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.intervals import plain
from specsim.reporting.wording import policy_words
from specsim.studies.decide.text import ranges_words
from specsim.studies.optimize.optimum import Finalist, Optimum
from specsim.studies.optimize.wording import NAMES, cost_words, less, short_arm_words
from specsim.studies.plan.text import binding_words, bound_sentences, limits_words

MOST_REASONS = 4  # why combinations can never run; all are in the table of trials


def optimize_sentences(inputs: Inputs, found: Optimum) -> list[str]:
    """The answer, and what it must be read with."""
    if not found.finalists:
        return [_only_rough(found), *_search(found), *_barred(found)]
    best = found.best
    return [
        optimize_answer(found),
        *_binding(found),
        *_runner_up(found),
        *_no_difference(found),
        *_search(found),
        *_barred(found),
        *bound_sentences(inputs.scenario, best.result.capacity),
        *_ratios(found),
        *_wide(inputs, found),
    ]


def optimize_answer(found: Optimum) -> str:
    """The answer in a sentence: the cheapest settings, what they cost, and against what there is now."""
    best = found.best
    if not best.result.capacity.bound:
        return f"Interrupted: of the finalists measured so far none meets {limits_words(found.limits)}."
    settings = f"Cheapest within {limits_words(found.limits)}: {finalist_words(best)}"
    return f"{settings}: {cost_words(found, best.gpu_seconds)} per million output tokens{_against_own(found)}."


def short_words(one: Finalist) -> str:
    """``TP 1, schedule 4/2/1, max_num_seqs 256, token budget 8192``."""
    places, budget = one.limits
    group = one.inputs.scenario.deployment.tensor_parallel
    drafts = short_arm_words(one.arm)
    how = f"drafts {drafts}" if isinstance(one.arm.policy, StaticPolicy | None) else drafts
    return f"TP {group}, {how}, max_num_seqs {places}, token budget {budget}"


def finalist_words(one: Finalist) -> str:
    """``TP 1, 3 draft tokens, max_num_seqs 256, token budget 8192``."""
    places, budget = one.limits
    group = one.inputs.scenario.deployment.tensor_parallel
    return f"TP {group}, {_arm_words(one)}, max_num_seqs {places}, token budget {budget}"


def _arm_words(one: Finalist) -> str:
    policy = one.arm.policy
    if policy is None:
        return "no speculation"
    if isinstance(policy, SchedulePolicy) and policy.table:
        return ranges_words(policy.rows)
    return policy_words(one.inputs.scenario)


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
        return f"; the scenario as it stands, which is none of these combinations, costs less ({cost})"
    return f", {less(ratio, found.resolution)} the scenario as it stands ({cost_words(found, own.gpu_seconds)})"


def _binding(found: Optimum) -> Iterator[str]:
    best = found.best
    if best.result.pressure:
        rate = plain(best.result.capacity.bound, 3)
        yield f"There a replica serves {rate} requests/s; {binding_words(found.limits, best.result)}."


def _runner_up(found: Optimum) -> Iterator[str]:
    other = found.runner_up
    if other is None:
        return
    ratio = found.best.cost_over(other)
    against = f"; the cheapest is {less(ratio, found.resolution)} it" if ratio else ""
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
        yield f"Its short runs were the same with {' and '.join(parts)}: it does not come to these limits."


def _search(found: Optimum) -> Iterator[str]:
    """What was tried, and on which seeds figures rest."""
    left = len(found.barred)
    can = f"Of {_counted(found.space.size, 'combination')} {f'{left:,} can never run' if left else 'all can run'}"
    if not found.trials:
        yield f"{can}; {'the others' if left else 'they'} were measured as specsim plan measures its arms."
    else:
        how = "proposed by optuna" if found.sampled else "every one of the others" if left else "every one"
        yield f"{can}; {len(found.trials)} were measured by short runs, {how}."
    if found.trials and found.finalists:
        own = ", the scenario as it stands among them," if found.own else ""
        finalists = _counted(len(found.finalists), "finalist")
        yield f"Figures of the {finalists}{own} come from the seeds of specsim plan, which the search did not use."
    if found.sampled:
        yield "Of a value that was tried in few combinations, the last table says little."
    if found.interrupted:
        yield "Interrupted: what was not measured may be cheaper."


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _barred(found: Optimum) -> Iterator[str]:
    reasons = found.reasons()
    for reason, number in reasons[:MOST_REASONS]:
        yield f"Left out {_counted(number, 'combination')}: {reason}."
    if len(reasons) > MOST_REASONS:
        rest = sum(number for _, number in reasons[MOST_REASONS:])
        yield f"Left out {rest:,} more for {len(reasons) - MOST_REASONS} other reasons; optimize.csv has them."


def _ratios(found: Optimum) -> Iterator[str]:
    yield (
        "Costs are those at the lower bounds; ranks and ratios are of mean rates, paired by seed, with 95 % intervals, "
        f"and rates lie on a grid of {100 * found.resolution:.2g} %. Which finalist is the cheapest is read off these "
        "very figures, so it looks better than it is, by no more than the interval."
    )
    if found.price is None:
        yield "No price is stated, so costs are GPU-seconds; give that of a GPU for an hour with --price."


def _wide(inputs: Inputs, found: Optimum) -> Iterator[str]:
    plan, capacity = inputs.scenario.plan or Plan(), found.best.result.capacity
    if capacity.over(plan.width) > 1:
        yield (
            f"The mean rate of the cheapest is known to ±{capacity.half_width:.1%} only, with runs as long as they may "
            "be; raise plan.most_requests or plan.seeds, or ask for less with plan.width."
        )


def _only_rough(found: Optimum) -> str:
    """What is known without finalists."""
    if not found.ranked:
        return "Interrupted: no combination measured so far meets the limits."
    first = found.ranked[0]
    group, places, budget, *_ = first.settings
    return (
        f"Interrupted before the finalists were measured: by short runs the cheapest of {len(found.trials)} so far is "
        f"TP {group}, {short_arm_words(first.arm)}, max_num_seqs {places}, token budget {budget}: about "
        f"{cost_words(found, first.gpu_seconds)} per million output tokens."
    )
