"""A drafter with fewer tokens than its target: ids and distributions are mapped, and nothing is lost by it."""

import re

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.verification import verify_chain, verify_tree
from specsim.verification.vocabulary import VocabularyMap

TARGET = np.array([0.25, 0.05, 0.3, 0.1, 0.2, 0.1])
DRAFTER = np.array([0.6, 0.3, 0.1])
MAP = VocabularyMap(np.array([4, 0, 5]), 6)


def test_ids_are_mapped_and_padding_stays():
    np.testing.assert_array_equal(MAP.to_target(np.array([[0, 1], [2, -1]])), [[4, 0], [5, -1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distributions_are_scattered_with_zeros(dtype):
    wide = MAP.scatter(np.array([[DRAFTER, [0, 1, 0]]], dtype))
    assert wide.dtype == dtype
    np.testing.assert_allclose(wide, [[[0.3, 0, 0, 0, 0.6, 0.1], [1, 0, 0, 0, 0, 0]]], rtol=1e-6)


def test_a_drafted_token_keeps_its_probability():
    rng = np.random.default_rng(0)
    d2t = rng.choice(1000, size=64, replace=False)
    some = VocabularyMap(d2t, 1000)
    q = rng.dirichlet(np.ones(64), size=20)
    draft = rng.integers(0, 64, 20)
    row = np.arange(20)
    np.testing.assert_array_equal(some.scatter(q)[row, some.to_target(draft)], q[row, draft])
    np.testing.assert_array_equal(some.scatter(q)[:, d2t], q)
    assert (np.delete(some.scatter(q), d2t, axis=1) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["chain", "with_replacement", "without_replacement", "one_hot"])
def test_verification_through_the_map_is_lossless(scheme):
    """The law of the first token is the target's, within 4 standard errors for each of its tokens."""
    rng = np.random.default_rng(7)
    B = 200_000
    order = rng.exponential(size=(B, 3)) / DRAFTER  # a race of clocks: its order is a draw without replacement
    token = MAP.to_target(order.argsort(axis=1)[:, :2])
    if scheme == "with_replacement":
        token[:, 1] = MAP.to_target((rng.exponential(size=(B, 3)) / DRAFTER).argmin(axis=1))
    q = MAP.scatter(DRAFTER[None])
    if scheme == "chain":
        q_rows, p_rows = np.broadcast_to(q, (B, 1, 6)), np.broadcast_to(TARGET, (B, 2, 6))
        out, num_out = verify_chain(token[:, :1], q_rows, p_rows, np.ones(B, int), rng=rng)
        assert (num_out == 2).mean() == pytest.approx(np.minimum(TARGET, q[0]).sum(), abs=4 * 0.5 / np.sqrt(B))
    else:
        q_row = None if scheme == "one_hot" else np.zeros((B, 2), int)
        parents, p_row = np.full((B, 2), -1), np.zeros((B, 3), int)
        nodes = np.full(B, 2)
        out, _, _ = verify_tree(parents, token, nodes, q_row, p_row, q, TARGET[None], siblings=scheme, rng=rng)
    share = np.bincount(out[:, 0], minlength=6) / B
    assert (np.abs(share - TARGET) < 4 * np.sqrt(TARGET * (1 - TARGET) / B)).all()


@pytest.mark.parametrize(
    ("d2t", "message"),
    [
        ([0, 6], r"d2t: \(token=1\) is 6: must be a token of the target, from 0 to 5"),
        ([-1, 3], r"d2t: \(token=0\) is -1: must be a token of the target"),
        ([2, 3, 2], r"d2t: \(token=2\) is 2: is the target's token of an earlier entry too"),
        ([0.0, 1.0], "d2t is float64, shape .2,.: must be whole numbers"),
        ([[0, 1]], "d2t is int64, shape .1, 2.: must be whole numbers"),
    ],
)
def test_a_map_must_be_into_the_target_and_one_to_one(d2t, message):
    with pytest.raises(InputError) as caught:
        VocabularyMap(np.array(d2t), 6)
    assert re.match(message, str(caught.value)), str(caught.value)


def test_all_problems_are_listed_at_once():
    with pytest.raises(InputError) as caught:
        VocabularyMap(np.array([9, 1, 1]), 6)
    assert len(caught.value.problems) == 2


def test_what_is_not_the_drafters_is_refused():
    with pytest.raises(InputError, match="draft is 3: must be a token of the drafter, below 3"):
        MAP.to_target(np.array([0, 3]))
    with pytest.raises(InputError, match=r"q: shape is \(2, 4\): must end in 3"):
        MAP.scatter(np.full((2, 4), 0.25))


def test_the_map_does_not_follow_the_array_it_was_made_of():
    d2t = np.array([4, 0, 5])
    fixed = VocabularyMap(d2t, 6)
    d2t[0] = 1
    np.testing.assert_array_equal(fixed.to_target(np.array([0])), [4])
