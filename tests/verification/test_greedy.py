"""verify_greedy equals a scalar loop, and verify_chain with one-hot targets, on the same input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim.verification import verify_chain, verify_greedy
from specsim.verification.proof.loops import greedy_by_loops

V = 3


@st.composite
def greedy_inputs(draw):
    """Ragged drafts and argmaxes over a few tokens, so that matches are common; padding is -1."""
    B, K = draw(st.integers(0, 5)), draw(st.integers(0, 4))
    ids = st.integers(0, V - 1)
    draft = draw(hnp.arrays(np.int64, (B, K), elements=ids))
    target_argmax = draw(hnp.arrays(np.int64, (B, K + 1), elements=ids))
    num_draft = draw(hnp.arrays(np.int64, B, elements=st.integers(0, K)))
    draft[np.arange(K) >= num_draft[:, None]] = -1
    target_argmax[np.arange(K + 1) > num_draft[:, None]] = -1
    return draft, target_argmax, num_draft


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=300)
@given(greedy_inputs())
def test_equals_the_scalar_loop(inputs):
    for found, wanted in zip(verify_greedy(*inputs), greedy_by_loops(*inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == np.int64


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=300)
@given(greedy_inputs(), st.integers(0, 2**32 - 1))
def test_is_what_the_chain_rule_does_with_one_hot_targets(inputs, seed):
    draft, target_argmax, num_draft = inputs
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(V), size=draft.shape)
    out, num_out = verify_chain(draft, q, np.eye(V)[target_argmax], num_draft, rng=rng)
    greedy_out, greedy_num_out = verify_greedy(*inputs)
    np.testing.assert_array_equal(greedy_out, out)
    np.testing.assert_array_equal(greedy_num_out, num_out)


@pytest.mark.parametrize(
    ("draft", "num_draft", "expected"),
    [
        ([5, 6, 7], 3, [5, 6, 7, 8]),
        ([5, 9, 7], 3, [5, 6]),
        ([9, 6, 7], 3, [5]),
        ([5, 6, 7], 1, [5, 6]),
        ([9, 9, 9], 0, [5]),
    ],
)
def test_by_hand(draft, num_draft, expected):
    out, num_out = verify_greedy(np.array([draft]), np.array([[5, 6, 7, 8]]), np.array([num_draft]))
    assert out[0, : num_out[0]].tolist() == expected
    assert (out[0, num_out[0] :] == -1).all()
