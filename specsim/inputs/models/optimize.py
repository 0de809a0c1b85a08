"""The search space of an optimiser: devices, batch and token limits, policies; and how many trials it has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from specsim.inputs.models.base import MOST_IN_FLIGHT, AscendingDraftLengths, Count, Input, ascending
from specsim.inputs.models.plan import PlannedPolicy

SearchedPolicy = Literal["none", "schedule", PlannedPolicy]
"""none: no speculation; schedule: the table of draft lengths that a curve of the same devices gives; or a kind that a
draft length alone makes whole."""
WITHOUT_LENGTH = ("none", "schedule")
"""Those to which no draft length is given."""

Places = Annotated[int, Field(ge=1, le=MOST_IN_FLIGHT - 1, strict=True)]
Tokens = Annotated[int, Field(ge=1, le=2**20, strict=True)]


def _each_once(kinds: tuple[SearchedPolicy, ...]) -> tuple[SearchedPolicy, ...]:
    if len(set(kinds)) < len(kinds):
        raise ValueError("has a kind twice; keep one")
    return kinds


class Optimize(Input):
    """What `specsim optimize` searches; within which limits and at which price, `plan` says."""

    tensor_parallel: Annotated[tuple[Count, ...], Field(min_length=1), AfterValidator(ascending)] | None = None
    """Devices that share each matrix of the target; by default 1, 2, 4 and 8, as far as the device can link them."""
    max_num_seqs: Annotated[tuple[Places, ...], Field(min_length=1), AfterValidator(ascending)] | None = None
    """Most requests in a step; by default an eighth, a quarter and half of the engine profile's, and its own."""
    token_budget: Annotated[tuple[Tokens, ...], Field(min_length=1), AfterValidator(ascending)] | None = None
    """Most tokens in a step (max_num_batched_tokens); by default the profile's, and a quarter, half and twice of it."""
    num_draft_tokens: AscendingDraftLengths | None = None
    """Draft lengths; by default those of the plan."""
    policies: Annotated[tuple[SearchedPolicy, ...], Field(min_length=1), AfterValidator(_each_once)] | None = None
    """Kinds of policies; by default none, static and schedule, and those of the plan."""
    trials: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 32
    """Combinations that the search measures by short runs; where there are no more, all are."""
    finalists: Annotated[int, Field(ge=1, le=100, strict=True)] = 5
    """The cheapest of these, which are measured anew as `specsim plan` does."""
