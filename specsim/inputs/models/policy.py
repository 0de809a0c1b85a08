"""Policies: how the number of draft tokens is chosen, and from what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from specsim.inputs.models.base import Count, Input, Number
from specsim.inputs.models.schedule import DraftLength, SchedulePolicy

LongestDraft = Annotated[int, Field(ge=1, le=64, strict=True)]


class StaticPolicy(Input):
    """The same number of draft tokens for every request at every step; 0 switches speculation off."""

    kind: Literal["static"] = "static"
    num_draft_tokens: DraftLength
    """Draft tokens per verify (vLLM's num_speculative_tokens; SGLang's num_draft_tokens is one more). With a tree, how
    many of its levels are drafted; each is a position, with as many draft tokens as the level has nodes."""


class OffAbovePolicy(Input):
    """The same number, with speculation switched off above a batch (vLLM's former disable_by_batch).

    With resume_at it comes back only at a smaller batch, so that a load near the limit does not switch to and fro.
    """

    kind: Literal["off_above"]
    num_draft_tokens: LongestDraft
    batch: Count
    """Speculation is off in steps in which more requests than this decode."""
    resume_at: Count | None = None
    """Once off, it is on again when no more than this decode; left out: the same as batch."""

    @model_validator(mode="after")
    def _resumes_below(self) -> OffAbovePolicy:
        if self.resume_at is not None and self.resume_at > self.batch:
            raise ValueError(
                f"resume_at {self.resume_at} lies above batch {self.batch}, where speculation is off; write at most "
                f"{self.batch}"
            )
        return self


class GoodputPolicy(Input):
    """At each step the draft length with the most expected tokens per second, for the batch as it is.

    As SmartSpec (Liu et al., arXiv 2406.14066): expected tokens from acceptance observed so far, position by position,
    and step times from the cost model that the engine was profiled with.
    """

    kind: Literal["goodput"]
    num_draft_tokens: LongestDraft
    """The longest draft that it can choose."""
    initial_acceptance: Annotated[Number, Field(gt=0, lt=1)] = 0.7
    """What it takes acceptance at each position to be (given all before it) until it has seen some, and in time again
    at positions that it no longer drafts for, so that it tries them anew."""
    half_life: Count = 2000
    """Rounds of requests, with drafts or without, after which what was seen counts half."""


class PerRequestPolicy(Input):
    """Each request's own draft length: two more after a round in which all drafts were accepted, else one less.

    As Hugging Face's assisted generation does by default (num_assistant_tokens_schedule: heuristic).
    """

    kind: Literal["per_request"]
    num_draft_tokens: LongestDraft
    """The longest draft."""
    start: LongestDraft = 3
    """A request's first draft length."""

    @model_validator(mode="after")
    def _starts_within(self) -> PerRequestPolicy:
        if self.start > self.num_draft_tokens:
            raise ValueError(
                f"start {self.start} is longer than num_draft_tokens {self.num_draft_tokens}; write at most that"
            )
        return self


class ConfidencePolicy(Input):
    """Drafting stops after a token to which the drafter itself gave little probability.

    As Hugging Face's assistant_confidence_threshold. The token is kept: leaving out a token for what it is would change
    the law of the output.
    """

    kind: Literal["confidence"]
    num_draft_tokens: LongestDraft
    """The longest draft."""
    threshold: Annotated[Number, Field(gt=0, lt=1)] = 0.4
    """Drafting goes on while the drafter's probability of the token it drew is at least this."""


class OraclePolicy(Input):
    """Knows what will be accepted, and drafts one token past it: no policy can waste less.

    One past, because stopping just before the first rejection would change the law of the output.
    """

    kind: Literal["oracle"]
    num_draft_tokens: LongestDraft
    """The longest draft."""


Policy = Annotated[
    StaticPolicy | OffAbovePolicy | SchedulePolicy | GoodputPolicy | PerRequestPolicy | ConfidencePolicy | OraclePolicy,
    Field(discriminator="kind"),
]


def _static_by_default(policy: object) -> object:
    return {"kind": "static", **policy} if isinstance(policy, dict) else policy


PolicyField = Annotated[Policy, BeforeValidator(_static_by_default)]
"""A policy as files have it: static where no kind is given."""
