"""What an optimiser may set, and the scenario with it set. Knows no search, and nothing of what settings cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from specsim.errors import InputError, Problem
from specsim.inputs.models.engine import Engine
from specsim.inputs.models.optimize import WITHOUT_LENGTH, Optimize, SearchedPolicy
from specsim.inputs.models.plan import Plan
from specsim.inputs.models.policy import Policy
from specsim.inputs.read.scenario import Inputs
from specsim.studies.plan.arms import Arm, with_arm

DEVICES = (1, 2, 4, 8)
MOST_PLACES, MOST_BUDGET = 1024, 8192  # about which defaults lie where a profile, such as the ideal one, has more
MOST_COMBINATIONS = 100_000  # each is checked before anything is simulated
CHOSEN = {"kind": "assumed", "reference": "set by specsim optimize, in place of the profile's own"}


class Settings(NamedTuple):
    """One combination.

    Attributes:
        tensor_parallel: devices that share each matrix of the target.
        max_num_seqs: most requests in a step.
        token_budget: most tokens in a step.
        policy: the kind.
        num_draft_tokens: of kinds that have a length; 0 for those that have none of their own.
    """

    tensor_parallel: int
    max_num_seqs: int
    token_budget: int
    policy: SearchedPolicy
    num_draft_tokens: int


class Space(NamedTuple):
    """Every combination of these values.

    Attributes:
        tensor_parallel, max_num_seqs, token_budget: ascending.
        policies: kinds.
        num_draft_tokens: ascending, of the kinds that have a length.
    """

    tensor_parallel: tuple[int, ...]
    max_num_seqs: tuple[int, ...]
    token_budget: tuple[int, ...]
    policies: tuple[SearchedPolicy, ...]
    num_draft_tokens: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        of_policies = sum(1 if kind in WITHOUT_LENGTH else len(self.num_draft_tokens) for kind in self.policies)
        return math.prod(map(len, self[:3])) * of_policies

    def combinations(self) -> Iterator[Settings]:
        """All of them; the policy changes fastest."""
        for group, places, budget in itertools.product(*self[:3]):
            for kind in self.policies:
                for length in (0,) if kind in WITHOUT_LENGTH else self.num_draft_tokens:
                    yield Settings(group, places, budget, kind, length)


def space_of(inputs: Inputs) -> Space:
    """What a scenario's optimiser searches: what it states, and defaults about what it has.

    Raises:
        InputError: when there are too many combinations.
    """
    scenario, engine = inputs.scenario, inputs.engine
    stated, plan, deployment = scenario.optimize or Optimize(), scenario.plan or Plan(), scenario.deployment
    linked = inputs.device.max_devices // deployment.pipeline_parallel
    groups = {group for group in DEVICES if group <= linked} | {deployment.tensor_parallel}
    seqs, budget = min(engine.max_num_seqs, MOST_PLACES), min(engine.max_num_batched_tokens, MOST_BUDGET)
    places = {max(1, seqs // part) for part in (8, 4, 2, 1)} | {engine.speculation_max_num_seqs or seqs}
    tokens = {max(1, budget // 4), max(1, budget // 2), budget, 2 * budget}
    tokens |= {engine.speculation_max_num_batched_tokens or budget}
    kinds: tuple[SearchedPolicy, ...] = ("none", "static", "schedule")
    space = Space(
        tensor_parallel=stated.tensor_parallel or tuple(sorted(groups)),
        max_num_seqs=stated.max_num_seqs or tuple(sorted(places)),
        token_budget=stated.token_budget or tuple(sorted(tokens)),
        policies=stated.policies or tuple(dict.fromkeys((*kinds, *plan.policies))),
        num_draft_tokens=stated.num_draft_tokens or plan.num_draft_tokens or scenario.compared_draft_lengths,
    )
    if space.size > MOST_COMBINATIONS:
        remedy = f"more than {MOST_COMBINATIONS:,}; name fewer values"
        raise InputError([Problem(str(inputs.files["scenario"]), "optimize", f"{space.size:,} combinations", remedy)])
    return space


def own_settings(inputs: Inputs, space: Space) -> Settings:
    """The combination nearest to the scenario as it stands."""
    policy, engine = inputs.scenario.speculation.policy, inputs.engine
    kind: SearchedPolicy = "none"
    if policy.num_draft_tokens:
        kind = next((known for known in space.policies if known == policy.kind), "static")
    kind = kind if kind in space.policies else space.policies[0]
    return Settings(
        _nearest(space.tensor_parallel, inputs.scenario.deployment.tensor_parallel),
        _nearest(space.max_num_seqs, engine.max_num_seqs),
        _nearest(space.token_budget, engine.max_num_batched_tokens),
        kind,
        0 if kind in WITHOUT_LENGTH else _nearest(space.num_draft_tokens, policy.num_draft_tokens),
    )


def _nearest(values: tuple[int, ...], to: int) -> int:
    return min(values, key=lambda value: (abs(math.log(value / max(to, 1))), value))


def changed(inputs: Inputs, settings: Settings, policy: Policy | None) -> Inputs:
    """The inputs as settings have them.

    Args:
        inputs: the scenario and what it refers to.
        settings: what is set.
        policy: decides draft lengths; None for no speculation.
    """
    scenario, group = inputs.scenario, settings.tensor_parallel
    deployment = scenario.deployment.model_copy(
        update={"tensor_parallel": group, "num_devices": group * scenario.deployment.pipeline_parallel}
    )
    changes: dict[str, Any] = {"deployment": deployment}
    if deployment != scenario.deployment:
        changes["description"] = ""  # which may name the devices
    scenario = with_arm(scenario.model_copy(update=changes), Arm(policy))
    engine = limited(inputs.engine, settings.max_num_seqs, settings.token_budget)
    return replace(inputs, scenario=scenario, engine=engine)


def limited(engine: Engine, max_num_seqs: int, token_budget: int) -> Engine:
    """A profile with these limits, with speculation on or off; itself where they are its own."""
    own = (engine.max_num_seqs, engine.max_num_batched_tokens)
    with_drafts = (engine.speculation_max_num_seqs, engine.speculation_max_num_batched_tokens)
    if own == (max_num_seqs, token_budget) and with_drafts in {(None, None), own}:
        return engine
    data = engine.model_dump(mode="json", exclude_none=True)
    for name, value in (("max_num_seqs", max_num_seqs), ("max_num_batched_tokens", token_budget)):
        data.pop(f"speculation_{name}", None)
        data["sources"].pop(f"speculation_{name}", None)
        if data[name] != value:
            data[name] = value
            data["sources"][name] = CHOSEN
    return Engine.model_validate(data)
