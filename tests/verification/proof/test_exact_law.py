"""The output law in fractions: right for the verifiers and their loops, and the tables are what the proof needs."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from specsim.verification import verify_block, verify_chain
from specsim.verification.proof.cells import block_cells, token_cells
from specsim.verification.proof.edges import edge_errors
from specsim.verification.proof.exact import (
    DRAFTER,
    MAX_DRAFT,
    MIXED,
    ONE_HOT,
    TARGET,
    UNIT,
    exact_law_errors,
    exact_one_hot_errors,
    target_law,
)
from specsim.verification.proof.loops import block_by_loops, chain_by_loops

pytestmark = pytest.mark.usefixtures("core")


def by_loops(reference):
    def verify(*arrays, validate, **uniforms):
        return reference(*arrays, **uniforms)

    return verify


VERIFIERS = pytest.mark.parametrize(
    ("verify", "cells_of"),
    [
        (verify_chain, token_cells),
        (verify_block, block_cells),
        (by_loops(chain_by_loops), token_cells),
        (by_loops(block_by_loops), block_cells),
    ],
    ids=["verify_chain", "verify_block", "chain_by_loops", "block_by_loops"],
)


@pytest.mark.slow
@VERIFIERS
@pytest.mark.parametrize("stale", [False, True])
def test_the_law_is_exactly_the_targets(verify, cells_of, stale):
    assert exact_law_errors(verify, cells_of, stale=stale) == 0


@pytest.mark.slow
@VERIFIERS
def test_so_it_is_where_no_draft_was_sampled(verify, cells_of):
    assert exact_one_hot_errors(verify, cells_of) == 0


@pytest.mark.slow
@pytest.mark.parametrize("verify", [verify_chain, verify_block])
def test_the_edges_are_met(verify):
    assert edge_errors(verify) == 0


@pytest.mark.slow
def test_one_rule_is_not_the_other():
    assert exact_law_errors(verify_chain, block_cells) > 0
    assert exact_law_errors(verify_block, token_cells) > 0


@pytest.mark.parametrize(
    ("cells_of", "accepted"), [(token_cells, Fraction(10, 9)), (block_cells, Fraction(11, 9))], ids=["token", "block"]
)
def test_accepted_drafts_of_the_toy(cells_of, accepted):
    """Two drafts, p = (1/3, 2/3) and q = (2/3, 1/3) everywhere: Sun et al. 2024 (arXiv:2403.10444), section 2."""
    p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    total = Fraction(0)
    for draft in product(range(2), repeat=2):
        cells = cells_of(draft, [q, q], [p, p, p])
        for passed in product([False, True], repeat=2):
            size = q[draft[0]] * q[draft[1]]
            for below, h in zip(passed, cells.passes, strict=True):
                size *= h if below else 1 - h
            total += size * cells.kept(passed)
    assert total == accepted


@pytest.mark.slow
@pytest.mark.parametrize(("verify", "accepted"), [(verify_chain, 10 / 9), (verify_block, 11 / 9)])
def test_the_verifiers_accept_as_many(verify, accepted):
    B, p, q = 200_000, np.array([1, 2]) / 3, np.array([2, 1]) / 3
    rng = np.random.default_rng(4)
    draft = rng.choice(2, size=(B, 2), p=q)
    q_rows, p_rows = np.broadcast_to(q, (B, 2, 2)), np.broadcast_to(p, (B, 3, 2))
    _, num_out = verify(draft, q_rows, p_rows, np.full(B, 2), rng=rng)
    assert abs((num_out - 1).mean() - accepted) < 4 * num_out.std() / np.sqrt(B)


def test_the_tables_are_such_that_weights_are_exact_in_floating_point():
    for table in (TARGET, DRAFTER, MIXED, *ONE_HOT):
        assert (table.sum(axis=1) == UNIT).all()
    for table in (DRAFTER, MIXED, *ONE_HOT):
        for p, q in zip(TARGET.ravel(), table.ravel(), strict=True):
            if p < q:
                denominator = Fraction(int(p), int(q)).denominator
                assert denominator & (denominator - 1) == 0, f"{p}/{q} is not dyadic"


def test_the_target_law_is_a_law():
    for length in range(MAX_DRAFT + 2):
        law = target_law(length)
        assert len(law) == 4**length
        assert sum(law.values()) == 1
