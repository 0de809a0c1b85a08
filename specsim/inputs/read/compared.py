"""What is to be compared, as the command line asks: scenarios under one set of limits, with prices and a rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from specsim.errors import Gathered, InputError, Problem
from specsim.inputs.models.plan import Limit, Plan, limits_of
from specsim.inputs.read.plan_options import parse_lengths, parse_slo, with_options
from specsim.inputs.read.prices import devices_of, parse_prices, price_of, wrong_devices
from specsim.inputs.read.scenario import Inputs
from specsim.inputs.read.variants import load_compared, parse_variants


class Asked(NamedTuple):
    """Arguments and options as they were given.

    Attributes:
        scenarios: catalogue names or paths.
        variants: ``name: path=value ...``.
        overrides: ``path=value`` that hold in all.
        slo, rate, prices, num_draft_tokens: of the plans; empty or None for what the scenarios say.
        batches: of the curves, by commas.
    """

    scenarios: Sequence[str]
    variants: Sequence[str] = ()
    overrides: Sequence[str] = ()
    slo: Sequence[str] = ()
    rate: str | None = None
    prices: Sequence[str] = ()
    num_draft_tokens: str | None = None
    batches: str | None = None


def compared_inputs(asked: Asked) -> list[Inputs]:
    """The scenarios with what options say laid over them.

    Raises:
        InputError: listing every problem that can be seen at once: of options, else of scenarios, else among these.
    """
    gathered = Gathered()
    variants = gathered.attempt(parse_variants, asked.variants) or []
    stated: dict[str, Any] = {
        "slo": gathered.attempt(parse_slo, asked.slo) if asked.slo else None,
        "rate": asked.rate,
        "num_draft_tokens": None,
    }
    if asked.num_draft_tokens is not None:
        stated["num_draft_tokens"] = gathered.attempt(parse_lengths, asked.num_draft_tokens)
    prices = (gathered.attempt(parse_prices, asked.prices) if asked.prices else None) or {}
    loaded = gathered.attempt(load_compared, asked.scenarios, variants, asked.overrides, asked.batches) or []
    if not loaded:
        gathered.settle()
    wrong = gathered.problems
    wrong += wrong_devices(prices, loaded)
    found = []
    for inputs in loaded:
        try:
            options = stated | {"price_per_gpu_hour": price_of(inputs, prices)}
            found.append(with_options(inputs, options, limited=False))
        except InputError as error:
            wrong += [_named(problem, inputs) for problem in error.problems]
    wrong += _among(found, asked)
    if wrong:
        raise InputError(dict.fromkeys(wrong))
    return found


def _named(problem: Problem, inputs: Inputs) -> Problem:
    """Of a scenario's file, which several can share, the scenario's name."""
    own = problem.where == str(inputs.files["scenario"])
    return replace(problem, where=inputs.scenario.name) if own else problem


def _among(compared: Sequence[Inputs], asked: Asked) -> Iterator[Problem]:
    """What keeps scenarios from being compared with each other."""
    limits: dict[tuple[Limit, ...], list[str]] = {}
    for inputs in compared:
        scenario = inputs.scenario
        limits.setdefault(limits_of(scenario.plan or Plan(), scenario.slo), []).append(scenario.name)
    if len(limits) > 1:
        stated = "; ".join(f"{_words(each)} in {', '.join(names)}" for each, names in limits.items())
        remedy = f"comparing needs one set of limits, and there are several: {stated}; state it with --slo"
        yield Problem("plan.slo", "", "", remedy)
    elif () in limits:
        for option, given in (("--rate", asked.rate), ("--price", asked.prices)):
            if given:
                yield Problem(option, "", "", "says something only within latency limits; add --slo 'ttft:200 tpot:20'")
    yield from _unpriced(compared)


def _words(limits: Sequence[Limit]) -> str:
    return ", ".join(f"{one.latency}.p{one.percentile}:{1e3 * one.seconds:g}" for one in limits) or "none"


def _unpriced(compared: Sequence[Inputs]) -> Iterator[Problem]:
    """Devices without a price where others have one."""
    priced = [bool(inputs.scenario.plan and inputs.scenario.plan.price_per_gpu_hour) for inputs in compared]
    if not any(priced):
        return
    without = [inputs for inputs, has in zip(compared, priced, strict=True) if not has]
    for device in dict.fromkeys(device for inputs in without for device in devices_of(inputs)):
        names = ", ".join(one.scenario.name for one in without if device in devices_of(one))
        remedy = f"others have a price, and {device} ({names}) has none; add --price {device}=2.5 or leave all out"
        yield Problem("--price", "", "", remedy)
