"""What a person reads of a search for the cheapest settings: the answer, what it must be read with, and two tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table

from specsim.analysis.intervals import Interval
from specsim.planner.optimum import Finalist, Optimum
from specsim.planner.plan_arms import Arm
from specsim.planner.space import Settings
from specsim.report.decision import ranges_words
from specsim.report.intervals import plain
from specsim.report.plan import binding_words, bound_sentences, limits_words
from specsim.report.text import add_rows
from specsim.report.words import policy_words
from specsim.schema.load import Inputs
from specsim.schema.optimize import WITHOUT_LENGTH
from specsim.schema.plan import Plan
from specsim.schema.policy import StaticPolicy
from specsim.schema.schedule import SchedulePolicy

MOST_REASONS = 4  # why combinations can never run; all are in the table of trials
NAMES = {"tensor_parallel": "TP", "max_num_seqs": "max_num_seqs", "token_budget": "token budget"}


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


def _against_own(found: Optimum) -> str:
    own, best = found.own, found.best
    if found.own_reason:
        return "; the scenario as it stands cannot run"
    if own is None or own is best:
        return "" if own is None else ", the scenario as it stands"
    ratio = best.cost_over(own)
    if ratio is None:
        return "; the scenario as it stands meets the limits at no rate"
    if own.settings is None and own.gpu_seconds < best.gpu_seconds:
        cost = cost_words(found, own.gpu_seconds)
        return f"; the scenario as it stands, which is none of these combinations, costs less ({cost})"
    return f", {less(ratio, found.resolution)} the scenario as it stands ({cost_words(found, own.gpu_seconds)})"


def less(ratio: Interval, resolution: float) -> str:
    """How a cost lies to another: ``16.2 % [15.7, 16.6] below``, or that they cannot be told apart."""
    if ratio.low <= 1 + resolution and ratio.high >= 1 - resolution:
        ends = f"{_signed(ratio.estimate)} % [{_signed(ratio.low)}, {_signed(ratio.high)}]"
        return f"not to be told apart ({ends}) from"
    if ratio.high < 1:
        below = [f"{100 * (1 - value):.1f}" for value in (ratio.estimate, ratio.high, ratio.low)]
        return f"{below[0]} % [{below[1]}, {below[2]}] below"
    above = [f"{100 * (value - 1):.1f}" for value in (ratio.estimate, ratio.low, ratio.high)]
    return f"at mean rates {above[0]} % [{above[1]}, {above[2]}] above"


def _signed(ratio: float) -> str:
    text = f"{100 * (ratio - 1):+.1f}"
    return "0.0" if float(text) == 0 else text


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
        "Costs are those at the lower bounds; ratios are of mean rates, paired by seed, with 95 % intervals, and "
        f"rates lie on a grid of {100 * found.resolution:.2g} %. Which finalist is the cheapest is read off these very "
        "figures, so it looks better than it is, by no more than the interval."
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


def finalists_table(found: Optimum) -> Table:
    """A row for each finalist, the cheapest first."""
    unit = "GPU-s/Mtoken" if found.price is None else "$/Mtoken"
    table = Table("TP", "drafts", "seqs", "budget", "requests/s", unit, "over the cheapest", "binds", "short of")
    for column in (*table.columns[:1], *table.columns[2:7]):
        column.justify = "right"
    for column in table.columns[1:7]:
        column.no_wrap = True
    return add_rows(table, (_row(found, one) for one in found.finalists))


def _row(found: Optimum, one: Finalist) -> list[str]:
    places, budget = one.limits
    short, capacity = one.result.pressure, one.result.capacity
    binds = "no rate" if short is None else "saturation"
    if short and capacity.binding is not None:
        limit = found.limits[capacity.binding]
        binds = f"{limit.latency.upper()} p{limit.percentile}"
    ratio = one.cost_over(found.best)
    over = ""
    if ratio and one is not found.best:
        over = f"{_signed(ratio.estimate)} % [{_signed(ratio.low)}, {_signed(ratio.high)}]"
    return [
        str(one.inputs.scenario.deployment.tensor_parallel),
        short_arm_words(one.arm) + (" (as it stands)" if one.as_it_stands else ""),
        str(places),
        str(budget),
        plain(capacity.bound, 3),
        plain(found.cost(one.gpu_seconds), 3) if capacity.bound else "",
        over,
        binds,
        f"{short.resource} {short.utilisation:.0%}" if short else "",
    ]


def worth_table(found: Optimum) -> Table:
    """What each value costs at best, all else free: over the cheapest of the short runs."""
    table = Table("setting", "value", "tried", "at best over the cheapest")
    for column in table.columns[1:]:
        column.justify = "right"
    return add_rows(table, _worth_rows(found))


def _worth_rows(found: Optimum) -> Iterator[list[str]]:
    least = found.ranked[0].gpu_seconds
    for name, values in setting_values(found):
        for value in values:
            costs = [one.gpu_seconds for one in found.trials if value_of(one.settings, name) == value]
            if not costs:
                continue
            best = min(costs)
            over = "no rate" if math.isinf(best) else f"{_signed(best / least)} %"
            yield [name, value, str(len(costs)), over]


def setting_values(found: Optimum) -> list[tuple[str, list[str]]]:
    """Name of each setting → its values in order, of those that have more than one."""
    numbers = [(words, [str(value) for value in getattr(found.space, name)]) for name, words in NAMES.items()]
    kinds = dict.fromkeys(_policy_of(one) for one in found.space.combinations())
    return [(name, values) for name, values in (*numbers, ("drafts", list(kinds))) if len(values) > 1]


def value_of(settings: Settings, name: str) -> str:
    """The value of one of ``setting_values``."""
    if name == "drafts":
        return _policy_of(settings)
    return str(next(getattr(settings, field) for field, words in NAMES.items() if words == name))


def _policy_of(settings: Settings) -> str:
    if settings.policy in WITHOUT_LENGTH:
        return settings.policy
    return (
        str(settings.num_draft_tokens)
        if settings.policy == "static"
        else f"{settings.policy} {settings.num_draft_tokens}"
    )
