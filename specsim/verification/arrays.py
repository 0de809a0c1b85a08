"""The array types a verifier takes and returns, and the signature that every variant of it shares.

Knows nothing of what is done with the arrays.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from specsim.arrays import Bools
from specsim.arrays import Floats as Float64s
from specsim.arrays import Ints as Int64s

__all__ = ["Bools", "ChainVerifier", "Emitted", "Float64s", "Floats", "Int64s", "Ints", "Outcome", "RuleName"]

Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.floating[Any]]
Emitted: TypeAlias = tuple[Int64s, Int64s]
Outcome: TypeAlias = tuple[Int64s, Int64s]
RuleName: TypeAlias = Literal["token", "block"]


class ChainVerifier(Protocol):
    """The signature of `verify_chain`, of `verify_block`, of their scalar references and of their mutants."""

    def __call__(
        self,
        draft: Ints,
        q: Floats | None,
        p: Floats,
        num_draft: Ints,
        *,
        greedy: Bools | None = None,
        rng: np.random.Generator | None = None,
        accept_uniforms: Floats | None = None,
        final_uniforms: Floats | None = None,
        validate: bool = True,
    ) -> Emitted:
        """Verify a batch of drafts; see `verify_chain`."""
        ...
