"""Reads the scenarios of a comparison, under one set of latency limits, with prices and a rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from specsim.errors import Gathered, Problem
from specsim.inputs.models.plan import Limit, Plan, limits_of
from specsim.inputs.read.lists import counts
from specsim.inputs.read.overrides import Option
from specsim.inputs.read.prices import Prices, devices_of, parse_prices, price_of, wrong_devices
from specsim.inputs.read.scenario import Inputs
from specsim.inputs.read.slo import parse_rate, parse_slo
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
    """The scenarios under the options, each with a plan.

    Raises:
        InputError: listing the problems of options and of scenarios, or else those among the scenarios.
    """
    gathered = Gathered()
    variants = gathered.attempt(parse_variants, asked.variants) or []
    prices = (gathered.attempt(parse_prices, asked.prices) if asked.prices else None) or {}
    before = [Option("--batches", "curve.batches", asked.batches, counts)]
    after = [
        Option("--slo", "plan.slo", asked.slo or None, parse_slo),
        Option("--rate", "plan.rate", asked.rate, parse_rate),
        Option("--num-draft-tokens", "plan.num_draft_tokens", asked.num_draft_tokens, counts),
    ]
    loaded = gathered.attempt(load_compared, asked.scenarios, variants, asked.overrides, before, after, ["plan"])
    compared = [_priced(inputs, prices) for inputs in loaded or ()]
    if loaded:
        gathered.problems.extend([*wrong_devices(prices, compared), *_among(compared, asked)])
    gathered.settle()
    return compared


def _priced(inputs: Inputs, prices: Prices) -> Inputs:
    price = price_of(inputs, prices)
    if price is None:
        return inputs
    plan = (inputs.scenario.plan or Plan()).model_copy(update={"price_per_gpu_hour": price})
    return replace(inputs, scenario=inputs.scenario.model_copy(update={"plan": plan}))


def _among(compared: Sequence[Inputs], asked: Asked) -> Iterator[Problem]:
    """Why scenarios cannot be compared with each other."""
    limits: dict[tuple[Limit, ...], list[str]] = {}
    for inputs in compared:
        scenario = inputs.scenario
        limits.setdefault(limits_of(scenario.plan or Plan(), scenario.slo), []).append(scenario.name)
    if len(limits) > 1:
        stated = "; ".join(f"{_words(each)} in {', '.join(names)}" for each, names in limits.items())
        remedy = f"comparing needs one set of limits, but there are several: {stated}; give one with --slo"
        yield Problem("plan.slo", "", "", remedy)
    elif () in limits:
        for option, given in (("--rate", asked.rate), ("--price", asked.prices)):
            if given:
                yield Problem(option, "", "", "needs latency limits; add --slo 'ttft:200 tpot:20'")
    yield from _unpriced(compared)


def _words(limits: Sequence[Limit]) -> str:
    return ", ".join(f"{one.name}:{1e3 * one.seconds:g}" for one in limits) or "none"


def _unpriced(compared: Sequence[Inputs]) -> Iterator[Problem]:
    """Devices without a price where others have one."""
    priced = [bool(inputs.scenario.plan and inputs.scenario.plan.price_per_gpu_hour) for inputs in compared]
    if not any(priced):
        return
    without = [inputs for inputs, has in zip(compared, priced, strict=True) if not has]
    for device in dict.fromkeys(device for inputs in without for device in devices_of(inputs)):
        names = ", ".join(one.scenario.name for one in without if device in devices_of(one))
        remedy = f"others have a price but {device} ({names}) has none; add --price {device}=2.5 or leave all out"
        yield Problem("--price", "", "", remedy)
