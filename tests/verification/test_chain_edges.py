"""Uniforms at the ends of [0, 1), rows without mass, and sums that single precision would lose."""

import numpy as np
import pytest

from specsim.verification import verify_chain

pytestmark = pytest.mark.usefixtures("core")

LARGEST_UNIFORM = np.nextafter(1.0, 0.0)
TINY = 5e-324  # the smallest positive float


def verify_one(draft, q, p, u, v, validate=True):
    """Verify one row: draft [K], q [K, V], p [K+1, V], accept uniforms [K], final uniform; the tokens emitted."""
    out, num_out = verify_chain(
        np.array([draft], dtype=np.int64),
        np.array([q]),
        np.array([p]),
        np.array([len(draft)]),
        accept_uniforms=np.array([u], dtype=np.float64),
        final_uniforms=np.array([v]),
        validate=validate,
    )
    return out[0, : num_out[0]].tolist()


@pytest.mark.parametrize("v", [0.0, 0.5, LARGEST_UNIFORM])
def test_a_uniform_of_zero_does_not_accept_what_the_target_never_says(v):
    assert verify_one([0], [[0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0]], [0.0], v) == [1]


def test_the_comparison_is_strict():
    q, p = [[0.5, 0.5]], [[0.25, 0.75], [0.0, 1.0]]
    assert verify_one([0], q, p, [0.5], 0.0) == [1]
    assert verify_one([0], q, p, [np.nextafter(0.5, 0)], 0.0) == [0, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_distributions_accept_everything_at_the_largest_uniform(dtype):
    rng = np.random.default_rng(1)
    B, K, V = 500, 3, 50
    p = rng.dirichlet(np.full(V, 0.1), size=(B, K + 1)).astype(dtype)
    draft = p[:, :K].argmax(axis=2)
    u = np.full((B, K), LARGEST_UNIFORM)
    v = rng.random(B)
    out, num_out = verify_chain(draft, p[:, :K], p, np.full(B, K), accept_uniforms=u, final_uniforms=v)
    assert (num_out == K + 1).all()
    np.testing.assert_array_equal(out[:, :K], draft)


@pytest.mark.parametrize(("v", "token"), [(0.0, 1), (LARGEST_UNIFORM, 2)])
def test_a_final_uniform_at_either_end_stays_within_the_support(v, token):
    support = [0.0, 0.5, 0.5, 0.0]
    assert verify_one([], np.zeros((0, 4)), [support], [], v) == [token], "bonus"
    q = [[0.9, 0.05, 0.05, 0.0]]
    assert verify_one([0], q, [support, support], [0.5], v) == [token], "recovered"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_rows_with_empty_ends_are_never_left(dtype):
    V, B = 2000, 100
    p = np.zeros((B, 1, V), dtype)
    inner = np.random.default_rng(2).random((B, 1, V - 20)).astype(dtype)
    p[:, :, 10:-10] = inner / inner.sum(axis=2, keepdims=True)
    nothing = np.zeros((B, 0), np.int64)
    for v, token in ((0.0, 10), (LARGEST_UNIFORM, V - 11)):
        out, _ = verify_chain(
            nothing,
            np.zeros((B, 0, V), dtype),
            p,
            np.zeros(B, np.int64),
            accept_uniforms=np.zeros((B, 0)),
            final_uniforms=np.full(B, v),
        )
        assert (out == token).all()


def test_a_residual_without_mass_falls_back_to_the_target():
    # Only rows that do not sum to 1 can come to this, by rounding; it is made plain here with rows far from 1.
    q, p = [[0.8, 0.8, 0.8]], [[0.0, 0.2, 0.4], [1.0, 0.0, 0.0]]
    assert verify_one([1], q, p, [0.9], 0.0, validate=False) == [1]
    assert verify_one([1], q, p, [0.9], LARGEST_UNIFORM, validate=False) == [2]


@pytest.mark.parametrize(("weights", "token"), [([TINY, 0.0, 0.0], 0), ([0.0, TINY, 0.0], 1), ([0.0, TINY, TINY], 2)])
def test_a_mass_too_small_to_divide_is_still_drawn_from(weights, token):
    assert verify_one([], np.zeros((0, 3)), [weights], [], LARGEST_UNIFORM, validate=False) == [token]


def test_not_a_number_is_rejected():
    p = [[np.nan, 1.0], [1.0, 0.0]]
    assert len(verify_one([0], [[0.5, 0.5]], p, [0.0], 0.5, validate=False)) == 1


def test_every_token_of_a_large_single_precision_row_can_be_reached():
    V = 100_000
    row = np.full((1, V), 1 / V, dtype=np.float32)
    drift = np.cumsum(row, dtype=np.float32)[-1] - row.sum(dtype=np.float64)
    assert abs(drift) > 10 / V, "a float32 cumulative sum would be good enough here, so this shows nothing"

    tokens = np.arange(0, V, 997)
    B = len(tokens)
    out, _ = verify_chain(
        np.zeros((B, 0), np.int64),
        np.zeros((B, 0, V), np.float32),
        np.broadcast_to(row, (B, 1, V)),
        np.zeros(B, np.int64),
        accept_uniforms=np.zeros((B, 0)),
        final_uniforms=(tokens + 0.5) / V,  # the middle of each token's own interval
    )
    np.testing.assert_array_equal(out[:, 0], tokens)
