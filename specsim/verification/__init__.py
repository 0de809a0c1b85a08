"""Lossless verifiers of speculative decoding, and the proof that they are: arrays in, arrays out.

A library in its own right: it needs NumPy, and scipy only to prove. Knows nothing of serving, time or models.
"""

from typing import TYPE_CHECKING, Any

from specsim.verification.arrays import ChainVerifier
from specsim.verification.block import verify_block
from specsim.verification.chain import verify_chain
from specsim.verification.expected import keeping_probability, mean_tokens
from specsim.verification.greedy import verify_greedy
from specsim.verification.row_form import verify_rows

if TYPE_CHECKING:
    from specsim.verification.proof import Check, prove

__all__ = [
    "ChainVerifier",
    "Check",
    "keeping_probability",
    "mean_tokens",
    "prove",
    "verify_block",
    "verify_chain",
    "verify_greedy",
    "verify_rows",
]


def __getattr__(name: str) -> Any:
    """The proof is loaded when it is asked for: who only verifies does not wait for its mutants."""
    if name not in ("Check", "prove"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from specsim.verification import proof

    return getattr(proof, name)
