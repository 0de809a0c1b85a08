"""A plan as it is stated on the command line, laid over that of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from specsim.errors import Gathered, InputError, Problem
from specsim.inputs.checks import contradictions as checks
from specsim.inputs.models.plan import LATENCIES, PERCENTILES, Plan, limits_of
from specsim.inputs.read import problems
from specsim.inputs.read.scenario import Inputs

Block = TypeVar("Block", bound=BaseModel)
DEFAULT_PERCENTILE = 99
OPTIONS = {
    "slo": "--slo",
    "rate": "--rate",
    "price_per_gpu_hour": "--price",
    "policies": "--policies",
    "num_draft_tokens": "--num-draft-tokens",
}


def parse_slo(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """``ttft:200 tpot.p90:20`` as vLLM's `--goodput` has it, in ms → latency → percentile → limit with its unit.

    Raises:
        InputError: listing every entry that is none, with the names that there are.
    """
    found: dict[str, dict[str, str]] = {}
    wrong = []
    for entry in " ".join(texts).replace(",", " ").split():
        name, _, value = entry.partition(":")
        latency, _, percentile = name.lower().partition(".")
        percentile = percentile or f"p{DEFAULT_PERCENTILE}"
        remedy = _remedy(latency, percentile, value)
        if not remedy and percentile in found.get(latency, {}):
            remedy = f"{latency}.{percentile} is stated already; state it once"
        if remedy:
            wrong.append(Problem("--slo", "", repr(entry), remedy))
        found.setdefault(latency, {})[percentile] = f"{value} ms"
    if not (found or wrong):
        wrong.append(
            Problem("--slo", "", repr(" ".join(texts)), "states no limit; write for example 'ttft:200 tpot:20'")
        )
    if wrong:
        raise InputError(wrong)
    return found


def parse_lengths(text: str, option: str = "--num-draft-tokens") -> list[int]:
    """Draft lengths, or what else an option lists, separated by commas.

    Raises:
        InputError: listing every entry that is no whole number.
    """
    entries = [entry.strip() for entry in text.split(",")]
    wrong = [entry for entry in entries if not entry.isdecimal()]
    if wrong:
        remedy = "must be a whole number; write for example 1,3,5"
        raise InputError(Problem(option, "", repr(entry), remedy) for entry in wrong)
    return [int(entry) for entry in entries]


def kinds_of(text: str) -> list[str]:
    """Kinds of policies separated by commas."""
    return [kind.strip() for kind in text.split(",")]


def _remedy(latency: str, percentile: str, value: str) -> str:
    """What is wrong with an entry; nothing where nothing is."""
    known = [f"p{number}" for number in PERCENTILES]
    if latency not in LATENCIES:
        return f"unknown latency; known are {', '.join(LATENCIES)}; write for example ttft:200 or ttft.p90:200 (ms)"
    if percentile not in known:
        return f"unknown percentile; known are {', '.join(known)}; write for example {latency}.p90:200 (ms)"
    try:
        positive = 0 < float(value) < float("inf")
    except ValueError:
        positive = False
    return "" if positive else f"needs a number of ms above 0 after the colon, without unit; write {latency}:200"


def with_texts(
    inputs: Inputs,
    *,
    slo: Sequence[str] | None,
    rate: str | None,
    price: float | None,
    policies: str | None,
    num_draft_tokens: str | None,
) -> Inputs:
    """The inputs with what the command line says of the plan; each None where its option was not given.

    Raises:
        InputError: listing everything that cannot be so, or that there is no limit at all.
    """
    gathered = Gathered()
    stated: dict[str, Any] = {"rate": rate, "price_per_gpu_hour": price}
    if slo:
        stated["slo"] = gathered.attempt(parse_slo, slo)
    if policies is not None:
        stated["policies"] = kinds_of(policies)
    if num_draft_tokens is not None:
        stated["num_draft_tokens"] = gathered.attempt(parse_lengths, num_draft_tokens)
    planned = gathered.attempt(with_options, inputs, stated, limited=not slo)
    gathered.settle()
    assert planned is not None  # nothing was wrong
    return planned


def with_options(inputs: Inputs, options: Mapping[str, Any], *, limited: bool = True) -> Inputs:
    """The inputs with what options say of the plan, in place of what the scenario says.

    Args:
        inputs: the scenario and what it refers to.
        options: field of the plan → its value as a file would state it; None where the option was not given.
        limited: whether it has to have a limit.

    Raises:
        InputError: when a plan cannot be so, or has no limit at all and should.
    """
    scenario = inputs.scenario
    plan = stated_block(Plan, scenario.plan, options, OPTIONS)
    planned = scenario.model_copy(update={"plan": plan})
    wrong = [replace(problem, where=str(inputs.files["scenario"])) for problem in checks.plans(planned)]
    if limited and not limits_of(plan, scenario.slo):
        remedy = "has no limit; add --slo 'ttft:200 tpot:20' (ms), or plan.slo to the scenario"
        wrong.append(Problem(str(inputs.files["scenario"]), "plan.slo", "", remedy))
    if wrong:
        raise InputError(wrong)
    return replace(inputs, scenario=planned)


def stated_block(
    model: type[Block], block: Block | None, options: Mapping[str, Any], names: Mapping[str, str]
) -> Block:
    """A block of a scenario with what options say in place of what it says.

    Args:
        model: of the block.
        block: the scenario's; None where it has none.
        options: field → its value as a file would state it; None where the option was not given.
        names: field → the option that states it.

    Raises:
        InputError: when it cannot be so.
    """
    given = {name: value for name, value in options.items() if value is not None}
    stated = (block or model()).model_dump(mode="json", exclude_none=True)
    try:
        return model.model_validate(stated | given)
    except ValidationError as error:
        found = problems.from_validation(error, model)
        raise InputError(problems.of_options(found, names, model.__name__.lower())) from None
