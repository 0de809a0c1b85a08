"""verify_chain and verify_block equal scalar loops on the same uniforms, whatever the shapes, types and padding."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim.verification import verify_block, verify_chain
from specsim.verification.proof.loops import block_by_loops, chain_by_loops

pytestmark = pytest.mark.usefixtures("core")

RULES = pytest.mark.parametrize(
    ("verify", "by_loops"), [(verify_chain, chain_by_loops), (verify_block, block_by_loops)], ids=["token", "block"]
)

LARGEST_UNIFORM = np.nextafter(1.0, 0.0)
UNIFORMS = st.sampled_from([0.0, 0.25, 0.5, 0.75, LARGEST_UNIFORM]) | st.floats(0, 1, exclude_max=True)
TYPES = st.sampled_from([np.float32, np.float64])


@st.composite
def distributions(draw, shape, dtype):
    """Rows with many zeros and many equal entries: small whole weights, normalised in the type."""
    weights = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 3)))
    weights[..., draw(st.integers(0, shape[-1] - 1))] += 1
    rows = weights.astype(dtype)
    return rows / rows.sum(axis=-1, keepdims=True)


def drafts_of(draw, q):
    """Tokens that q can have given, of those the ones with the largest of some random numbers."""
    preference = draw(hnp.arrays(np.float64, q.shape, elements=st.floats(0, 1)))
    return np.where(q > 0, preference, -1.0).argmax(axis=-1)


@st.composite
def chain_inputs(draw, greedy=False, max_K=3):
    """Keyword arguments of verify_chain; with greedy, some rows are, and what they do not read is poison too."""
    B, K, V = draw(st.integers(0, 4)), draw(st.integers(0, max_K)), draw(st.integers(1, 5))
    q = draw(distributions((B, K, V), draw(TYPES)))
    p = draw(distributions((B, K + 1, V), draw(TYPES)))
    inputs = {
        "draft": drafts_of(draw, q),
        "q": q,
        "p": p,
        "num_draft": draw(hnp.arrays(np.int64, B, elements=st.integers(0, K))),
        "accept_uniforms": draw(hnp.arrays(np.float64, (B, K), elements=UNIFORMS)),
        "final_uniforms": draw(hnp.arrays(np.float64, B, elements=UNIFORMS)),
    }
    poisoned(draw, inputs)
    if greedy:
        rows = inputs["greedy"] = draw(hnp.arrays(np.bool_, B))
        q[rows] = inputs["accept_uniforms"][rows] = inputs["final_uniforms"][rows] = draw(
            st.sampled_from([np.nan, np.inf])
        )
    return inputs


def poisoned(draw, inputs):
    """Fill the padding with what must never be read."""
    K = inputs["draft"].shape[1]
    padding = np.arange(K) >= inputs["num_draft"][:, None]
    inputs["draft"][padding] = draw(st.sampled_from([-1, 0, inputs["p"].shape[2], 10**12]))
    inputs["p"][np.arange(K + 1) > inputs["num_draft"][:, None]] = draw(st.sampled_from([np.nan, np.inf, -1.0]))
    inputs["q"][padding] = np.nan
    inputs["accept_uniforms"][padding] = np.nan


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


@pytest.mark.slow
@RULES
@settings(derandomize=True, deadline=None, max_examples=250)
@given(chain_inputs())
def test_equals_the_scalar_loop(verify, by_loops, inputs):
    expected = by_loops(**inputs)
    assert_same(verify(**inputs), expected)
    assert_same(verify(**inputs, validate=False), expected)


@pytest.mark.slow
@RULES
@settings(derandomize=True, deadline=None, max_examples=300)
@given(chain_inputs(greedy=True))
def test_equals_the_scalar_loop_with_greedy_rows_among_the_others(verify, by_loops, inputs):
    expected = by_loops(**inputs)
    assert_same(verify(**inputs), expected)
    assert_same(verify(**inputs, validate=False), expected)


@pytest.mark.slow
@RULES
@settings(derandomize=True, deadline=None, max_examples=300)
@given(chain_inputs(greedy=True))
def test_equals_the_scalar_loop_where_no_draft_was_sampled(verify, by_loops, inputs):
    expected = by_loops(**inputs | {"q": None})
    assert_same(verify(**inputs | {"q": None}), expected)
    V = inputs["p"].shape[2]
    eye = np.eye(V)[np.clip(inputs["draft"], 0, V - 1)]
    assert_same(verify(**inputs | {"q": eye}), expected)


@pytest.mark.slow
@RULES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("B", "K", "V"), [(200, 8, 16), (64, 2, 1500), (50, 3, 1536), (3, 2, 70_000)])
def test_equals_the_scalar_loop_when_a_large_vocabulary_is_worked_on_in_parts(verify, by_loops, B, K, V, dtype):
    inputs = random_inputs(B + K + V, B, K, V, dtype)
    greedy = np.arange(B) % 3 == 0
    assert_same(verify(**inputs, greedy=greedy), by_loops(**inputs, greedy=greedy))


@pytest.mark.slow
@RULES
@pytest.mark.parametrize("V", [1023, 1024, 1025, 1057, 2048])
def test_equals_the_scalar_loop_where_blocks_begin_and_tokens_are_struck_out_of_them(verify, by_loops, V):
    inputs = random_inputs(V, 60, 3, V) | {"q": None}
    inputs["draft"][::2] = V - 1
    inputs["p"][1::3, :, : V // 2] = 0.0
    assert_same(verify(**inputs, validate=False), by_loops(**inputs))


@RULES
def test_tables_of_any_layout_will_do(verify, by_loops):
    inputs = random_inputs(6, 20, 3, 40)
    expected = by_loops(**inputs)
    for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1)):
        back = np.argsort(order)
        moved = {name: inputs[name].transpose(order).copy().transpose(back) for name in ("q", "p")}
        assert_same(verify(**inputs | moved), expected)


@pytest.mark.slow
@RULES
@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.data())
def test_what_is_emitted_unchecked_is_a_token_that_the_target_says(verify, by_loops, data):
    """Rows that are no distributions, but never an id out of range, nor one with p = 0 if the row has any other."""
    B, K, V = 2, data.draw(st.integers(0, 3)), data.draw(st.integers(1, 4))
    numbers = st.sampled_from([0.0, 0.25, 0.5, 1.0, 7.0, np.nan, np.inf])
    tables = {
        name: data.draw(hnp.arrays(data.draw(TYPES), (B, n, V), elements=numbers))
        for name, n in (("q", K), ("p", K + 1))
    }
    draft = data.draw(hnp.arrays(np.int64, (B, K), elements=st.sampled_from([-1, 0, 1, V, 10**12])))
    uniforms = {
        "accept_uniforms": data.draw(hnp.arrays(np.float64, (B, K), elements=UNIFORMS)),
        "final_uniforms": data.draw(hnp.arrays(np.float64, B, elements=UNIFORMS)),
    }
    num_draft = data.draw(hnp.arrays(np.int64, B, elements=st.integers(0, K)))
    if data.draw(st.booleans()):
        tables["q"] = None
    out, num_out = verify(draft, tables["q"], tables["p"], num_draft, **uniforms, validate=False)
    b, i = np.nonzero(np.arange(K + 1) < num_out[:, None])
    token, row = out[b, i], tables["p"][b, i]
    assert ((token >= 0) & (token < V)).all()
    assert ((row[np.arange(len(b)), token] > 0) | ~(row > 0).any(axis=1)).all()


@pytest.mark.slow
@RULES
@settings(derandomize=True, deadline=None, max_examples=300)
@given(chain_inputs(greedy=True))
def test_structure_of_the_output(verify, by_loops, inputs):
    out, num_out = verify(**inputs)
    num_draft, p = inputs["num_draft"], inputs["p"]
    B, N, V = p.shape
    assert out.shape == (B, N)
    assert ((num_out >= 1) & (num_out <= num_draft + 1)).all()
    emitted = np.arange(N) < num_out[:, None]
    assert (out[~emitted] == -1).all()
    assert ((out[emitted] >= 0) & (out[emitted] < V)).all()
    b, i = np.nonzero(emitted)
    assert (p[b, i, out[b, i]] > 0).all(), "a token that the target never says was emitted"


@pytest.mark.slow
@RULES
@settings(derandomize=True, deadline=None, max_examples=200)
@given(chain_inputs(greedy=True), st.randoms(use_true_random=False))
def test_permuting_the_rows_permutes_the_result(verify, by_loops, inputs, random):
    order = np.arange(len(inputs["draft"]))
    random.shuffle(order)
    expected = [result[order] for result in verify(**inputs)]
    assert_same(verify(**{name: array[order] for name, array in inputs.items()}), expected)


@RULES
def test_a_row_does_not_depend_on_its_neighbours(verify, by_loops):
    inputs, others = random_inputs(1, 50, 4, 8), random_inputs(2, 50, 4, 8)
    out, num_out = verify(**inputs)
    for kept in range(50):
        mixed = {name: array.copy() for name, array in others.items()}
        for name, array in inputs.items():
            mixed[name][kept] = array[kept]
        mixed_out, mixed_num_out = verify(**mixed)
        np.testing.assert_array_equal(mixed_out[kept], out[kept])
        assert mixed_num_out[kept] == num_out[kept]


@RULES
def test_accepts_read_only_views_of_shared_rows_as_the_engine_passes_them(verify, by_loops):
    inputs = random_inputs(3, 40, 4, 16)
    for table in ("q", "p"):
        inputs[table] = np.broadcast_to(inputs[table][0], inputs[table].shape)
    for array in inputs.values():
        array.flags.writeable = False
    dense = {name: array.copy() for name, array in inputs.items()}
    assert_same(verify(**inputs), verify(**dense))


@pytest.mark.slow
@RULES
@pytest.mark.parametrize("greedy", [None, np.arange(2000) % 2 == 0], ids=["sampled", "mixed"])
def test_does_not_copy_the_tables(verify, by_loops, greedy):
    inputs = random_inputs(4, 1, 4, 4096)
    inputs = {name: np.broadcast_to(array[0], (2000, *array.shape[1:])) for name, array in inputs.items()}
    assert inputs["p"].size * 8 > 300e6
    tracemalloc.start()
    try:
        verify(**inputs, greedy=greedy, validate=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10e6


@RULES
@pytest.mark.parametrize("integer", [np.int32, np.uint16, np.uint64])
def test_any_integer_type_will_do(verify, by_loops, integer):
    inputs = random_inputs(5, 30, 3, 6)
    expected = verify(**inputs)
    inputs["draft"], inputs["num_draft"] = inputs["draft"].astype(integer), inputs["num_draft"].astype(integer)
    assert_same(verify(**inputs), expected)


@RULES
def test_a_generator_draws_the_accept_uniforms_and_then_the_final_ones(verify, by_loops):
    inputs = random_inputs(6, 30, 3, 6)
    rng = np.random.default_rng(11)
    inputs["accept_uniforms"], inputs["final_uniforms"] = rng.random((30, 3)), rng.random(30)
    expected = verify(**inputs)
    del inputs["accept_uniforms"], inputs["final_uniforms"]
    assert_same(verify(**inputs, rng=np.random.default_rng(11)), expected)
