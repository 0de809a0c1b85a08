"""Checks across the parts of a scenario: contradictions that no single model can see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from specsim.errors import Problem, in_scenario
from specsim.inputs.checkpoints.architecture import LinearAttention
from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.checks import domains as domain_checks
from specsim.inputs.checks import parallel as parallel_checks
from specsim.inputs.checks import quantisation as quantisation_checks
from specsim.inputs.checks import speculation as speculation_checks
from specsim.inputs.models.hardware import Device
from specsim.inputs.models.optimize import SearchedPolicy
from specsim.inputs.models.plan import planned_policy
from specsim.inputs.models.scenario import Scenario
from specsim.inputs.models.workload import ClosedLoop


def within(scenario: Scenario) -> list[Problem]:
    """Contradictions within the scenario alone, whatever models and device it names."""
    return [
        *_load(scenario),
        *_kept_prefixes(scenario),
        *_prompts_of_pools(scenario),
        *domain_checks.contradictions(scenario),
        *speculation_checks.contradictions(scenario.speculation),
        *_draft_lengths(scenario),
        *plans(scenario),
        *maps(scenario),
    ]


def contradictions(
    scenario: Scenario, device: Device, target: ModelConfig, drafter: ModelConfig | None
) -> list[Problem]:
    """Contradictions between the scenario and the models and device that it names.

    Problems have paths inside the scenario; the caller fills in ``where``.
    """
    return [
        *parallel_checks.contradictions(scenario, device, target, drafter),
        *quantisation_checks.contradictions(scenario, device, target, drafter),
        *_kept_whole(scenario, target),
        *(scenario.speculation.drafter.misfits(target, drafter) if drafter else ()),
    ]


def _load(scenario: Scenario) -> Iterator[Problem]:
    load, sent = scenario.workload.load, scenario.workload.num_requests
    if isinstance(load, ClosedLoop) and sent < load.concurrency:
        remedy = f"fewer requests than workload.load.concurrency ({load.concurrency}) never reach it; send more"
        yield in_scenario("workload.num_requests", sent, remedy)


def _kept_prefixes(scenario: Scenario) -> Iterator[Problem]:
    if scenario.deployment.prefix_caching and scenario.workload.decode_only:
        remedy = "with workload.decode_only all prompts are cached already; leave one out"
        yield in_scenario("deployment.prefix_caching", True, remedy)


def _prompts_of_pools(scenario: Scenario) -> Iterator[Problem]:
    fleet = scenario.fleet
    if fleet and fleet.disaggregation and scenario.workload.decode_only:
        remedy = (
            "no prompt is computed, and the prefill replicas of fleet.disaggregation do nothing else; leave one out"
        )
        yield in_scenario("workload.decode_only", True, remedy)


def _kept_whole(scenario: Scenario, target: ModelConfig) -> Iterator[Problem]:
    """Prefix caching needs layers that keep every token."""
    mixers = [layer.mixer for layer, _ in target.layers]
    if scenario.deployment.prefix_caching and any(
        isinstance(mixer, LinearAttention) or getattr(mixer, "window", None) is not None for mixer in mixers
    ):
        remedy = (
            "sharing the windows of tokens, or states, that some layers of the target keep is not simulated; "
            "leave it out"
        )
        yield in_scenario("deployment.prefix_caching", True, remedy)


def _draft_lengths(scenario: Scenario) -> Iterator[Problem]:
    compared = scenario.curve.num_draft_tokens or ()
    for most, why, _ in scenario.speculation.draft_limits:
        if max(compared, default=0) > most:
            remedy = f"{why}; write lengths up to {most}, or leave it out to compare all up to 5"
            yield in_scenario("curve.num_draft_tokens", list(compared), remedy)


def maps(scenario: Scenario) -> Iterator[Problem]:
    """A map compares no longer drafts than tree and drafter can make."""
    if scenario.map is not None:
        yield from _as_long_as_drafts_are(scenario, "map.num_draft_tokens", scenario.map.num_draft_tokens)


def _as_long_as_drafts_are(scenario: Scenario, path: str, compared: tuple[int, ...] | None) -> Iterator[Problem]:
    for most, why, _ in scenario.speculation.draft_limits:
        if max(compared or (), default=0) > most:
            remedy = f"{why}; write lengths up to {most}, or leave it out to compare those of the curve"
            yield in_scenario(path, list(compared or ()), remedy)


def plans(scenario: Scenario) -> Iterator[Problem]:
    """A plan and an optimiser compare only policies and draft lengths that the scenario allows."""
    if scenario.plan:
        yield from _as_long_as_drafts_are(scenario, "plan.num_draft_tokens", scenario.plan.num_draft_tokens)
        yield from _policies(scenario, "plan.policies", scenario.plan.policies)
    if scenario.optimize:
        yield from _as_long_as_drafts_are(scenario, "optimize.num_draft_tokens", scenario.optimize.num_draft_tokens)
        yield from _policies(scenario, "optimize.policies", scenario.optimize.policies or ())


def _policies(scenario: Scenario, path: str, kinds: Sequence[SearchedPolicy]) -> Iterator[Problem]:
    own = scenario.speculation
    for number, kind in enumerate(kinds):
        if kind == "none" or kind == "schedule":
            continue
        policy = planned_policy(kind, own.policy.num_draft_tokens or 1)
        for problem in speculation_checks.contradictions(own.model_copy(update={"policy": policy})):
            if problem.path == "speculation.policy.kind":
                yield replace(problem, path=f"{path}[{number}]")
