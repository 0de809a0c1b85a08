"""What drafts, how drafts are verified, how often they are accepted, and who decides how many."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specsim.schema.acceptance import Acceptance
from specsim.schema.base import Count, Input, Number
from specsim.schema.quantisation import WeightFormat


class _Loaded(Input):
    """A drafter that brings weights."""

    weight_format: WeightFormat | None = None
    """Format of its matrices; by default what its config.json states, else bf16."""
    tensor_parallel: Count | None = None
    """Devices that share it (vLLM's draft_tensor_parallel_size); by default as many as share the target."""


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


class BlockParallelHead(_Loaded):
    """A head that proposes a whole block in one pass over layers that see the target's states (DFlash, DSpark)."""

    kind: Literal["block_parallel"]
    model: str
    """Catalogue name or path of the head's config.json."""
    block_size: Annotated[int, Field(ge=1, le=64, strict=True)]
    """Tokens that the pass computes for each request, whatever the draft length."""
    fused_layers: Count
    """Layers of the target whose hidden states are fused (5 in DFlash's published heads)."""


Drafter = Annotated[DraftModel | EagleHead | MTPLayers | MedusaHeads | BlockParallelHead, Field(discriminator="kind")]


class StaticPolicy(Input):
    """The same number of draft tokens for every request at every step; 0 switches speculation off."""

    kind: Literal["static"] = "static"
    num_draft_tokens: Annotated[int, Field(ge=0, le=64, strict=True)]
    """Draft tokens per verify (vLLM's num_speculative_tokens; SGLang's num_draft_tokens is one more)."""


class Speculation(Input):
    """The speculative-decoding set-up."""

    drafter: Drafter
    verifier: Literal["token", "block", "greedy"] = "token"
    """token: lossless rejection sampling, token by token; block: the longest part that passes, lossless too and longer;
    greedy: accept while the draft is the target's argmax."""
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

    @property
    def rule(self) -> Literal["token", "block", "greedy"]:
        """The verifier that runs: at temperature 0 every rule reduces to the greedy one."""
        return "greedy" if self.temperature == 0 else self.verifier
