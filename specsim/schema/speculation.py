"""What drafts, how drafts are verified, how often they are accepted, and who decides how many."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specsim.schema.acceptance import Acceptance
from specsim.schema.base import Input, Number
from specsim.schema.tree import Tree


class DraftModel(Input):
    """A smaller model of the same tokenizer that drafts one token per forward pass."""

    kind: Literal["draft_model"]
    model: str
    """Catalogue name or path of its config.json."""
    vocabulary_map: Literal["none", "prefix"] = "none"
    """none: the vocabularies are the same; prefix: same token ids, one of them padded to a larger size."""


class EagleHead(Input):
    """A one-layer head that drafts from the target's hidden states."""

    kind: Literal["eagle"]
    model: str
    """Catalogue name or path of the head's config.json."""
    generation: Literal["eagle", "eagle3"] = "eagle3"
    """eagle: one hidden state fused with the embedding; eagle3: three layers' states attention input twice as wide."""
    vocabulary_map: Literal["none", "d2t"] = "none"
    """d2t: the head scores a smaller vocabulary and ships the table that maps its ids to the target's."""


Drafter = Annotated[DraftModel | EagleHead, Field(discriminator="kind")]


class StaticPolicy(Input):
    """The same number of draft tokens for every request at every step; 0 switches speculation off."""

    kind: Literal["static"] = "static"
    num_draft_tokens: Annotated[int, Field(ge=0, le=64, strict=True)]
    """Draft tokens per verify (vLLM's num_speculative_tokens; SGLang's num_draft_tokens is one more). With a tree, how
    many of its levels are drafted; each is a position, with as many draft tokens as the level has nodes."""


class Speculation(Input):
    """The speculative-decoding set-up."""

    drafter: Drafter
    verifier: Literal["token", "block", "tree", "greedy"] = "token"
    """token: lossless rejection sampling, token by token; block: the longest part that passes, lossless too and longer;
    tree: several candidates per position, lossless too; greedy: accept while the draft is the target's argmax."""
    tree: Tree | None = None
    """The tree that is drafted; with 'verifier: tree' and with no other."""
    acceptance: Acceptance
    """There is no default: acceptance depends on drafter, domain and temperature, and has to be measured."""
    policy: StaticPolicy
    temperature: Annotated[Number, Field(ge=0)] = 1.0
    """Sampling temperature of the target; 0 means greedy decoding and drives the greedy verifier."""

    @model_validator(mode="after")
    def _greedy_needs_temperature_zero(self) -> Speculation:
        if self.verifier == "greedy" and self.temperature > 0:
            raise ValueError(
                f"the greedy verifier is lossless only at temperature 0, not at {self.temperature}; write "
                "'temperature: 0', or 'verifier: token' to keep sampling"
            )
        return self

    @model_validator(mode="after")
    def _trees_have_their_verifier(self) -> Speculation:
        if self.verifier == "tree" and self.tree is None:
            raise ValueError(
                "the tree verifier needs the tree's shape; add for example 'tree: {branching: [4, 2, 1], siblings: "
                "without_replacement}'"
            )
        if self.verifier != "tree" and self.tree is not None:
            raise ValueError(
                f"the {self.verifier} verifier takes chains; write 'verifier: tree', or take the tree out ('tree: "
                "null' where it comes from a scenario that this one extends)"
            )
        if self.tree and self.temperature == 0 and self.tree.siblings != "one_hot":
            raise ValueError(
                "at temperature 0 nothing is drawn, so the siblings of a tree are the most likely tokens; write "
                "'siblings: one_hot'"
            )
        return self

    @property
    def rule(self) -> Literal["token", "block", "tree", "greedy"]:
        """The verifier that runs: at temperature 0 the rules for chains reduce to the greedy one."""
        return "greedy" if self.temperature == 0 and self.verifier != "tree" else self.verifier
