"""Who is cheapest within the limits, in words."""

from __future__ import annotations

from specsim.analysis.intervals import Interval
from specsim.reporting.intervals import plain
from specsim.studies.compare.alike import share_arrivals
from specsim.studies.compare.ranking import Offer, Ranking, extra_cost
from specsim.studies.compare.run import Comparison, Subject
from specsim.studies.plan.run import ArmResult
from specsim.studies.plan.text import arm_words, limits_words


def ranking_answer(comparison: Comparison, ranked: Ranking) -> str:
    """Who is cheapest within the limits, and how far behind the next is."""
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
    return f"{offer.subject.name} {arm_words(offer.subject.inputs.scenario, offer.result)}"


def _value(ranked: Ranking, offer: Offer) -> str:
    serving, hourly = offer.plan.serving(offer.result), offer.dollars_per_hour
    if serving is not None and ranked.same_demand and ranked.basis in ("dollars per hour", "GPUs"):
        gpus = f"{serving.gpus:,} GPU{'' if serving.gpus == 1 else 's'}"
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
        return "no other scenario that was measured meets them"
    best, second = ranked.offers[:2]
    extra = extra_cost(second, best)
    assert extra is not None  # both serve something
    unit = "a request" if share_arrivals(second.subject.inputs, best.subject.inputs) else "an output token"
    verb, what = ("costs", "") if ranked.basis.startswith("dollars") else ("takes", " GPU time")
    difference = f"{verb} {more_words(extra)}{what} for {unit}"
    if ranked.basis in ("dollars per hour", "GPUs"):
        difference = f"takes {_value(ranked, second)}, and fully used {difference}"
    return f"runner-up {offer_words(second)} {difference}{_not_told_apart(extra)}"


def more_words(ratio: Interval) -> str:
    """``12 % [9, 15] more``: what a ratio is above 1, or below."""
    if ratio.high < 1:
        estimate, low, high = 1 - ratio.estimate, 1 - ratio.high, 1 - ratio.low
    else:
        estimate, low, high = ratio.estimate - 1, ratio.low - 1, ratio.high - 1
    return f"{_interval((estimate, low, high), '')} {'less' if ratio.high < 1 else 'more'}"


def _not_told_apart(ratio: Interval) -> str:
    return ", which is not told apart" if ratio.low <= 1 <= ratio.high else ""


def extra_cell(ratio: Interval) -> str:
    """``+12.0 % [+9.1, +15.2]``: the same in a table."""
    return _interval((ratio.estimate - 1, ratio.low - 1, ratio.high - 1), "+")


def _interval(shares: tuple[float, float, float], sign: str) -> str:
    """Percentages, with a digit after the point unless they are large; no sign before a 0."""
    digits = 0 if max(map(abs, shares)) >= 1 else 1
    texts = [f"{100 * share:{sign}.{digits}f}" for share in shares]
    estimate, low, high = (f"{0:.{digits}f}" if float(text) == 0 else text for text in texts)
    return f"{estimate} % [{low}, {high}]"


def is_best(ranked: Ranking | None, subject: Subject, result: ArmResult) -> bool:
    """Whether an arm is what its scenario offers."""
    return ranked is not None and any(offer.subject is subject and offer.result is result for offer in ranked.offers)
