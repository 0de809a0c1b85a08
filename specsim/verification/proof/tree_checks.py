"""The proof that the tree verifier is lossless, as a list of checks: it must pass, and the mutants must fail.

Knows nothing of how the result is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np

from specsim.verification.chain import verify_chain
from specsim.verification.proof.checks import NUM_SEQUENCES, NUM_SEQUENCES_QUICK, Check, Outcome
from specsim.verification.proof.losslessness import (
    COUNT_STANDARD_ERRORS,
    MAX_DRAFT,
    START,
    MarkovPair,
    joint_chi_square,
    joint_chi_square_limit,
    propose,
    random_markov_pair,
    token_count_error,
)
from specsim.verification.proof.mutants.tree import TREE_LAW_BREAKERS, TREE_SLOW, TREE_SUBTLE
from specsim.verification.proof.tree_exact import SMALL_CASES, exact_tree_errors
from specsim.verification.proof.tree_loops import tree_by_loops
from specsim.verification.proof.tree_losslessness import SHAPES, decode_trees, propose_trees
from specsim.verification.proof.trials import NUM_ROWS_BY_LOOPS
from specsim.verification.trees.forest import Siblings, TreeVerifier
from specsim.verification.trees.tree import verify_tree

NUM_PAIRS = 2
NUM_TREE_CHECKS = 3 * (3 + 2 * NUM_PAIRS) + 2 + 2 * len(TREE_LAW_BREAKERS) + len(TREE_SUBTLE) + 3 * len(TREE_SLOW)


def tree_checks(seed: int, quick: bool = False) -> Iterator[Check]:
    """Put `verify_tree` and its mutants to every test, one check after the other; NUM_TREE_CHECKS of them.

    By chance one seed in 125 fails: six joint distributions are right for `verify_tree` and two for the mutants that
    are merely slow, and each exceeds its limit once in 1,000.

    Args:
        seed: decides the random models, the trees and the uniforms.
        quick: decode 60,000 sequences and not 300,000, which is always enough for the mutants.
    """
    rng = np.random.default_rng(seed)
    num_sequences = NUM_SEQUENCES_QUICK if quick else NUM_SEQUENCES
    pairs = [random_markov_pair(rng) for _ in range(NUM_PAIRS)]
    for siblings in get_args(Siblings):
        name = f"verify_tree, {siblings}"
        yield from _exact(name, verify_tree, siblings)
        for n, pair in enumerate(pairs, start=1):
            yield from _sampled(name, f"pair {n}: ", verify_tree, siblings, pair, num_sequences, rng)
        yield _against_loops(name, siblings, pairs[0], rng)
        if siblings != "one_hot":
            yield _as_chain(name, siblings, pairs[0], rng)
    for name, siblings, mutant in TREE_LAW_BREAKERS:
        yield _exact_outcomes(name, mutant, siblings, "fail")
        law, _ = _sampled(name, "", mutant, siblings, pairs[0], NUM_SEQUENCES_QUICK, rng, law="fail")
        yield law
    for name, siblings, mutant in TREE_SUBTLE:
        yield _exact_outcomes(name, mutant, siblings, "fail")
    for name, siblings, mutant in TREE_SLOW:
        yield _exact_outcomes(name, mutant, siblings, "fail")
        yield from _sampled(name, "", mutant, siblings, pairs[0], NUM_SEQUENCES_QUICK, rng, count="fail")


def _exact(name: str, verify: TreeVerifier, siblings: Siblings) -> Iterator[Check]:
    errors = exact_tree_errors(verify, siblings)
    yield Check(name, "exact cells, wrong outcomes", errors.probes, 0, "pass")
    yield Check(name, "exact law, wrong probabilities", errors.probabilities, 0, "pass")


def _exact_outcomes(name: str, verify: TreeVerifier, siblings: Siblings, expected: Outcome) -> Check:
    return Check(
        name, "exact cells, wrong outcomes", exact_tree_errors(verify, siblings, SMALL_CASES).probes, 0, expected
    )


def _sampled(
    name: str,
    prefix: str,
    verify: TreeVerifier,
    siblings: Siblings,
    pair: MarkovPair,
    num_sequences: int,
    rng: np.random.Generator,
    law: Outcome = "pass",
    count: Outcome = "pass",
) -> tuple[Check, Check]:
    """The two statistical tests on one sample of sequences."""
    decoded = decode_trees(verify, siblings, pair, num_sequences, rng)
    chi_square = joint_chi_square(decoded.tokens, pair.target)
    error = token_count_error(decoded.surplus)
    return (
        Check(name, prefix + "joint law, chi-square (63 df)", chi_square, joint_chi_square_limit(), law),
        Check(name, prefix + "tokens per round, standard errors", error, COUNT_STANDARD_ERRORS, count),
    )


def _against_loops(name: str, siblings: Siblings, pair: MarkovPair, rng: np.random.Generator) -> Check:
    """Rows on which the fast verifier and the scalar loop disagree, on the same uniforms."""
    B = NUM_ROWS_BY_LOOPS
    context, shape = rng.integers(0, START + 1, size=B), rng.integers(0, len(SHAPES), size=B)
    forest = propose_trees(pair, context, shape, siblings, rng)
    trees = forest.parents, forest.token, forest.num_nodes, forest.q_row, forest.p_row, forest.q, forest.p
    accept, final = rng.random(forest.token.shape), rng.random(B)
    fast, _, _ = verify_tree(*trees, siblings=siblings, accept_uniforms=accept, final_uniforms=final)
    slow, _, _ = tree_by_loops(*trees, siblings=siblings, accept_uniforms=accept, final_uniforms=final)
    differing = int((fast != slow).any(axis=1).sum())
    return Check(name, "against scalar loops, rows that differ", differing, 0, "pass")


def _as_chain(name: str, siblings: Siblings, pair: MarkovPair, rng: np.random.Generator) -> Check:
    """Rows on which chains given as trees come out other than they do from `verify_chain`."""
    B = NUM_ROWS_BY_LOOPS
    num_draft = rng.integers(0, 4, size=B)
    context = rng.integers(0, START + 1, size=B)
    draft, q, p = propose(pair, context, num_draft, rng.random((B, MAX_DRAFT)))
    K, V = q.shape[1:]
    accept, final = rng.random((B, K)), rng.random(B)
    chain, _ = verify_chain(draft, q, p, num_draft, accept_uniforms=accept, final_uniforms=final)
    tree, _, _ = verify_tree(
        np.tile(np.arange(K) - 1, (B, 1)),
        draft,
        num_draft,
        np.arange(B * K).reshape(B, K),
        np.arange(B * (K + 1)).reshape(B, K + 1),
        q.reshape(-1, V),
        p.reshape(-1, V),
        siblings=siblings,
        accept_uniforms=accept,
        final_uniforms=final,
    )
    differing = int((tree != chain).any(axis=1).sum())
    return Check(name, "chains as trees, rows that differ from verify_chain", differing, 0, "pass")
