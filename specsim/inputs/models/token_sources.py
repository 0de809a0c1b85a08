"""Acceptance without a figure: read from a recording, or a consequence of two language models."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from specsim.inputs.models.base import Input, Number

Order = Annotated[int, Field(ge=1, le=8, strict=True)]


class ReplayAcceptance(Input):
    """What was accepted of real requests, position by position of the output."""

    kind: Literal["replay"]
    file: str
    """Path of a recording: JSONL, a request a line, with prompt_tokens, output_tokens and lists. Each request takes one
    of those recorded: that of which its lengths are, or one that is drawn."""
    field: str
    """Which list: for each output position from 0 on, how many tokens a verify that starts there emits (accepted + 1).
    Beyond its end a list starts anew."""
    source: str = ""
    """Where the recording comes from; printed with the result."""
    varies: ClassVar[bool] = True
    measured_positions: ClassVar[None] = None  # how many a recording covers is not known before it is read


class NgramModels(Input):
    """Two language models of one text, counts of n-grams: the target looks further back than the drafter.

    Both distributions go through temperature and top-p and then to the verifier, and what it emits is the next context.
    """

    kind: Literal["ngram_models"]
    text: str
    """Catalogue name (`specsim list texts`) or path of a text in UTF-8."""
    unit: Literal["byte", "word"] = "byte"
    """What a token is; words are what white space separates."""
    vocabulary: Annotated[int, Field(ge=2, le=256, strict=True)] = 256
    """Largest number of distinct tokens: the most frequent ones; all others count as one more."""
    target_order: Order
    """Tokens of the target's n-grams, the one it predicts included: 1 knows no context."""
    drafter_order: Order
    """Tokens of the drafter's n-grams, no more than the target's."""
    interpolation: Annotated[Number, Field(gt=0, lt=1)] = 0.1
    """Weight of the model of the next lower order in each model, that of order 0 being uniform."""
    top_p: Annotated[Number, Field(gt=0, le=1)] = 1.0
    """Of both models, after temperature: the most likely tokens that together have this probability."""
    drafter_temperature: Annotated[Number, Field(ge=0)] | None = None
    """Temperature at which drafts are sampled; by default that of the requests."""
    source: str = ""
    """Where the text comes from; printed with the result."""
    varies: ClassVar[bool] = True
    measured_positions: ClassVar[None] = None

    @model_validator(mode="after")
    def _drafter_knows_less(self) -> NgramModels:
        if self.drafter_order > self.target_order:
            raise ValueError(
                f"drafter_order {self.drafter_order} is above target_order {self.target_order}; write at most that"
            )
        return self
