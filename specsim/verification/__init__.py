"""Lossless verifiers of speculative decoding, and the proof that they are: arrays in, arrays out.

A library in its own right: it needs NumPy, and scipy only to prove. Knows nothing of serving, time or models.
"""

from specsim.verification.arrays import ChainVerifier
from specsim.verification.chain import verify_chain
from specsim.verification.conformance import assert_lossless, detectable_total_variation
from specsim.verification.greedy import verify_greedy
from specsim.verification.processors import LazyTable, Processors, process
from specsim.verification.proof import Check, prove
from specsim.verification.tree import verify_tree
from specsim.verification.vocabulary import VocabularyMap

__all__ = [
    "ChainVerifier",
    "Check",
    "LazyTable",
    "Processors",
    "VocabularyMap",
    "assert_lossless",
    "detectable_total_variation",
    "process",
    "prove",
    "verify_chain",
    "verify_greedy",
    "verify_tree",
]
