"""Acceptance of drafts as users give it, converted here, and only here, to conditional acceptance.

Marginal acceptance at position i is P(positions 1..i all accepted), what vLLM logs; conditional acceptance is
P(i accepted | 1..i−1 accepted). Mean acceptance length = 1 + Σ marginal.

At a draft length other than the measured one, a longer profile is cut to the first K positions, and a shorter one is
continued with the conditional acceptance of its last position.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from specsim.arrays import Floats
from specsim.inputs.models.base import Count, Fraction, Input, Number
from specsim.inputs.models.token_sources import NgramModels, ReplayAcceptance
from specsim.inputs.models.variation import ByContext, HardStretches

ListedLength = Annotated[int, Field(ge=1, le=64)]


def conditional_from_marginal(marginal: ArrayLike) -> Floats:
    """Conditional acceptance per position [K] from marginal [K]; 0 after a position that is never reached."""
    values = np.asarray(marginal, dtype=np.float64)
    before = np.concatenate(([1.0], values[:-1]))
    return np.divide(values, before, out=np.zeros_like(values), where=before > 0)


def extended(conditional: ArrayLike, num_draft_tokens: int) -> Floats:
    """The profile at another draft length: cut, or continued with its last value [num_draft_tokens]."""
    values = np.asarray(conditional, dtype=np.float64)
    missing = max(0, num_draft_tokens - len(values))
    return np.concatenate((values, np.full(missing, values[-1])))[:num_draft_tokens]


def geometric_acceptance(mean_acceptance_length: float, num_draft_tokens: int) -> float:
    """The constant conditional acceptance α with 1 + α + … + α^K equal to the mean acceptance length.

    Args:
        mean_acceptance_length: tokens per verify including the bonus or recovered one, in [1, K+1].
        num_draft_tokens: the K at which it was measured.
    """
    from scipy.optimize import brentq

    powers = np.arange(num_draft_tokens + 1)
    return float(brentq(lambda alpha: np.sum(alpha**powers) - mean_acceptance_length, 0.0, 1.0, xtol=1e-15))


def minimum_variance_acceptance(mean_acceptance_length: float, num_draft_tokens: int) -> Floats:
    """Conditional acceptance [K] whose accepted length varies least: ones, then one fraction, then zeros.

    As vLLM's ``synthetic_acceptance_length``. The mean is that of the geometric shape, the tails differ.
    """
    accepted = mean_acceptance_length - 1
    return np.clip(accepted - np.arange(num_draft_tokens), 0.0, 1.0)


class _Sourced(Input):
    source: str = ""
    """Where the figures come from; printed with the result."""


class _Acceptance(_Sourced):
    vocabulary: Annotated[int, Field(ge=2, le=4096, strict=True)] = 32
    """Size of the vocabulary of the simulated p and q rows; token-wise acceptance does not depend on it."""
    concentration: Annotated[Number, Field(ge=0.1, le=100)] = 1.0
    """Dirichlet parameter of the random shapes of p and q: 1 makes all shapes equally likely, less makes peaks, more
    makes them even. Token-wise and greedy acceptance do not depend on it; what the block verifier gains over them does:
    at overlap 0.7 and 4 drafts 2 % more tokens with 0.3, 6 % with 1, 11 % with 3, 15 % with 100."""
    spread: Annotated[Number, Field(gt=0, lt=0.5)] | None = None
    """Standard deviation, from request to request, of the acceptance at the first position, which is Beta distributed
    with the given acceptance as its mean. Left out, all requests are alike."""
    hard_stretches: HardStretches | None = None
    """Stretches of the output in which drafts are accepted less often. Left out, all of it is alike."""
    by_context: ByContext | None = None
    """Factor on the acceptance at these context lengths in tokens: interpolated in between, beyond the ends that of the
    nearest. Left out, it does not depend on the context."""

    @property
    def varies(self) -> bool:
        """Whether acceptance depends on more than the position in a draft."""
        return not (self.spread is None and self.hard_stretches is None and self.by_context is None)

    @property
    def length_error(self) -> float:
        """Relative standard error of the mean acceptance length; 0 where nothing is known of it."""
        return 0.0


class ConstantAcceptance(_Acceptance):
    """Every position overlaps by the same α = Σ min(p, q)."""

    kind: Literal["constant"]
    overlap: Fraction

    def conditional(self, num_draft_tokens: int) -> Floats:
        """Conditional acceptance per position [num_draft_tokens]."""
        return np.full(num_draft_tokens, self.overlap)

    def scaled(self, factor: float) -> ConstantAcceptance:
        """With the conditional acceptance multiplied, up to 1."""
        return self.model_copy(update={"overlap": min(1.0, factor * self.overlap)})

    @property
    def first_overlap(self) -> float:
        """Acceptance at the first position."""
        return self.overlap

    @property
    def measured_positions(self) -> int | None:
        """How many positions the figures cover; None for all."""
        return None


class ProfileAcceptance(_Acceptance):
    """Acceptance per draft position, as an engine logs it."""

    kind: Literal["profile"]
    basis: Literal["marginal", "conditional"]
    """marginal: P(positions 1..i all accepted), what vLLM logs; conditional: P(i accepted | 1..i−1 accepted)."""
    values: Annotated[tuple[Fraction, ...], Field(min_length=1)]
    by_num_draft_tokens: dict[ListedLength, tuple[Fraction, ...]] | None = None
    """Draft length → the profile of rounds with that draft length, a value per position; other rounds use `values`.
    A round goes by its own draft length, whatever the policy's longest is."""

    @model_validator(mode="after")
    def _marginal_falls(self) -> ProfileAcceptance:
        for values in (self.values, *(self.by_num_draft_tokens or {}).values()):
            for i, (earlier, later) in enumerate(pairwise(values), start=2):
                if self.basis == "marginal" and later > earlier:
                    raise ValueError(
                        f"marginal acceptance cannot rise from {earlier} to {later} at position {i}; correct it, or "
                        "write 'basis: conditional' if these are P(i accepted | 1..i-1 accepted)"
                    )
        return self

    @model_validator(mode="after")
    def _has_a_value_for_each_draft(self) -> ProfileAcceptance:
        for length, values in (self.by_num_draft_tokens or {}).items():
            if len(values) != length:
                raise ValueError(
                    f"by_num_draft_tokens has {len(values)} values for drafts of {length} tokens; write {length}"
                )
        return self

    def conditional(self, num_draft_tokens: int) -> Floats:
        """Conditional acceptance per position [num_draft_tokens], cut or continued as the module describes."""
        values = (self.by_num_draft_tokens or {}).get(num_draft_tokens, self.values)
        return extended(values if self.basis == "conditional" else conditional_from_marginal(values), num_draft_tokens)

    def scaled(self, factor: float) -> ProfileAcceptance:
        """With each conditional acceptance multiplied, up to 1."""

        def values(length: int) -> tuple[float, ...]:
            return tuple(float(min(1.0, factor * value)) for value in self.conditional(length))

        by_length = self.by_num_draft_tokens and {length: values(length) for length in self.by_num_draft_tokens}
        whole = {"basis": "conditional", "values": values(len(self.values)), "by_num_draft_tokens": by_length}
        return self.model_copy(update=whole)

    @property
    def varies(self) -> bool:
        """Whether acceptance depends on more than the position in a draft."""
        return super().varies or bool(self.by_num_draft_tokens)

    @property
    def first_overlap(self) -> float:
        """Acceptance at the first position, of drafts whose length is not listed."""
        return self.values[0]

    @property
    def measured_positions(self) -> int | None:
        """How many positions the figures cover; None for all."""
        return max(len(self.values), *(self.by_num_draft_tokens or (0,)))


class CountedAcceptance(_Acceptance):
    """Acceptance per draft position as an engine's counters have it, whose binomial error answers carry."""

    kind: Literal["counts"]
    drafts: Count
    """Verifies that had a draft (vLLM's num_drafts)."""
    accepted: Annotated[tuple[Annotated[int, Field(ge=0, strict=True)], ...], Field(min_length=1)]
    """Of these, how many had each position accepted, and so all before it (vLLM's num_accepted_tokens_per_pos)."""

    @model_validator(mode="after")
    def _counts_fall(self) -> CountedAcceptance:
        for i, (earlier, later) in enumerate(pairwise((self.drafts, *self.accepted)), start=1):
            if later > earlier:
                raise ValueError(
                    f"accepted has {later} at position {i} of only {earlier} that came so far; give the counts of one "
                    "run, each of positions 1 to i all accepted"
                )
        return self

    @property
    def profile(self) -> ProfileAcceptance:
        """The same as shares."""
        shared = self.model_dump(include=set(_Acceptance.model_fields))
        values = tuple(count / self.drafts for count in self.accepted)
        return ProfileAcceptance(kind="profile", basis="marginal", values=values, **shared)

    @property
    def length_error(self) -> float:
        """Relative standard error of the mean acceptance length, drafts taken as independent.

        Of a draft, A positions are accepted with E A = Σ a and E A² = Σ (2i − 1) a for marginals a of positions i.
        """
        marginal = np.array(self.accepted) / self.drafts
        mean = float(marginal.sum())
        square = float(((2 * np.arange(1, len(marginal) + 1) - 1) * marginal).sum())
        return float(np.sqrt(max(square - mean**2, 0.0) / self.drafts)) / (1 + mean)

    def conditional(self, num_draft_tokens: int) -> Floats:
        """Conditional acceptance per position [num_draft_tokens], cut or continued as the module describes."""
        return self.profile.conditional(num_draft_tokens)

    def scaled(self, factor: float) -> ProfileAcceptance:
        """With each conditional acceptance multiplied, up to 1; a profile, since nobody counted it."""
        return self.profile.scaled(factor)

    @property
    def first_overlap(self) -> float:
        """Acceptance at the first position."""
        return self.accepted[0] / self.drafts

    @property
    def measured_positions(self) -> int | None:
        """How many positions the figures cover; None for all."""
        return len(self.accepted)


class MeanLengthAcceptance(_Acceptance):
    """A bare mean acceptance length, with the shape that engines differ in: the same mean gives other tails."""

    kind: Literal["mean_length"]
    mean_acceptance_length: Annotated[Number, Field(ge=1)]
    """Tokens per verify, including the recovered or bonus token."""
    num_draft_tokens: Count
    """The draft length at which the mean was measured."""
    shape: Literal["geometric", "minimum_variance"]
    """geometric: one α for all positions (llama.cpp's reading); minimum_variance: ones, a fraction, zeros (vLLM's)."""

    @model_validator(mode="after")
    def _length_is_reachable(self) -> MeanLengthAcceptance:
        if self.mean_acceptance_length > self.num_draft_tokens + 1:
            raise ValueError(
                f"mean_acceptance_length {self.mean_acceptance_length} cannot exceed num_draft_tokens + 1 = "
                f"{self.num_draft_tokens + 1}"
            )
        return self

    def conditional(self, num_draft_tokens: int) -> Floats:
        """Conditional acceptance per position [num_draft_tokens], cut or continued as the module describes."""
        if self.shape == "geometric":
            alpha = geometric_acceptance(self.mean_acceptance_length, self.num_draft_tokens)
            return np.full(num_draft_tokens, alpha)
        measured = minimum_variance_acceptance(self.mean_acceptance_length, self.num_draft_tokens)
        return extended(measured, num_draft_tokens)

    def scaled(self, factor: float) -> ProfileAcceptance:
        """With each conditional acceptance multiplied, up to 1; a profile, since the result has neither shape."""
        measured = tuple(self.conditional(self.num_draft_tokens))
        shared = self.model_dump(include=set(_Acceptance.model_fields))
        return ProfileAcceptance(kind="profile", basis="conditional", values=measured, **shared).scaled(factor)

    @property
    def first_overlap(self) -> float:
        """Acceptance at the first position."""
        return float(self.conditional(1)[0])

    @property
    def measured_positions(self) -> int | None:
        """How many positions the figures cover; None for all."""
        return self.num_draft_tokens


StatedAcceptance = ConstantAcceptance | ProfileAcceptance | CountedAcceptance | MeanLengthAcceptance
"""What is stated as figures; rows of p and q are made up to have it."""
Acceptance = Annotated[StatedAcceptance | ReplayAcceptance | NgramModels, Field(discriminator="kind")]
