"""The array types a verifier takes and returns, and the signature that every variant of it shares.

Knows nothing of what is done with the arrays.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.floating[Any]]
Int64s: TypeAlias = NDArray[np.int64]
Float64s: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
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
