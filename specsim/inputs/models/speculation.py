"""What drafts, how drafts are verified, how often they are accepted, and who decides how many."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from specsim.inputs.checkpoints.quantisation import WeightFormat
from specsim.inputs.models.acceptance import Acceptance
from specsim.inputs.models.base import Count, Duration, Fraction, Input, Number
from specsim.inputs.models.engine import PassKind
from specsim.inputs.models.policy import Policy
from specsim.inputs.models.tree import Tree


class _Loaded(Input):
    """A drafter that brings weights."""

    weight_format: WeightFormat | None = None
    """Format of its matrices; by default what its config.json states, else bf16."""
    tensor_parallel: Count | None = None
    """Devices that share it (vLLM's draft_tensor_parallel_size); by default as many as share the target."""
    time_factor: Annotated[Number, Field(gt=0, le=100)] | None = None
    """How many times as long its passes take on the device as the cost model says, where that was measured. Left out:
    as long."""


class DraftModel(_Loaded):
    """A smaller model of the same tokenizer that drafts one token per forward pass."""

    kind: Literal["draft_model"]
    model: str
    """Catalogue name or path of its config.json."""
    vocabulary_map: Literal["none", "prefix"] = "none"
    """none: the vocabularies are the same; prefix: same token ids, one of them padded to a larger size."""


class EagleHead(_Loaded):
    """A one-layer head that drafts from the target's hidden states."""

    kind: Literal["eagle"]
    model: str
    """Catalogue name or path of the head's config.json."""
    generation: Literal["eagle", "eagle3"] = "eagle3"
    """eagle: one hidden state fused with the embedding; eagle3: three layers' states attention input twice as wide."""
    vocabulary_map: Literal["none", "d2t"] = "none"
    """d2t: the head scores a smaller vocabulary and ships the table that maps its ids to the target's."""


class MTPLayers(_Loaded):
    """The target's own MTP layer, run once per draft token (beyond the first, the same layer again)."""

    kind: Literal["mtp"]


class MedusaHeads(_Loaded):
    """Heads that each score one position ahead from the target's last hidden state, in one pass, without a cache."""

    kind: Literal["medusa"]
    num_heads: Annotated[int, Field(ge=1, le=64, strict=True)]
    """Heads that are loaded; all run on every pass, whatever the draft length."""
    num_layers: Count = 1
    """Residual blocks of each head."""


class SequentialCorrection(Input):
    """What makes drafting a block semi-autoregressive: position by position, the token drawn before shifts the logits.

    A low-rank product, as in DSpark's Markov head: an embedding of that token times a matrix of the vocabulary's size.
    """

    rank: Count
    """Width of the embedding (markov_rank in a checkpoint; 256 in those published)."""


class BlockParallelHead(_Loaded):
    """A head that proposes a whole block in one pass over layers that see the target's states (DFlash, DSpark)."""

    kind: Literal["block_parallel"]
    model: str
    """Catalogue name or path of the head's config.json."""
    block_size: Annotated[int, Field(ge=1, le=64, strict=True)]
    """Tokens that the pass computes for each request, whatever the draft length."""
    fused_layers: Count
    """Layers of the target whose hidden states are fused (5 in DFlash's published heads)."""
    sequential_correction: SequentialCorrection | None = None
    """Left out: all positions are drawn at once, as in DFlash."""


class NgramLookup(Input):
    """Drafts looked up in the text so far: vLLM's n-gram (prompt lookup) or suffix decoding. No model, no passes.

    The acceptance stated is that of drafts that were found, as engines log it: steps without one are not in it.
    """

    kind: Literal["ngram"]
    host_time_per_step: Duration
    """Host time of looking drafts up, for a step; measure it (docs/drafting.md has the one published figure, 0 us
    leaves it out)."""
    host_time_per_sequence: Duration
    """Host time of looking drafts up, for each sequence of a step that looks, whether or not it finds; likewise."""
    found: Fraction = 1.0
    """Share of lookups that find a draft; of the others the target verifies one token, as without speculation."""
    matched_lengths: Annotated[tuple[Fraction, ...], Field(min_length=1)] | None = None
    """Of the drafts found, the share that has at least 1, 2, .. tokens where the policy asks for as many; none has
    more than are listed. Left out, every draft found is as long as the policy asks. Acceptance at a position is that of
    the drafts that have it."""
    source: str = ""
    """Where these figures come from; printed with the result."""

    @model_validator(mode="after")
    def _lengths_are_shares_of_what_is_found(self) -> NgramLookup:
        lengths = self.matched_lengths or (1.0,)
        if lengths[0] != 1:
            raise ValueError(
                f"every draft found has at least one token, so matched_lengths begin with 1, not {lengths[0]}; "
                "write in 'found' how many lookups find one"
            )
        for i, (shorter, longer) in enumerate(pairwise(lengths), start=2):
            if longer > shorter:
                raise ValueError(
                    f"matched_lengths cannot rise from {shorter} to {longer} at {i} tokens: they are shares of drafts "
                    "of at least so many tokens; correct them"
                )
        return self


ModelDrafter = DraftModel | EagleHead | MTPLayers | MedusaHeads | BlockParallelHead
"""The drafters that run passes of a model."""
Drafter = Annotated[ModelDrafter | NgramLookup, Field(discriminator="kind")]


def pass_kind(drafter: Drafter) -> PassKind | None:
    """What the drafter's passes count as in an engine profile; None where drafts are looked up."""
    match drafter:
        case EagleHead():
            return drafter.generation
        case NgramLookup():
            return None
        case _:
            return drafter.kind


class Speculation(Input):
    """The speculative-decoding set-up."""

    drafter: Drafter
    drafts: Literal["sampled", "argmax"] | None = None
    """How the drafts of a chain are made. sampled, unless stated: drawn from the drafter's distribution; argmax: its
    most likely tokens, as vLLM does for EAGLE heads by default, and each is accepted with the target's probability for
    it. What n-grams look up counts as argmax; of trees, siblings says it."""
    verifier: Literal["token", "block", "tree", "greedy"] = "token"
    """token: lossless rejection sampling, token by token; block: the longest part that passes, lossless too and longer;
    tree: several candidates per position, lossless too; greedy: accept while the draft is the target's argmax."""
    tree: Tree | None = None
    """The tree that is drafted; with 'verifier: tree' and with no other."""
    acceptance: Acceptance
    """There is no default: acceptance depends on drafter, domain and temperature, and has to be measured."""
    policy: Policy
    temperature: Annotated[Number, Field(ge=0)] = 1.0
    """Sampling temperature of the target; 0 means greedy decoding and drives the greedy verifier."""

    @field_validator("policy", mode="before")
    @classmethod
    def _static_unless_stated(cls, policy: object) -> object:
        return {"kind": "static", **policy} if isinstance(policy, dict) else policy

    @property
    def sampled(self) -> bool:
        """Whether the drafts of a chain are drawn from a distribution of the drafter's."""
        return self.drafts != "argmax" and not isinstance(self.drafter, NgramLookup)

    @property
    def draft_limits(self) -> list[tuple[int, str, str]]:
        """(positions drafted for at most, why, how there can be more) of tree and drafter."""
        limits = []
        if self.tree:
            number = self.tree.num_levels
            why = f"the tree has {number} level{'s' if number > 1 else ''}, and each is one position"
            limits.append((number, why, ", or add levels to branching"))
        match self.drafter:
            case MedusaHeads(num_heads=heads):
                limits.append((heads, f"there are {heads} Medusa heads, one a token (num_heads)", ""))
            case BlockParallelHead(block_size=block):
                limits.append((block, f"one pass computes {block} tokens (block_size)", ""))
        return limits

    @property
    def longest_draft(self) -> int | None:
        """For how many positions drafter and tree can draft; None where it is for any number."""
        return min((most for most, _, _ in self.draft_limits), default=None)

    @property
    def rule(self) -> Literal["token", "block", "tree", "greedy"]:
        """The verifier that runs: at temperature 0 the rules for chains reduce to the greedy one."""
        return "greedy" if self.temperature == 0 and self.verifier != "tree" else self.verifier
