"""What a person reads of a comparison: who is cheapest, who is on the frontier, and what the numbers rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from specsim.analysis.intervals import Interval
from specsim.inputs.models.workload import Replay
from specsim.inputs.read.scenario import Inputs
from specsim.reporting.inputs import source_sentences
from specsim.reporting.intervals import percents, plain
from specsim.reporting.traffic import lengths_words
from specsim.reporting.wording import from_to, listed
from specsim.studies.compare.alike import Unlike, share_arrivals, share_requests, unlike
from specsim.studies.compare.frontier import Cell, frontier, rivals_of
from specsim.studies.compare.ranking import Offer, Ranking, extra_cost
from specsim.studies.compare.run import Comparison
from specsim.studies.plan.text import arm_words, floor_sentences, limits_words, wide_sentences
from specsim.units import plural

MOST_STRETCHES = 4
"""Most stretches of the frontier, and most ties, that a sentence names."""


def comparison_sentences(comparison: Comparison, cells: Sequence[Cell], ranked: Ranking | None) -> list[str]:
    """The answer, and what it must be read with."""
    return [
        *([ranking_sentence(comparison, ranked)] if ranked else []),
        frontier_sentence(cells),
        *_left_out(comparison),
        *_basis(comparison, ranked),
        *_unlike(comparison),
        *_pairs(comparison, ranked),
        *_plans(comparison),
        *_ties(cells),
        *_waiting(comparison, cells),
        *_notes(comparison),
    ]


def ranking_sentence(comparison: Comparison, ranked: Ranking) -> str:
    """What is cheapest within the limits, and how far behind the next is."""
    best, within = ranked.best, f"within {limits_words(comparison.limits)}"
    demand = best.plan.demand
    serving = f" for {plain(demand.mean, 3)} requests/s" if ranked.same_demand and demand else ""
    what = {
        "dollars per hour": f"Cheapest{serving}",
        "dollars per token": "Cheapest",
        "GPUs": f"Fewest GPUs{serving}",
        "tokens per GPU": "Most output tokens/s per GPU",
    }[ranked.basis]
    return f"{what} {within}: {offer_words(best)}, {_value(ranked, best)}; {_runner_up(ranked)}."


def offer_words(offer: Offer) -> str:
    """``h200 with 3 draft tokens``."""
    return f"{offer.subject.name} {arm_words(offer.scenario, offer.result.arm)}"


def _value(ranked: Ranking, offer: Offer) -> str:
    serving, hourly = offer.serving, offer.dollars_per_hour
    if serving is not None and ranked.same_demand and ranked.basis in ("dollars per hour", "GPUs"):
        gpus = plural(serving.gpus, "GPU")
        if hourly is None or serving.dollars_per_million is None:
            return gpus
        average = "" if len(serving.replicas) == 1 else " on average"
        each = f"${plain(serving.dollars_per_million, 3)} per million output tokens"
        return f"{gpus}, ${plain(hourly, 3)} an hour{average}, {each}"
    dollars = offer.plan.dollars_per_million(offer.result)
    if dollars is not None:
        return f"${plain(dollars, 3)} per million output tokens"
    return f"{plain(offer.tokens_per_s_per_gpu, 3)} tokens/s/GPU"


def _runner_up(ranked: Ranking) -> str:
    if len(ranked.offers) == 1:
        return "no other measured scenario meets them"
    best, second = ranked.offers[:2]
    extra = extra_cost(second, best)
    assert extra is not None  # both serve something
    unit = "request" if share_arrivals(second.subject.inputs, best.subject.inputs) else "output token"
    verb, what = ("costs", "") if ranked.basis.startswith("dollars") else ("takes", " GPU time")
    difference = f"{verb} {more_words(extra)}{what} per {unit}"
    if ranked.basis in ("dollars per hour", "GPUs"):
        difference = f"takes {_value(ranked, second)}, and fully used it {difference}"
    return f"runner-up {offer_words(second)} {difference}{_if_not_significant(extra)}"


def more_words(ratio: Interval) -> str:
    """``12 % [9, 15] more``: what a ratio is above 1, or below."""
    if ratio.high < 1:
        return f"{_percents(1 - ratio.estimate, 1 - ratio.high, 1 - ratio.low)} less"
    return f"{_percents(ratio.estimate - 1, ratio.low - 1, ratio.high - 1)} more"


def extra_words(ratio: Interval) -> str:
    """``+12.0 % [+9.1, +15.2]``: the same in a table."""
    return _percents(ratio.estimate - 1, ratio.low - 1, ratio.high - 1, "+")


def _percents(estimate: float, low: float, high: float, sign: str = "") -> str:
    """With a digit after the point, unless they are large."""
    return percents(estimate, low, high, sign, digits=0 if max(abs(estimate), abs(low), abs(high)) >= 1 else 1)


def _if_not_significant(ratio: Interval) -> str:
    return " (not significant)" if ratio.low <= 1 <= ratio.high else ""


def frontier_sentence(cells: Sequence[Cell], most: int = MOST_STRETCHES) -> str:
    """What has the most tokens/s/GPU at which tokens/s/user, the fastest for users first; at most ``most`` of them."""
    best = frontier(cells)
    if not best:
        return "Outputs have one token, so there is no tokens/s/user and no frontier."
    stretches = [list(run) for _, run in groupby(best, key=lambda cell: (cell.subject.name, cell.arm.name))]
    parts = [f"{cell_words(run[0])} {_stretch(run)}" for run in stretches[:most]]
    if len(stretches) > most:
        parts.append(f"and {len(stretches) - most} more")
    return f"Frontier of tokens/s/user and tokens/s/GPU: {'; '.join(parts)}."


def _stretch(run: Sequence[Cell]) -> str:
    high, low = (f"{cell.per_user.mean():,.0f}" for cell in (run[0], run[-1]))
    batches = [cell.batch for cell in run]
    return f"at {from_to(high, low)} tokens/s/user (batch {from_to(batches[0], batches[-1])})"


def cell_words(cell: Cell) -> str:
    """``h200 with 3 draft tokens``."""
    return f"{cell.subject.name} {arm_words(cell.subject.inputs.scenario, cell.arm)}"


def _left_out(comparison: Comparison) -> Iterator[str]:
    """Scenarios and arms that cannot run, or cannot meet the limits, with the reason."""
    if comparison.missing:
        yield f"Interrupted; not measured: {', '.join(comparison.missing)}."
    for subject in comparison.subjects:
        reasons: dict[str, list[str]] = {}
        for arm, problems in subject.never.items():
            for problem in problems:
                reasons.setdefault(problem.remedy, []).append(arm)
        for reason, arms in reasons.items():
            which = "" if not subject.arms else f" ({', '.join(arms)})"
            yield f"{subject.name}{which} can never run: {reason}."
        for problem in subject.missed:
            what = f" {problem.path} of {problem.value}" if problem.value else " the limits"
            yield f"{subject.name} cannot meet{what}: {problem.remedy}."


def _basis(comparison: Comparison, ranked: Ranking | None) -> Iterator[str]:
    """Why nothing is said of cost, or not all that could be."""
    if not comparison.limits:
        yield ("No latency limits, so no costs: add --slo 'ttft:200 tpot:20' (ms), or plan.slo to the scenarios.")
    if ranked is None:
        return
    if not ranked.basis.startswith("dollars"):
        yield (
            "Costs need the price of a GPU-hour: --price 2.5, or --price h100-sxm=2.5 by device."
            if ranked.one_device
            else "Devices differ and cannot be ranked by cost without prices of a GPU-hour (--price h100-sxm=2.5, by "
            "device)."
        )
    if not ranked.same_demand:
        given = [offer for offer in ranked.offers if offer.plan.demand is not None]
        what = "Scenarios have different rates" if given else "No rate to serve is given"
        yield f"{what}, so GPUs and dollars an hour are not computed; give one rate for all with --rate."


def traffic_words(inputs: Inputs) -> str:
    """``100 tokens in, 256 out, decode only``."""
    workload = inputs.scenario.workload
    return f"{lengths_words(workload)}{', decode only' if workload.decode_only else ''}"


def unlike_words(found: Unlike) -> str:
    """``seed (1: a; 2: b)``."""
    if len(found.values) == 1:
        return f"{found.what} (in detail)"
    values = "; ".join(f"{value}: {', '.join(names)}" for value, names in found.values.items())
    return f"{found.what} ({values})"


def _unlike(comparison: Comparison) -> Iterator[str]:
    inputs = [subject.inputs for subject in comparison.subjects]
    found = unlike(inputs, traffic_words)
    named = [unlike_words(each) for each in found if comparison.limits or each.what != "arrivals"]
    if named:
        yield f"Caution: the scenarios also differ in {'; '.join(named)}."


def _pairs(comparison: Comparison, ranked: Ranking | None) -> Iterator[str]:
    """Whether differences are of pairs."""
    first, *others = [subject.inputs for subject in comparison.subjects]
    if not others:
        return
    share = share_arrivals if ranked else share_requests
    apart = [other.scenario.name for other in others if not share(first, other)]
    if not apart:
        yield (
            "All use the same requests and random numbers, so differences are paired by seed where runs are equally "
            "long; intervals are 95 %."
        )
    else:
        yield (
            f"Requests of {', '.join(apart)} are not those of {first.scenario.name}, so their differences compare "
            "independent samples, not pairs; intervals are 95 %."
        )


def _plans(comparison: Comparison) -> Iterator[str]:
    """What kind of number rates are, and arms whose rate is unknown or no rate at all."""
    planned = [(subject, subject.plan) for subject in comparison.subjects if subject.plan]
    if not planned:
        return
    yield (
        "Rates and what follows from them are lower bounds that 95 % of fresh runs meet (specsim plan); differences "
        "compare means over seeds."
    )
    if any(isinstance(subject.inputs.scenario.workload.load, Replay) for subject, _ in planned):
        yield "Rates of a trace are means over it, replayed faster or slower; the frontier uses its lengths alone."
    for subject, plan in planned:
        scenario = subject.inputs.scenario
        others = [] if subject.missed else list(floor_sentences(scenario, plan))
        for sentence in (*others, *wide_sentences(scenario, plan)):
            yield f"{subject.name}: {sentence}"


def _ties(cells: Sequence[Cell]) -> Iterator[str]:
    """Members of the frontier that do not differ significantly from another arm or scenario."""
    members = [cell for cell in cells if cell.frontier]
    tied = [(cell, rivals_of(cell, cells)) for cell in members]
    named = [
        f"{cell_words(cell)} at batch {cell.batch} from {' and '.join(f'{cell_words(r)} at {r.batch}' for r in rivals)}"
        for cell, rivals in tied
        if rivals
    ]
    if named:
        shown, rest = named[:MOST_STRETCHES], len(named) - MOST_STRETCHES
        more = f"; {rest} more in compare.csv" if rest > 0 else ""
        which = f"{'; '.join(shown)}{more}"
        yield f"{len(named)} of {len(members)} on the frontier do not differ significantly from others: {which}."


def _waiting(comparison: Comparison, cells: Sequence[Cell]) -> Iterator[str]:
    """From which batch on requests wait, which tokens/s/user does not show."""
    parts = []
    for subject in comparison.subjects:
        waiting = [cell for cell in cells if cell.subject is subject and cell.limit]
        if waiting:
            limits = sorted({cell.limit for cell in waiting})
            parts.append(f"{subject.name} from batch {min(cell.batch for cell in waiting)} on ({listed(limits)})")
    if parts:
        yield f"Some requests in flight wait, which tokens/s/user excludes: {', '.join(parts)}."


def _notes(comparison: Comparison) -> Iterator[str]:
    """What the inputs of several scenarios leave open, each once."""
    by_note: dict[str, list[str]] = {}
    for subject in comparison.subjects:
        for note in (*subject.notes, *source_sentences(subject.inputs)):
            by_note.setdefault(note, []).append(subject.name)
        if subject.inputs.scenario.fleet:
            note = "Batches count the whole fleet, tokens/s/GPU all its devices."
            by_note.setdefault(note, []).append(subject.name)
    for note, names in by_note.items():
        yield f"{', '.join(names)}: {note}"
