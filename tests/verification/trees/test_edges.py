"""Trees by hand: exhausted residuals, masses that underflow, uniforms at the ends of [0, 1)."""

import numpy as np
import pytest

from specsim.verification import verify_tree

LAST = np.nextafter(1.0, 0.0)
TINY = 5e-324  # the smallest positive float


def verify_one(token, q, p, u, v, siblings, validate=True):
    """Verify one root with children that are leaves, q [V] for all, p [V] at the root; the tokens emitted."""
    N, p = len(token), np.array(p)
    one_hot = siblings == "one_hot"
    out, num_out, _ = verify_tree(
        np.full((1, N), -1),
        np.array([token]),
        np.array([N]),
        None if one_hot else np.zeros((1, N), np.int64),
        np.array([[0] + [1] * N]),
        None if one_hot else np.array([q]),
        np.stack([p, np.eye(len(p))[-1]]),
        siblings=siblings,
        accept_uniforms=np.array([u]),
        final_uniforms=np.array([v]),
        validate=validate,
    )
    return out[0, : num_out[0]].tolist()


@pytest.mark.parametrize(
    ("siblings", "threshold"), [("with_replacement", 6 / 8), ("without_replacement", 6 / 8), ("one_hot", 6 / 16)]
)
def test_the_second_of_two_tokens_is_all_that_is_left(siblings, threshold):
    q, p = [0.5, 0.5], [6 / 16, 10 / 16]
    assert verify_one([0, 1], q, p, [np.nextafter(threshold, 0), LAST], 0.0, siblings) == [0, 1]
    assert verify_one([0, 1], q, p, [threshold, LAST], 0.0, siblings) == [1, 1]


# p = (8, 6, 2)/16 and q = (12, 3, 1)/16: after token 0 fails at 8/12, r is (0, 3, 1)/4.
@pytest.mark.parametrize(
    ("siblings", "threshold", "left"),
    [
        # 1 was drawn from q, so it passes surely: 3/4 is above 3/16.
        ("with_replacement", 1.0, None),
        # 1 was drawn from (0, 3, 1)/4, which is r itself.
        ("without_replacement", 1.0, None),
        # The residual is (0, 6, 2)/8, and the token 1 is struck out if it fails.
        ("one_hot", 3 / 4, 2),
    ],
)
def test_three_tokens(siblings, threshold, left):
    q, p = [12 / 16, 3 / 16, 1 / 16], [8 / 16, 6 / 16, 2 / 16]
    assert verify_one([0, 1], q, p, [0.7, np.nextafter(threshold, 0)], 0.0, siblings) == [1, 2]
    if left is not None:
        assert verify_one([0, 1], q, p, [0.7, threshold], 0.0, siblings) == [left]


def test_without_replacement_the_drafter_is_normalised():
    # r = (0, 1, 1)/2 after token 0 fails; 1 was drawn from (0, 3, 1)/4 and so passes at 2/3.
    q, p = [8 / 16, 6 / 16, 2 / 16], [0.0, 11 / 16, 5 / 16]  # p - q = (-8, 5, 3)/16, r = (0, 5, 3)/8
    threshold = (5 / 8) / (3 / 4)
    below, above = threshold * (1 - 1e-15), threshold * (1 + 1e-15)
    assert verify_one([0, 1], q, p, [0.0, below], 0.0, "without_replacement") == [1, 2]
    # What is left of (5, 3)/8 less (6, 2)/8 is all on 2.
    assert verify_one([0, 1], q, p, [0.0, above], 0.0, "without_replacement") == [2]


@pytest.mark.parametrize("v", [0.0, 0.5, LAST])
@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement", "one_hot"])
def test_uniforms_of_zero_accept_nothing_that_the_target_never_says(siblings, v):
    assert verify_one([0, 2], [0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0], v, siblings) == [1]


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement", "one_hot"])
@pytest.mark.parametrize("v", [0.0, LAST])
def test_an_exhausted_residual_falls_back_to_the_last_one_with_mass(siblings, v):
    # Rows that do not sum to 1 make plain what rounding can bring about: nothing is left after the first child.
    q, p = [0.8, 0.8, 0.8], [0.0, 0.2, 0.4]
    if siblings == "one_hot":
        p = [0.0, 0.0, 0.4]
    token = verify_one([2], q, p, [0.9], v, siblings, validate=False)
    assert token == [1 if siblings != "one_hot" and v == 0 else 2]


def test_the_fallback_is_the_last_residual_and_not_the_target():
    # One-hot with p = (1, 1)/2: once 0 is struck out, only 1 is left; striking it out too would leave nothing.
    for v in (0.0, LAST):
        assert verify_one([0, 1], None, [0.5, 0.5, 0.0], [LAST, LAST], v, "one_hot") == [1, 2]
    # u < 1 always passes the last token, so the second rejection is forced by NaN, which must reject.
    for v in (0.0, LAST):
        assert verify_one([0, 1], None, [0.5, 0.5, 0.0], [LAST, np.nan], v, "one_hot", validate=False) == [1]


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement", "one_hot"])
def test_all_of_a_peaked_drafter_can_be_rejected(siblings):
    # Each token has 1e-15 of what is left, so 21 siblings without replacement hold all but 1e-315 of the mass.
    q = np.cumprod(np.full(22, 1e-15)) * 1e15
    q /= q.sum()
    p = np.eye(23)[22] * 0.5 + np.eye(23)[21] * 0.5
    out = verify_one(list(range(21)), [*q, 0.0], p, [0.0] * 21, LAST, siblings)
    assert out == [22]


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement"])
def test_a_residual_of_the_smallest_mass_is_neither_nan_nor_lost(siblings):
    q, p = [1.0, 0.0, 0.0], [LAST, 0.0, TINY]
    token = [0, 0] if siblings == "with_replacement" else [0]
    assert verify_one(token, q, p, [LAST] * len(token), 0.0, siblings) == [2]


def test_not_a_number_is_rejected():
    assert len(verify_one([0], [0.5, 0.5], [np.nan, 1.0], [0.0], 0.5, "with_replacement", validate=False)) == 1


@pytest.mark.parametrize("siblings", ["with_replacement", "without_replacement", "one_hot"])
def test_an_unvalidated_id_of_minus_one_does_not_get_out(siblings):
    assert verify_one([-1], [0.5, 0.5], [0.0, 1.0], [0.0], 0.5, siblings, validate=False)[0] >= 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_distributions_accept_the_first_child_at_the_largest_uniform(dtype):
    rng = np.random.default_rng(1)
    B, V = 500, 50
    p = rng.dirichlet(np.full(V, 0.1), size=B).astype(dtype)
    first = p.argmax(axis=1)
    out, num_out, nodes = verify_tree(
        np.full((B, 2), -1),
        np.column_stack([first, first]),
        np.full(B, 2),
        np.repeat(np.arange(B)[:, None], 2, axis=1),
        np.repeat(np.arange(B)[:, None], 3, axis=1),
        p,
        p,
        siblings="with_replacement",
        accept_uniforms=np.full((B, 2), LAST),
        final_uniforms=rng.random(B),
    )
    assert (num_out == 2).all()
    assert (nodes == 0).all()
    np.testing.assert_array_equal(out[:, 0], first)
