"""Checks of acceptance by domain: that of all requests, of classes of a mixture and of a trace's domains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from specsim.errors import Problem, in_scenario
from specsim.inputs.models.acceptance import Acceptance, ProfileAcceptance, StatedAcceptance
from specsim.inputs.models.lengths import TraceLengths
from specsim.inputs.models.policy import ConfidencePolicy, OraclePolicy
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.speculation import Speculation
from specsim.inputs.models.token_sources import NgramModels, ReplayAcceptance
from specsim.inputs.models.variation import HardStretches


class Domain(NamedTuple):
    """Requests with the same acceptance and the same temperature.

    Attributes:
        path: of the acceptance in the scenario.
        acceptance, temperature: theirs.
    """

    path: str
    acceptance: Acceptance
    temperature: float


def domains(scenario: Scenario) -> list[Domain]:
    """The domains of a scenario, in order: requests without one of their own, classes with one, those of the trace."""
    speculation, workload = scenario.speculation, scenario.workload
    first = Domain("speculation.acceptance", speculation.acceptance, speculation.temperature)
    classes = (
        Domain(
            f"workload.mixture[{i}].acceptance" if part.acceptance else first.path,
            part.acceptance or first.acceptance,
            first.temperature if part.temperature is None else part.temperature,
        )
        for i, part in enumerate(workload.mixture)
        if part.is_domain
    )
    traced = (
        Domain(f"workload.domains[{number}]", acceptance, first.temperature)
        for number, acceptance in sorted(
            workload.domains.items()
        )  # uniforms go by position; the order of the keys is free
    )
    return [first, *classes, *traced]


def contradictions(scenario: Scenario) -> Iterator[Problem]:
    """Contradictions of acceptance by domain, with paths inside the scenario; the caller fills in ``where``."""
    yield from _of_chains(scenario)
    yield from _vocabularies(scenario)
    yield from _texts(scenario)
    yield from dict.fromkeys(_recorded(domain) for domain in domains(scenario) if _is_sampled_recording(domain))
    found = {domain.path: domain for domain in reversed(domains(scenario))}  # an acceptance that many have, once
    for domain in reversed(found.values()):
        if isinstance(domain.acceptance, StatedAcceptance):
            yield from _figures(domain.path, domain.acceptance)
        yield from _varying(domain.path, domain.acceptance, scenario.speculation)


def _of_chains(scenario: Scenario) -> Iterator[Problem]:
    workload, speculation = scenario.workload, scenario.speculation
    for i, part in enumerate(workload.mixture):
        for name, what in (("acceptance", "an acceptance"), ("temperature", "a temperature")):
            if speculation.tree is not None and getattr(part, name) is not None:
                remedy = f"only chains have {what} by class; leave it out, or take the tree out"
                yield Problem("", f"workload.mixture[{i}].{name}", "", remedy)
        if speculation.verifier == "greedy" and part.temperature:
            remedy = "the greedy verifier is lossless only at temperature 0; write 'verifier: token', or leave it out"
            yield in_scenario(f"workload.mixture[{i}].temperature", part.temperature, remedy)
    if workload.domains and speculation.tree is not None:
        yield Problem("", "workload.domains", "", "only chains have an acceptance by domain; take the tree out")
    if workload.domains and not isinstance(workload.lengths, TraceLengths):
        remedy = "domains come from a column of a trace; write lengths: {kind: trace, file: ...}, or leave them out"
        yield Problem("", "workload.domains", "", remedy)


def _vocabularies(scenario: Scenario) -> Iterator[Problem]:
    made_up = {path: stated for path, stated, _ in domains(scenario) if isinstance(stated, StatedAcceptance)}
    for path, acceptance in made_up.items():
        first, due = next((other, stated.vocabulary) for other, stated in made_up.items())
        if acceptance.vocabulary != due:
            yield in_scenario(
                f"{path}.vocabulary", acceptance.vocabulary, f"differs from {first}.vocabulary; write {due}"
            )


def _figures(path: str, acceptance: StatedAcceptance) -> Iterator[Problem]:
    mean = acceptance.first_overlap
    most = math.sqrt(mean * (1 - mean))
    if acceptance.spread is not None and acceptance.spread >= most:
        remedy = f"acceptance with a mean of {mean:g} has a standard deviation below {most:.4g}; write a smaller one"
        yield in_scenario(f"{path}.spread", acceptance.spread, remedy if most else _no_room(mean))
    if acceptance.hard_stretches is not None:
        yield from _stretches(f"{path}.hard_stretches.drop", mean, acceptance.hard_stretches)


def _no_room(mean: float) -> str:
    return f"acceptance with a mean of {mean:g} cannot vary; leave it out"


def _stretches(path: str, mean: float, stretches: HardStretches) -> Iterator[Problem]:
    most = min((1 - mean) / stretches.share, mean / (1 - stretches.share))
    if stretches.drop > most * (1 + 1e-9):
        remedy = (
            f"with a mean of {mean:g} and a share of {stretches.share:g}, easy and hard positions lie at most "
            f"{most:.4g} apart, or one of them would be below 0 or above 1; write at most that"
        )
        yield in_scenario(path, stretches.drop, remedy if most else _no_room(mean))


def _texts(scenario: Scenario) -> Iterator[Problem]:
    found, speculation = {domain.path: domain.acceptance for domain in domains(scenario)}, scenario.speculation
    modelled = {path: acceptance for path, acceptance in found.items() if isinstance(acceptance, NgramModels)}
    if not modelled:
        return
    first = next(iter(modelled))
    for path, acceptance in found.items():
        if path not in modelled:
            remedy = f"{first} has language models, and all have them or none; write kind: ngram_models here too"
            yield in_scenario(f"{path}.kind", acceptance.kind, remedy)
    if isinstance(speculation.policy, OraclePolicy | ConfidencePolicy):
        remedy = f"looks at drafts before they are made, and {first} makes them in the step; write another policy"
        yield in_scenario("speculation.policy.kind", speculation.policy.kind, remedy)
    for path, models in modelled.items():
        if models.drafter_temperature is not None and not speculation.sampled:
            remedy = "these drafts are not sampled; leave it out, or write 'drafts: sampled'"
            yield in_scenario(f"{path}.drafter_temperature", models.drafter_temperature, remedy)


def _is_sampled_recording(domain: Domain) -> bool:
    return isinstance(domain.acceptance, ReplayAcceptance) and domain.temperature > 0


def _recorded(domain: Domain) -> Problem:
    remedy = (
        f"a recording counts drafts that are the target's greedy choices, but these requests are sampled at "
        f"temperature {domain.temperature:g}; write 'temperature: 0'"
    )
    return in_scenario(f"{domain.path}.kind", "replay", remedy)


def _varying(path: str, acceptance: Acceptance, speculation: Speculation) -> Iterator[Problem]:
    if not acceptance.varies:
        return
    if speculation.verifier in ("tree", "block"):
        remedy = (
            "varying acceptance is of drafts verified token by token, and not simulated under the "
            f"{speculation.verifier} rule: write 'verifier: token' or 'verifier: greedy', or leave out what varies"
        )
        yield Problem("", path, "", remedy)
    by_length = isinstance(acceptance, ProfileAcceptance) and acceptance.by_num_draft_tokens
    if by_length and isinstance(speculation.policy, OraclePolicy | ConfidencePolicy):
        remedy = (
            f"policy {speculation.policy.kind} sets a draft's length while drafting, so acceptance cannot "
            "depend on that length; leave it out, or write another policy"
        )
        yield Problem("", f"{path}.by_num_draft_tokens", "", remedy)
