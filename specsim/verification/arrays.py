"""The array types a verifier takes and returns, its rules, and the signature that every variant of it shares.

Knows nothing of what is done with the arrays.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from specsim.arrays import Bools
from specsim.arrays import Floats as Float64s
from specsim.arrays import Ints as Int64s

__all__ = ["Bools", "ChainVerifier", "Emitted", "Float64s", "Floats", "Int64s", "Ints", "Outcome", "Rule", "RuleName"]

Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.floating[Any]]
Emitted: TypeAlias = tuple[Int64s, Int64s]
Outcome: TypeAlias = tuple[Int64s, Int64s]
RuleName: TypeAlias = Literal["token", "block"]
"""What `verify_rows` and its like are asked for; the same as ``Rule``, in lower case."""


class Rule(IntEnum):
    """How drafts are verified: the rules for chains, trees (`verify_tree`), and chains of language models.

    ``GREEDY`` is the rule at temperature 0; ``TEXT`` is the token rule, or the greedy one, on texts.
    """

    TOKEN = 0
    BLOCK = 1
    GREEDY = 2
    TREE = 3
    TEXT = 4


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
