"""Speculation: drafter, verifier, acceptance and policy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from specsim.inputs.models.acceptance import Acceptance
from specsim.inputs.models.base import Input, Number
from specsim.inputs.models.drafters import Drafter
from specsim.inputs.models.policy import PolicyField
from specsim.inputs.models.tree import Tree
from specsim.units import plural

Rule = Literal["token", "block", "tree", "greedy"]
"""How drafts are verified."""


class Speculation(Input):
    """The speculative-decoding set-up."""

    drafter: Drafter
    drafts: Literal["sampled", "argmax"] | None = None
    """How the drafts of a chain are made. sampled (default): drawn from the drafter's distribution; argmax: its
    most likely tokens, as vLLM does for EAGLE heads by default, and each is accepted with the target's probability for
    it. What n-grams look up counts as argmax; of trees, siblings says it."""
    verifier: Rule = "token"
    """token: lossless rejection sampling, token by token; block: the longest part that passes, lossless too and longer;
    tree: several candidates per position, lossless too; greedy: accept while the draft is the target's argmax."""
    tree: Tree | None = None
    """The tree that is drafted; with 'verifier: tree' and with no other."""
    acceptance: Acceptance
    """There is no default: acceptance depends on drafter, domain and temperature, and has to be measured."""
    policy: PolicyField
    temperature: Annotated[Number, Field(ge=0)] = 1.0
    """Sampling temperature of the target; 0 means greedy decoding and drives the greedy verifier."""

    @property
    def sampled(self) -> bool:
        """Whether the drafts of a chain are sampled from the drafter's distribution."""
        return self.drafts != "argmax" and not self.drafter.facts.looks_up

    @property
    def draft_limits(self) -> list[tuple[int, str, str]]:
        """Limits on the draft length that tree and drafter set: (longest draft, why, how to get more)."""
        limits = []
        if self.tree:
            number = self.tree.num_levels
            why = f"the tree has {plural(number, 'level')}, and each is one position"
            limits.append((number, why, ", or add levels to branching"))
        if self.drafter.facts.draft_limit:
            limits.append((*self.drafter.facts.draft_limit, ""))
        return limits

    @property
    def longest_draft(self) -> int | None:
        """The longest draft that drafter and tree can make; None where there is no limit."""
        return min((most for most, _, _ in self.draft_limits), default=None)

    @property
    def rule(self) -> Rule:
        """The verifier that runs: at temperature 0 the rules for chains all become the greedy one."""
        return "greedy" if self.temperature == 0 and self.verifier != "tree" else self.verifier
