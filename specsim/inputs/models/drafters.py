"""The kinds of drafters; what else tells them apart is in ``drafting.passes`` and ``costs.shapes``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from specsim.errors import Problem
from specsim.inputs.checkpoints.architecture import Attention
from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.models.base import Count, Duration, Fraction, Input
from specsim.inputs.models.drafter_facts import (
    DrafterFacts,
    DrafterInput,
    EngineNames,
    LoadedDrafter,
    misfit,
    model_name,
    unlike_states,
    unlike_vocabularies,
)


class DraftModel(LoadedDrafter):
    """A smaller model of the same tokenizer that drafts one token per forward pass."""

    kind: Literal["draft_model"]
    model: str
    """Catalogue name or path of its config.json."""
    vocabulary_map: Literal["none", "prefix"] = "none"
    """none: the vocabularies are the same; prefix: same token ids, one of them padded to a larger size."""

    @property
    def facts(self) -> DrafterFacts:
        """See ``DrafterInput``."""
        return DrafterFacts(
            title=model_name(self.model),
            engines=EngineNames("draft_model", "Draft_Target", "STANDALONE"),
            config=self.model,
            token_a_pass=True,
        )

    def misfits(self, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
        """See ``DrafterInput``."""
        hint = ", or 'vocabulary_map: prefix' if one is the other padded"
        yield from unlike_vocabularies(self.vocabulary_map, target, model, hint)


class EagleHead(LoadedDrafter):
    """A one-layer head that drafts from the target's hidden states."""

    kind: Literal["eagle"]
    model: str
    """Catalogue name or path of the head's config.json."""
    generation: Literal["eagle", "eagle3"] = "eagle3"
    """eagle: one hidden state fused with the embedding; eagle3: three layers' states attention input twice as wide."""
    vocabulary_map: Literal["none", "d2t"] = "none"
    """d2t: the head scores a smaller vocabulary and ships the table that maps its ids to the target's."""

    @property
    def facts(self) -> DrafterFacts:
        """See ``DrafterInput``."""
        tensorrt = "Eagle3" if self.generation == "eagle3" else None
        return DrafterFacts(
            title=model_name(self.model),
            engines=EngineNames(self.generation, tensorrt, self.generation.upper()),
            config=self.model,
            reads_hidden_states=True,
            token_a_pass=True,
        )

    def misfits(self, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
        """See ``DrafterInput``."""
        yield from unlike_states(self.model, target, model)
        if model.num_hidden_layers != 1:
            remedy = (
                f"an EAGLE head has 1 layer, not {model.num_hidden_layers}; name the head's own config.json, or write "
                "'kind: draft_model' for a whole model"
            )
            yield misfit("model", self.model, remedy)
        yield from unlike_vocabularies(self.vocabulary_map, target, model)


class MTPLayers(LoadedDrafter):
    """The target's own MTP layer, run once per draft token (beyond the first, the same layer again)."""

    kind: Literal["mtp"]

    @property
    def facts(self) -> DrafterFacts:
        """See ``DrafterInput``."""
        return DrafterFacts(
            title="its MTP layer",
            engines=EngineNames("mtp", "MTP", "NEXTN"),
            in_target_checkpoint=True,
            reads_hidden_states=True,
            token_a_pass=True,
        )

    def dimensions_in(self, target: ModelConfig) -> ModelConfig:
        """See ``DrafterInput``."""
        return target.mtp_model if target.num_mtp_layers else target

    def misfits(self, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
        """See ``DrafterInput``."""
        if target.num_mtp_layers != 1:
            remedy = (
                f"the target has {target.num_mtp_layers} MTP layers (num_nextn_predict_layers, "
                "mtp_num_hidden_layers) and specsim models 1; use another drafter"
            )
            yield misfit("kind", self.kind, remedy)


class MedusaHeads(LoadedDrafter):
    """Heads that each score one position ahead from the target's last hidden state, in one pass, without a cache."""

    kind: Literal["medusa"]
    num_heads: Annotated[int, Field(ge=1, le=64, strict=True)]
    """Heads that are loaded; all run on every pass, whatever the draft length."""
    num_layers: Count = 1
    """Residual blocks of each head."""

    @property
    def facts(self) -> DrafterFacts:
        """See ``DrafterInput``."""
        return DrafterFacts(
            title=f"{self.num_heads} Medusa heads",
            engines=EngineNames("medusa"),
            draft_limit=(self.num_heads, f"there are {self.num_heads} Medusa heads, one a token (num_heads)"),
        )

    def dimensions_in(self, target: ModelConfig) -> ModelConfig:
        """See ``DrafterInput``."""
        return target


class SequentialCorrection(Input):
    """What makes drafting a block semi-autoregressive: position by position, the token drawn before shifts the logits.

    A low-rank product, as in DSpark's Markov head: an embedding of that token times a matrix of the vocabulary's size.
    """

    rank: Count
    """Width of the embedding (markov_rank in a checkpoint; 256 in those published)."""


class BlockParallelHead(LoadedDrafter):
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

    @property
    def facts(self) -> DrafterFacts:
        """See ``DrafterInput``."""
        corrected = self.sequential_correction is not None
        return DrafterFacts(
            title=model_name(self.model),
            engines=EngineNames("dspark", None, "DSPARK") if corrected else EngineNames("dflash", "DFlash", "DFLASH"),
            config=self.model,
            reads_hidden_states=True,
            draft_limit=(self.block_size, f"one pass computes {self.block_size} tokens (block_size)"),
            no_trees=(
                "a block-parallel head drafts one token for each position of its block, which is a chain; write "
                "'verifier: token' or 'verifier: block' and take the tree out, or use another drafter"
            ),
        )

    def misfits(self, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
        """See ``DrafterInput``."""
        yield from unlike_states(self.model, target, model)
        if not all(isinstance(layer.mixer, Attention) for layer, _ in model.layers):
            remedy = "a block-parallel head needs plain attention on every layer; use another"
            yield misfit("model", self.model, remedy)


class NgramLookup(DrafterInput):
    """Drafts looked up in the text so far: vLLM's n-gram (prompt lookup) or suffix decoding. No model, no passes.

    The given acceptance is that of drafts that were found, as engines log it: steps without one are not in it.
    """

    kind: Literal["ngram"]
    host_time_per_step: Duration
    """Host time of looking drafts up, for a step; measure it (docs/drafting.md has the one published figure, 0 us
    leaves it out)."""
    host_time_per_sequence: Duration
    """Host time of looking drafts up, for each sequence of a step that looks, whether or not it finds."""
    found: Fraction = 1.0
    """Share of lookups that find a draft; of the others the target verifies one token, as without speculation."""
    matched_lengths: Annotated[tuple[Fraction, ...], Field(min_length=1)] | None = None
    """Of the drafts found, the share that has at least 1, 2, .. tokens where the policy asks for as many; none has
    more than are listed. Left out, every draft found is as long as the policy asks. Acceptance at a position is that of
    the drafts that have it."""
    source: str = ""
    """Where these figures come from; printed with the result."""

    @property
    def facts(self) -> DrafterFacts:
        """See ``DrafterInput``."""
        return DrafterFacts(
            title="n-gram lookup",
            engines=EngineNames("ngram", "NGram", "NGRAM"),
            looks_up=True,
        )

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
                    f"matched_lengths cannot rise from {shorter} to {longer} at {i} tokens: each is the share of "
                    "drafts of at least that length; correct them"
                )
        return self


ModelDrafter = DraftModel | EagleHead | MTPLayers | MedusaHeads | BlockParallelHead
"""The drafters that run passes of a model."""
Drafter = Annotated[ModelDrafter | NgramLookup, Field(discriminator="kind")]

PassKind = Literal["draft_model", "eagle", "eagle3", "mtp", "medusa", "block_parallel"]
"""What runs draft passes; the generations of EAGLE apart."""


def pass_kind(drafter: Drafter) -> PassKind | None:
    """What its passes count as in an engine profile; None where there are none."""
    if isinstance(drafter, NgramLookup):
        return None
    return drafter.generation if isinstance(drafter, EagleHead) else drafter.kind
