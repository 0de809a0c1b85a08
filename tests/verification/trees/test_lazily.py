"""Logits processed row by row give what verify_tree makes of the processed table, and no row that is not reached."""

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.verification import verify_tree
from specsim.verification.processing.processors import LazyTable, Processors, process
from specsim.verification.proof.tree_loops import tree_by_loops

SIBLINGS = ("with_replacement", "without_replacement", "one_hot")
B, N, V = 60, 7, 12


def trees(siblings, seed=0):
    """Every row of the tables is named once, so that it can be told which were read."""
    rng = np.random.default_rng(seed)
    one_hot = siblings == "one_hot"
    logits = rng.normal(size=(B * (N + 1), V)) * 2
    processors = Processors(
        temperature=rng.choice([0.0, 0.7, 1.0], B * (N + 1)), top_k=rng.integers(2, V, B * (N + 1)), top_p=0.9
    )
    q = process(logits[: B * N] + rng.normal(size=(B * N, V)) / 2, temperature=1.3)
    return {
        "parents": rng.integers(-1, np.arange(N), (B, N)),
        "token": rng.permuted(np.tile(np.arange(V), (B, 1)), axis=1)[:, :N],
        "num_nodes": rng.integers(0, N + 1, B),
        "q_row": None if one_hot else np.arange(B * N).reshape(B, N),
        "p_row": np.arange(B * (N + 1)).reshape(B, N + 1),
        "q": None if one_hot else q,
        "p": LazyTable(logits, processors),
        "siblings": siblings,
        "accept_uniforms": rng.random((B, N)),
        "final_uniforms": rng.random(B),
    }


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_gives_the_result_of_the_processed_table(siblings):
    lazy = trees(siblings)
    dense = lazy | {"p": lazy["p"][np.arange(len(lazy["p"]))]}
    expected = tree_by_loops(**dense)
    for inputs in (lazy, dense):
        for found, wanted in zip(verify_tree(**inputs), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_reads_the_rows_along_the_accepted_path_and_no_others(siblings):
    lazy = trees(siblings)
    expected = verify_tree(**lazy)
    _, _, nodes = expected
    b = np.arange(B)[:, None]
    reached = np.concatenate([lazy["p_row"][:, :1], np.where(nodes >= 0, lazy["p_row"][b, nodes + 1], -1)], axis=1)
    unread = np.setdiff1d(np.arange(len(lazy["p"])), reached)
    assert len(unread) > B
    logits = lazy["p"].table.copy()
    logits[unread] = np.nan
    poisoned = lazy | {"p": LazyTable(logits, lazy["p"].processors)}
    for found, wanted in zip(verify_tree(**poisoned), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_bad_row_that_is_reached_is_refused():
    lazy = trees("one_hot")
    lazy["p"].table[lazy["p_row"][3, 0]] = -np.inf
    with pytest.raises(InputError, match=r"table: \(row=24\) is -inf: is the highest logit: no token is left"):
        verify_tree(**lazy)
