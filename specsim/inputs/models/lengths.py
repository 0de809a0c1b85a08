"""How long prompts and outputs are."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from specsim.inputs.models.base import Count, Input, Number

TraceFormat = Literal["azure", "mooncake", "burstgpt", "specsim", "recording"]


class FixedLengths(Input):
    """Every request has the same lengths."""

    kind: Literal["fixed"]
    prompt_tokens: Count
    output_tokens: Count


def _ordered(bounds: tuple[int, int]) -> tuple[int, int]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"the first is above the second; write [{bounds[1]}, {bounds[0]}]")
    return bounds


Bounds = Annotated[tuple[Count, Count], AfterValidator(_ordered)]


class UniformLengths(Input):
    """Every whole number of tokens between two bounds, both included, is as likely; prompt and output independent."""

    kind: Literal["uniform"]
    prompt: Bounds
    """The least and the most tokens of a prompt."""
    output: Bounds
    """The least and the most tokens of an output."""


class Spread(Input):
    """A distribution of lengths by its mean and standard deviation, kept within bounds.

    Both are those of the tokens themselves (of a lognormal too, not of their logarithms) before a draw is rounded to
    whole tokens and anything beyond a bound is set to the bound, which moves the mean.
    """

    mean: Annotated[Number, Field(gt=0)]
    """Tokens, before rounding and clipping."""
    sd: Annotated[Number, Field(ge=0)]
    """Standard deviation in tokens, before rounding and clipping."""
    min: Count = 1
    """Shorter draws are made so long."""
    max: Count
    """Longer draws are made so long."""

    @model_validator(mode="after")
    def _in_order(self) -> Spread:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) is above max ({self.max}); swap them")
        return self


class NormalLengths(Input):
    """Prompt and output lengths from normal distributions, independent of each other."""

    kind: Literal["normal"]
    prompt: Spread
    output: Spread


class LognormalLengths(Input):
    """Prompt and output lengths from lognormal distributions, independent of each other."""

    kind: Literal["lognormal"]
    prompt: Spread
    output: Spread

    @model_validator(mode="after")
    def _has_a_logarithm(self) -> LognormalLengths:
        for name, spread in (("prompt", self.prompt), ("output", self.output)):
            if not math.isfinite((spread.sd / spread.mean) ** 2):
                raise ValueError(f"{name}.sd is too large for its mean; write a smaller one")
        return self


class QuantileLengths(Input):
    """Prompt and output lengths drawn together from a table of joint quantiles."""

    kind: Literal["quantiles"]
    table: str
    """Catalogue name or path of the table, as written by `specsim quantiles`."""


class TraceLengths(Input):
    """Prompt and output lengths of a request trace: drawn in pairs, or under a `replay` load in the trace's order."""

    kind: Literal["trace"]
    file: str
    """Path of a trace: CSV of Azure or BurstGPT, JSONL of Mooncake, CSV of arrival_s, prompt_tokens, output_tokens; or
    of a recording of acceptance, which has lengths but no times."""
    format: TraceFormat | None = None
    """Which of these; by default told from the file's first line."""


Lengths = Annotated[
    FixedLengths | UniformLengths | NormalLengths | LognormalLengths | QuantileLengths | TraceLengths,
    Field(discriminator="kind"),
]
