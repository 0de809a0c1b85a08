"""Lossless verifiers of drafted tokens, and the proof that they are: arrays in, arrays out.

A library in its own right: it needs NumPy, and scipy only to prove. Knows nothing of serving, time or models.
"""

from typing import TYPE_CHECKING, Any

from specsim.verification.arrays import ChainVerifier
from specsim.verification.block import verify_block
from specsim.verification.chain import verify_chain
from specsim.verification.checks import Check
from specsim.verification.expected import keeping_probability, mean_tokens
from specsim.verification.greedy import verify_greedy
from specsim.verification.processors import LazyTable, Processors, process
from specsim.verification.row_form import verify_rows
from specsim.verification.tree import verify_tree
from specsim.verification.tree_expected import mean_tree_tokens, node_acceptance
from specsim.verification.vocabulary import VocabularyMap

if TYPE_CHECKING:
    from specsim.verification.conformance import assert_lossless, detectable_total_variation
    from specsim.verification.proof import prove

__all__ = [
    "ChainVerifier",
    "Check",
    "LazyTable",
    "Processors",
    "VocabularyMap",
    "assert_lossless",
    "detectable_total_variation",
    "keeping_probability",
    "mean_tokens",
    "mean_tree_tokens",
    "node_acceptance",
    "process",
    "prove",
    "verify_block",
    "verify_chain",
    "verify_greedy",
    "verify_rows",
    "verify_tree",
]


def __getattr__(name: str) -> Any:
    """Proofs are loaded when they are asked for: who only verifies does not wait for their mutants."""
    if name in ("assert_lossless", "detectable_total_variation"):
        from specsim.verification import conformance

        return getattr(conformance, name)
    if name == "prove":
        from specsim.verification.proof import prove

        return prove
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
