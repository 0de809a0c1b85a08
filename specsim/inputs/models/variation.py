"""How acceptance varies around its mean: along an output, and with the context."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from specsim.inputs.models.base import Fraction, Input, Number


class HardStretches(Input):
    """Output positions are easy or hard, by a Markov chain with these shares and lengths; the mean stays as given."""

    share: Annotated[Number, Field(gt=0, lt=1)]
    """Of output positions, those that are hard."""
    mean_length: Annotated[Number, Field(ge=1)]
    """How many hard positions follow one another on average; the lengths of stretches are geometric."""
    drop: Annotated[Number, Field(gt=0, le=1)]
    """How much lower acceptance is at a hard position than at an easy one, where it is as given for the first position
    of a draft; the nearer it is to 0 or to 1, the less, in proportion to the room."""

    @property
    def leave(self) -> float:
        """P(the next position is easy | this one is hard)."""
        return 1 / self.mean_length

    @property
    def enter(self) -> float:
        """P(the next position is hard | this one is easy)."""
        return self.share / (1 - self.share) / self.mean_length

    @model_validator(mode="after")
    def _easy_stretches_have_a_length(self) -> HardStretches:
        if self.enter > 1:
            least = self.share / (1 - self.share)
            raise ValueError(
                f"with a share of {self.share:g} hard stretches are at least {least:g} positions long, since at least "
                "one easy position lies between two; write a larger mean_length or a smaller share"
            )
        return self


class ContextFactor(Input):
    """What acceptance is multiplied by at a context."""

    tokens: Annotated[int, Field(ge=0, strict=True)]
    """Of prompt and output before the position that is drafted for."""
    factor: Fraction
    """Factor on the given acceptance, which is that of the context at which it is highest."""


def _ascending(table: tuple[ContextFactor, ...]) -> tuple[ContextFactor, ...]:
    for earlier, later in pairwise(table):
        if later.tokens <= earlier.tokens:
            raise ValueError(f"tokens must ascend; {later.tokens} follows {earlier.tokens}")
    return table


ByContext = Annotated[tuple[ContextFactor, ...], Field(min_length=1), AfterValidator(_ascending)]
