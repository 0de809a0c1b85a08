"""How likely drafts are to be accepted: what the user states, converted in this one place to conditional acceptance.

Marginal acceptance at position i is P(positions 1..i all accepted), what vLLM logs; conditional acceptance is
P(i accepted | 1..i−1 accepted). Mean acceptance length = 1 + Σ marginal.

One rule for draft lengths other than the measured one: a longer profile is cut to the first K positions; beyond a
shorter one the conditional acceptance of its last position is held.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, model_validator

from specsim.schema.base import Count, Fraction, Input, Number

Floats = NDArray[np.float64]


def conditional_from_marginal(marginal: ArrayLike) -> Floats:
    """Conditional acceptance per position [K] from marginal [K]; 0 after a position that is never reached."""
    values = np.asarray(marginal, dtype=np.float64)
    before = np.concatenate(([1.0], values[:-1]))
    return np.divide(values, before, out=np.zeros_like(values), where=before > 0)


def marginal_from_conditional(conditional: ArrayLike) -> Floats:
    """Marginal acceptance per position [K] from conditional [K]."""
    return np.cumprod(np.asarray(conditional, dtype=np.float64), dtype=np.float64)


def extended(conditional: ArrayLike, num_draft_tokens: int) -> Floats:
    """The profile at another draft length: cut, or the last conditional value held."""
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

    This is what vLLM's ``synthetic_acceptance_length`` means; the same mean as the geometric shape, other tails.
    """
    accepted = mean_acceptance_length - 1
    return np.clip(accepted - np.arange(num_draft_tokens), 0.0, 1.0)


class _Acceptance(Input):
    vocabulary: Annotated[int, Field(ge=2, le=4096, strict=True)] = 32
    """Size of the vocabulary of the simulated p and q rows; token-wise acceptance does not depend on it."""
    concentration: Annotated[Number, Field(ge=0.1, le=100)] = 1.0
    """Dirichlet parameter of the random shapes of p and q: 1 makes all shapes equally likely, less makes peaks, more
    makes them even. Token-wise and greedy acceptance do not depend on it; what the block verifier gains over them does:
    at overlap 0.7 and 4 drafts 2 % more tokens with 0.3, 6 % with 1, 11 % with 3, 15 % with 100."""
    source: str = ""
    """Where the figures come from; printed with the result."""


class ConstantAcceptance(_Acceptance):
    """Every position overlaps by the same α = Σ min(p, q)."""

    kind: Literal["constant"]
    overlap: Fraction

    def conditional(self, num_draft_tokens: int) -> Floats:
        """Conditional acceptance per position [num_draft_tokens]."""
        return np.full(num_draft_tokens, self.overlap)

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

    @model_validator(mode="after")
    def _marginal_falls(self) -> ProfileAcceptance:
        if self.basis == "marginal":
            for i, (earlier, later) in enumerate(zip(self.values, self.values[1:], strict=False), start=2):
                if later > earlier:
                    raise ValueError(
                        f"marginal acceptance cannot rise from {earlier} to {later} at position {i}; correct it, or "
                        "write 'basis: conditional' if these are P(i accepted | 1..i-1 accepted)"
                    )
        return self

    def conditional(self, num_draft_tokens: int) -> Floats:
        """Conditional acceptance per position [num_draft_tokens], cut or held as the module states."""
        given = self.values if self.basis == "conditional" else conditional_from_marginal(self.values)
        return extended(given, num_draft_tokens)

    @property
    def measured_positions(self) -> int | None:
        """How many positions the figures cover; None for all."""
        return len(self.values)


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
        """Conditional acceptance per position [num_draft_tokens], cut or held as the module states."""
        if self.shape == "geometric":
            alpha = geometric_acceptance(self.mean_acceptance_length, self.num_draft_tokens)
            return np.full(num_draft_tokens, alpha)
        measured = minimum_variance_acceptance(self.mean_acceptance_length, self.num_draft_tokens)
        return extended(measured, num_draft_tokens)

    @property
    def measured_positions(self) -> int | None:
        """How many positions the figures cover; None for all."""
        return None if self.shape == "geometric" else self.num_draft_tokens


Acceptance = Annotated[ConstantAcceptance | ProfileAcceptance | MeanLengthAcceptance, Field(discriminator="kind")]
