"""The arms of a plan: no speculation, the scenario's own policy, and policies at draft lengths."""

from __future__ import annotations

from typing import NamedTuple

from specsim.inputs.models.plan import Plan, planned_policy
from specsim.inputs.models.policy import Policy, StaticPolicy
from specsim.inputs.models.scenario import Scenario


class Arm(NamedTuple):
    """One way to draft.

    Attributes:
        policy: decides draft lengths; None for no speculation.
    """

    policy: Policy | None

    @property
    def num_draft_tokens(self) -> int:
        """The longest draft; 0 without speculation."""
        return self.policy.num_draft_tokens if self.policy else 0

    @property
    def kind(self) -> str:
        """The policy's kind; ``none`` without speculation."""
        return self.policy.kind if self.policy else "none"

    @property
    def name(self) -> str:
        """What tables and files call it: ``none``, ``static 3``."""
        return f"{self.kind} {self.num_draft_tokens}" if self.policy else "none"


def arms_of(scenario: Scenario) -> list[Arm]:
    """What a plan compares, each once; no speculation first, then the scenario's own policy unless it is named too."""
    plan, own = scenario.plan or Plan(), scenario.speculation.policy
    lengths = plan.num_draft_tokens or scenario.compared_draft_lengths
    compared = [planned_policy(kind, k) for kind in plan.policies for k in lengths]
    extra = [own] if own.num_draft_tokens and own not in compared else []
    return [Arm(None), *map(Arm, [*extra, *compared])]


def with_arm(scenario: Scenario, arm: Arm) -> Scenario:
    """The scenario with an arm's policy as its own."""
    policy = arm.policy or StaticPolicy(num_draft_tokens=0)
    speculation = scenario.speculation.model_copy(update={"policy": policy})
    return scenario.model_copy(update={"speculation": speculation})
