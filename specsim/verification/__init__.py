"""Lossless verifiers of drafted tokens: arrays in, arrays out. The proof that they are lossless is `proof`.

A library in its own right: it needs NumPy alone. Knows nothing of serving, time or models.
"""

from specsim.verification.arrays import ChainVerifier
from specsim.verification.block import verify_block
from specsim.verification.chain import verify_chain
from specsim.verification.expected import keeping_probability, mean_tokens
from specsim.verification.greedy import verify_greedy
from specsim.verification.processing.processors import LazyTable, Processors, process
from specsim.verification.row_form import verify_rows
from specsim.verification.trees.expected import mean_tree_tokens, node_acceptance
from specsim.verification.trees.tree import verify_tree
from specsim.verification.vocabularies.exact_match import retokenise, verify_exact_match
from specsim.verification.vocabularies.intersection import VocabularyIntersection
from specsim.verification.vocabularies.rows import draw_tokens
from specsim.verification.vocabulary import VocabularyMap

__all__ = [
    "ChainVerifier",
    "LazyTable",
    "Processors",
    "VocabularyIntersection",
    "VocabularyMap",
    "draw_tokens",
    "keeping_probability",
    "mean_tokens",
    "mean_tree_tokens",
    "node_acceptance",
    "process",
    "retokenise",
    "verify_block",
    "verify_chain",
    "verify_exact_match",
    "verify_greedy",
    "verify_rows",
    "verify_tree",
]
