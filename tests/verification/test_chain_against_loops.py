"""verify_chain equals a scalar loop on the same uniforms, whatever the shapes, types and padding."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim.verification import verify_chain
from specsim.verification.reference import chain_by_loops

LARGEST_UNIFORM = np.nextafter(1.0, 0.0)
UNIFORMS = st.sampled_from([0.0, 0.25, 0.5, 0.75, LARGEST_UNIFORM]) | st.floats(0, 1, exclude_max=True)


@st.composite
def distributions(draw, shape, dtype):
    """Rows with many zeros and many equal entries: small whole weights, normalised in the type."""
    weights = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 3)))
    weights[..., draw(st.integers(0, shape[-1] - 1))] += 1
    rows = weights.astype(dtype)
    return rows / rows.sum(axis=-1, keepdims=True)


@st.composite
def chain_inputs(draw):
    """Ragged inputs of verify_chain as keyword arguments, the padding full of poison."""
    B, K, V = draw(st.integers(0, 4)), draw(st.integers(0, 3)), draw(st.integers(1, 5))
    q = draw(distributions((B, K, V), draw(st.sampled_from([np.float32, np.float64]))))
    p = draw(distributions((B, K + 1, V), draw(st.sampled_from([np.float32, np.float64]))))
    num_draft = draw(hnp.arrays(np.int64, B, elements=st.integers(0, K)))
    preference = draw(hnp.arrays(np.float64, (B, K, V), elements=st.floats(0, 1)))
    draft = np.where(q > 0, preference, -1.0).argmax(axis=2)
    accept = draw(hnp.arrays(np.float64, (B, K), elements=UNIFORMS))
    final = draw(hnp.arrays(np.float64, B, elements=UNIFORMS))

    padding = np.arange(K) >= num_draft[:, None]
    draft[padding] = draw(st.sampled_from([-1, 0, V, 10**12]))
    q[padding] = p[np.arange(K + 1) > num_draft[:, None]] = draw(st.sampled_from([np.nan, np.inf, -1.0]))
    accept[padding] = np.nan
    return {
        "draft": draft,
        "q": q,
        "p": p,
        "num_draft": num_draft,
        "accept_uniforms": accept,
        "final_uniforms": final,
    }


def random_inputs(seed, B, K, V, dtype=np.float64):
    """Full-support inputs of any size, ragged and without poison."""
    rng = np.random.default_rng(seed)
    p, q = rng.random((B, K + 1, V)) ** 3, rng.random((B, K, V)) ** 3
    return {
        "draft": rng.integers(0, V, (B, K)),
        "q": (q / q.sum(axis=2, keepdims=True)).astype(dtype),
        "p": (p / p.sum(axis=2, keepdims=True)).astype(dtype),
        "num_draft": rng.integers(0, K + 1, B),
        "accept_uniforms": rng.random((B, K)),
        "final_uniforms": rng.random(B),
    }


def assert_same(result, expected):
    for found, wanted in zip(result, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == np.int64


@settings(derandomize=True, deadline=None, max_examples=500)
@given(chain_inputs())
def test_equals_the_scalar_loop(inputs):
    expected = chain_by_loops(**inputs)
    assert_same(verify_chain(**inputs), expected)
    assert_same(verify_chain(**inputs, validate=False), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("B", "K", "V"), [(200, 8, 16), (64, 2, 1500), (3, 1, 70_000)])
def test_equals_the_scalar_loop_when_a_large_vocabulary_is_worked_on_in_parts(B, K, V, dtype):
    inputs = random_inputs(B + K + V, B, K, V, dtype)
    assert_same(verify_chain(**inputs), chain_by_loops(**inputs))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(chain_inputs())
def test_structure_of_the_output(inputs):
    out, num_out = verify_chain(**inputs)
    num_draft, p = inputs["num_draft"], inputs["p"]
    B, N, V = p.shape
    assert out.shape == (B, N)
    assert ((num_out >= 1) & (num_out <= num_draft + 1)).all()
    emitted = np.arange(N) < num_out[:, None]
    assert (out[~emitted] == -1).all()
    assert ((out[emitted] >= 0) & (out[emitted] < V)).all()
    b, i = np.nonzero(emitted)
    assert (p[b, i, out[b, i]] > 0).all(), "a token that the target never says was emitted"


@settings(derandomize=True, deadline=None, max_examples=200)
@given(chain_inputs(), st.randoms(use_true_random=False))
def test_permuting_the_rows_permutes_the_result(inputs, random):
    order = np.arange(len(inputs["draft"]))
    random.shuffle(order)
    expected = [result[order] for result in verify_chain(**inputs)]
    assert_same(verify_chain(**{name: array[order] for name, array in inputs.items()}), expected)


def test_a_row_does_not_depend_on_its_neighbours():
    inputs, others = random_inputs(1, 50, 4, 8), random_inputs(2, 50, 4, 8)
    out, num_out = verify_chain(**inputs)
    for kept in range(50):
        mixed = {name: array.copy() for name, array in others.items()}
        for name, array in inputs.items():
            mixed[name][kept] = array[kept]
        mixed_out, mixed_num_out = verify_chain(**mixed)
        np.testing.assert_array_equal(mixed_out[kept], out[kept])
        assert mixed_num_out[kept] == num_out[kept]


def test_accepts_read_only_views_of_shared_rows_as_the_engine_passes_them():
    inputs = random_inputs(3, 40, 4, 16)
    for table in ("q", "p"):
        inputs[table] = np.broadcast_to(inputs[table][0], inputs[table].shape)
    for array in inputs.values():
        array.flags.writeable = False
    dense = {name: array.copy() for name, array in inputs.items()}
    assert_same(verify_chain(**inputs), verify_chain(**dense))


def test_does_not_copy_the_tables():
    inputs = random_inputs(4, 1, 4, 4096)
    inputs = {name: np.broadcast_to(array[0], (2000, *array.shape[1:])) for name, array in inputs.items()}
    assert inputs["p"].size * 8 > 300e6
    tracemalloc.start()
    try:
        verify_chain(**inputs, validate=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10e6


@pytest.mark.parametrize("integer", [np.int32, np.uint16, np.uint64])
def test_any_integer_type_will_do(integer):
    inputs = random_inputs(5, 30, 3, 6)
    expected = verify_chain(**inputs)
    inputs["draft"], inputs["num_draft"] = inputs["draft"].astype(integer), inputs["num_draft"].astype(integer)
    assert_same(verify_chain(**inputs), expected)


def test_a_generator_draws_the_accept_uniforms_and_then_the_final_ones():
    inputs = random_inputs(6, 30, 3, 6)
    rng = np.random.default_rng(11)
    inputs["accept_uniforms"], inputs["final_uniforms"] = rng.random((30, 3)), rng.random(30)
    expected = verify_chain(**inputs)
    del inputs["accept_uniforms"], inputs["final_uniforms"]
    assert_same(verify_chain(**inputs, rng=np.random.default_rng(11)), expected)
