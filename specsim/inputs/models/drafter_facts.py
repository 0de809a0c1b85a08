"""What every kind of drafter says of itself, so that other code need not know the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from specsim.errors import Problem
from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.checkpoints.quantisation import WeightFormat
from specsim.inputs.models.base import Count, Input, Number


class EngineNames(NamedTuple):
    """What engines call a kind of drafter.

    Attributes:
        vllm: method in its ``--speculative-config``.
        tensorrt: decoding_type, of kinds whose draft length TensorRT-LLM changes as it runs; None for others.
        sglang: its ``--speculative-algorithm``; None where it has none.
    """

    vllm: str
    tensorrt: str | None = None
    sglang: str | None = None


@dataclass(frozen=True, kw_only=True)
class DrafterFacts:
    """What tells one kind of drafter from another, beside its passes and what they multiply.

    Attributes:
        title: its name in the title of a figure.
        engines: what engines call it.
        config: its own config.json, as the scenario names it; None where it has none.
        in_target_checkpoint: its weights are part of the target's checkpoint.
        looks_up: drafts are looked up: there is no model, no pass and no probability of a draft.
        reads_hidden_states: its KV cache is made from the target's hidden states, which a cached prefix lacks for its
            last block.
        token_a_pass: each pass drafts one token, from the token before it.
        draft_limit: (the most tokens that it drafts, why); None where it drafts any number.
        no_trees: why it drafts no trees, and what to write instead; empty where it drafts them.
    """

    title: str
    engines: EngineNames
    config: str | None = None
    in_target_checkpoint: bool = False
    looks_up: bool = False
    reads_hidden_states: bool = False
    token_a_pass: bool = False
    draft_limit: tuple[int, str] | None = None
    no_trees: str = ""


class DrafterInput(Input, ABC):
    """The base of all drafters."""

    @property
    @abstractmethod
    def facts(self) -> DrafterFacts:
        """What tells this kind of drafter from others."""

    def dimensions_in(self, target: ModelConfig) -> ModelConfig | None:
        """The dimensions that the target gives to a drafter without a config.json of its own."""
        return None

    def misfits(self, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
        """What keeps it from drafting for a target.

        Args:
            target: the model that verifies.
            model: the drafter's own dimensions, or ``dimensions_in(target)``.
        """
        yield from ()


class LoadedDrafter(DrafterInput):
    """A drafter that brings weights."""

    weight_format: WeightFormat | None = None
    """Format of its matrices; by default what its config.json states, else bf16."""
    tensor_parallel: Count | None = None
    """Devices that share it (vLLM's draft_tensor_parallel_size); by default as many as share the target."""
    time_factor: Annotated[Number, Field(gt=0, le=100)] | None = None
    """How many times as long its passes take on the device as the cost model says, where that was measured. Left out:
    as long."""


def misfit(field: str, value: object, remedy: str) -> Problem:
    """A problem with a field of the drafter."""
    return Problem("", f"speculation.drafter.{field}", repr(value), remedy)


def model_name(reference: str) -> str:
    """A catalogue name, or the folder of a config.json, which people name after the model."""
    path = Path(reference)
    return path.parent.name or path.stem if path.name == "config.json" else path.name.removesuffix(".json")


def unlike_states(model_reference: str, target: ModelConfig, model: ModelConfig) -> Iterator[Problem]:
    """That a head cannot read the target's hidden states, since it is not as wide."""
    if model.hidden_size != target.hidden_size:
        remedy = (
            f"a head of hidden size {model.hidden_size} cannot read the target's states of size {target.hidden_size}; "
            "use the head made for this target"
        )
        yield misfit("model", model_reference, remedy)


def unlike_vocabularies(mapped: str, target: ModelConfig, model: ModelConfig, hint: str = "") -> Iterator[Problem]:
    """That a drafter's token ids are not the target's, and nothing maps them.

    Args:
        mapped: the drafter's ``vocabulary_map``.
        target, model: whose vocabularies.
        hint: another remedy, that only some drafters have.
    """
    if mapped == "prefix":
        return
    if model.vocab_size != target.vocab_size:
        remedy = (
            f"the drafter's vocabulary has {model.vocab_size} tokens and the target's {target.vocab_size}, so "
            f"token-level verification is undefined; use a drafter of the target's tokenizer{hint}"
        )
        yield misfit("vocabulary_map", mapped, remedy)
    if model.draft_vocab_size not in (None, target.vocab_size) and mapped != "d2t":
        remedy = (
            f"the head scores {model.draft_vocab_size} of the target's {target.vocab_size} tokens; "
            "write 'vocabulary_map: d2t' if it ships its id table"
        )
        yield misfit("vocabulary_map", mapped, remedy)
