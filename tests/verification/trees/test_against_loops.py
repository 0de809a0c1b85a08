"""verify_tree equals a scalar loop, and verify_chain where the tree is a chain, whatever the shapes and padding."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim.verification import verify_chain, verify_tree
from specsim.verification.proof.tree_loops import tree_by_loops

SIBLINGS = ("with_replacement", "without_replacement", "one_hot")
UNIFORMS = st.sampled_from([0.0, 0.25, 0.5, 0.75, np.nextafter(1.0, 0.0)]) | st.floats(0, 1, exclude_max=True)
POISON = np.nan


@st.composite
def distributions(draw, num_rows, V):
    """Rows with many zeros and many equal entries, every second one poison; the indices of the others."""
    weights = draw(hnp.arrays(np.int64, (2 * num_rows, V), elements=st.integers(0, 3)))
    weights[:, draw(st.integers(0, V - 1))] += 1
    table = weights.astype(draw(st.sampled_from([np.float32, np.float64])))
    table /= table.sum(axis=1, keepdims=True)
    table[::2] = POISON
    return table, st.sampled_from(range(1, 2 * num_rows, 2))


def drafted_tree(draw, num_nodes, V, q, rows, siblings):
    """Parents, tokens and rows of one tree; a node that finds no token left for it ends the tree."""
    parents, token, q_row = [], [], []
    for i in range(num_nodes):
        parent = draw(st.integers(-1, i - 1))
        row = draw(rows)
        used = [x for x, y in zip(token, parents, strict=True) if y == parent and siblings != "with_replacement"]
        support = [x for x in range(V) if x not in used and (siblings == "one_hot" or q[row, x] > 0)]
        if not support:
            break
        parents.append(parent)
        token.append(draw(st.sampled_from(support)))
        q_row.append(-1 if siblings == "one_hot" else row)
    return parents, token, q_row


@st.composite
def tree_inputs(draw, schemes=SIBLINGS):
    """Ragged inputs of verify_tree as keyword arguments, padding and table rows that nothing names full of poison."""
    siblings = draw(st.sampled_from(schemes))
    B, N, V = draw(st.integers(0, 4)), draw(st.integers(0, 7)), draw(st.integers(1, 5))
    (q, q_rows), (p, p_rows) = draw(distributions(3, V)), draw(distributions(4, V))
    parents, token = np.full((B, N), 99), np.full((B, N), 10**12)
    q_row, p_row, num_nodes = np.full((B, N), -7), np.full((B, N + 1), 10**9), np.zeros(B, np.int64)
    for b in range(B):
        tree = drafted_tree(draw, draw(st.integers(0, N)), V, q, q_rows, siblings)
        n = num_nodes[b] = len(tree[0])
        parents[b, :n], token[b, :n], q_row[b, :n] = tree
        p_row[b, : n + 1] = draw(st.lists(p_rows, min_size=n + 1, max_size=n + 1))
    accept = draw(hnp.arrays(np.float64, (B, N), elements=UNIFORMS))
    accept[np.arange(N) >= num_nodes[:, None]] = POISON
    return {
        "parents": parents,
        "token": token,
        "num_nodes": num_nodes,
        "q_row": q_row if siblings != "one_hot" or draw(st.booleans()) else None,
        "p_row": p_row,
        "q": q if siblings != "one_hot" or draw(st.booleans()) else None,
        "p": p,
        "siblings": siblings,
        "accept_uniforms": accept,
        "final_uniforms": draw(hnp.arrays(np.float64, B, elements=UNIFORMS)),
    }


def random_trees(seed, B, N, V, siblings="with_replacement", dtype=np.float64):
    """Full-support inputs of any size: random trees, tokens distinct among siblings where V allows."""
    rng = np.random.default_rng(seed)
    tables = rng.random((2, 9, V)) ** 3
    q, p = (tables / tables.sum(axis=2, keepdims=True)).astype(dtype)
    parents = rng.integers(-1, np.arange(N), (B, N))
    one_hot = siblings == "one_hot"
    return {
        "parents": parents,
        "token": rng.permuted(np.tile(np.arange(V), (B, 1)), axis=1)[:, :N],
        "num_nodes": rng.integers(0, N + 1, B),
        "q_row": None if one_hot else rng.integers(0, 9, (B, N)),
        "p_row": rng.integers(0, 9, (B, N + 1)),
        "q": None if one_hot else q,
        "p": p,
        "siblings": siblings,
        "accept_uniforms": rng.random((B, N)),
        "final_uniforms": rng.random(B),
    }


def assert_same(result, expected):
    for found, wanted in zip(result, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == np.int64


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SIBLINGS)
def test_equals_the_scalar_loop(scheme):
    @settings(derandomize=True, deadline=None, max_examples=250)
    @given(tree_inputs(schemes=(scheme,)))
    def check(inputs):
        expected = tree_by_loops(**inputs)
        assert_same(verify_tree(**inputs), expected)
        assert_same(verify_tree(**inputs, validate=False), expected)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("B", "N", "V"), [(300, 12, 16), (40, 9, 1500), (3, 4, 70_000)])
def test_equals_the_scalar_loop_on_trees_of_any_size(B, N, V, dtype, siblings):
    inputs = random_trees(B + N + V, B, N, V, siblings, dtype)
    assert_same(verify_tree(**inputs), tree_by_loops(**inputs))


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(tree_inputs())
def test_structure_of_the_output(inputs):
    out, num_out, nodes = verify_tree(**inputs)
    for b in range(len(out)):
        accepted, row = num_out[b] - 1, -1
        assert (nodes[b, accepted:] == -1).all()
        assert (out[b, num_out[b] :] == -1).all()
        for depth in range(accepted):
            i = nodes[b, depth]
            assert inputs["parents"][b, i] == row, "the accepted nodes are a path from the root"
            assert out[b, depth] == inputs["token"][b, i]
            assert inputs["p"][inputs["p_row"][b, row + 1], out[b, depth]] > 0
            row = i
        assert inputs["p"][inputs["p_row"][b, row + 1], out[b, accepted]] > 0, "the target never says this token"


def as_tree(draft, q, p, num_draft, accept_uniforms, final_uniforms):
    """The arguments of verify_chain as those of verify_tree."""
    B, K = draft.shape
    return {
        "parents": np.tile(np.arange(K) - 1, (B, 1)),
        "token": draft,
        "num_nodes": num_draft,
        "q_row": np.arange(B * K).reshape(B, K),
        "p_row": np.arange(B * (K + 1)).reshape(B, K + 1),
        "q": q.reshape(B * K, q.shape[2]),
        "p": p.reshape(B * (K + 1), p.shape[2]),
        "accept_uniforms": accept_uniforms,
        "final_uniforms": final_uniforms,
    }


@st.composite
def chains(draw, one_hot):
    """Ragged inputs of verify_chain with poisoned padding."""
    B, K, V = draw(st.integers(1, 4)), draw(st.integers(0, 3)), draw(st.integers(1, 5))
    (q, q_rows), (p, p_rows) = draw(distributions(3, V)), draw(distributions(4, V))
    q = q[draw(hnp.arrays(np.int64, (B, K), elements=q_rows))]
    p = p[draw(hnp.arrays(np.int64, (B, K + 1), elements=p_rows))]
    preference = draw(hnp.arrays(np.float64, (B, K, V), elements=st.floats(0, 1)))
    draft = np.where(q > 0, preference, -1.0).argmax(axis=2)
    if one_hot:
        q = np.eye(V)[draft]
    num_draft = draw(hnp.arrays(np.int64, B, elements=st.integers(0, K)))
    padding = np.arange(K) >= num_draft[:, None]
    draft[padding], q[padding], p[np.arange(K + 1) > num_draft[:, None]] = -1, POISON, POISON
    accept = draw(hnp.arrays(np.float64, (B, K), elements=UNIFORMS))
    return draft, q, p, num_draft, accept, draw(hnp.arrays(np.float64, B, elements=UNIFORMS))


def assert_same_as_the_chain(tree_result, chain, K):
    draft, q, p, num_draft, accept, final = chain
    out, num_out = verify_chain(draft, q, p, num_draft, accept_uniforms=accept, final_uniforms=final)
    tree_out, tree_num_out, nodes = tree_result
    D = max(num_draft, default=0)
    assert tree_out.shape == (len(draft), D + 1)
    np.testing.assert_array_equal(tree_out, out[:, : D + 1])
    np.testing.assert_array_equal(tree_num_out, num_out)
    np.testing.assert_array_equal(nodes, np.where(np.arange(D) < num_out[:, None] - 1, np.arange(D), -1))


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SIBLINGS[:2])
def test_a_chain_given_as_a_tree_gives_the_chains_result(siblings):
    @settings(derandomize=True, deadline=None, max_examples=250)
    @given(chains(one_hot=False))
    def check(chain):
        assert_same_as_the_chain(verify_tree(**as_tree(*chain), siblings=siblings), chain, chain[0].shape[1])

    check()


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=250)
@given(chains(one_hot=True))
def test_so_does_a_one_hot_chain(chain):
    inputs = as_tree(*chain) | {"q": None, "q_row": None, "siblings": "one_hot"}
    assert_same_as_the_chain(verify_tree(**inputs), chain, chain[0].shape[1])


@pytest.mark.parametrize("siblings", SIBLINGS[:2])
@pytest.mark.parametrize(("B", "K", "V"), [(500, 6, 20), (20, 3, 9000)])
def test_large_chains_too(B, K, V, siblings):
    rng = np.random.default_rng(B)
    q, p = rng.random((B, K, V)) ** 3, rng.random((B, K + 1, V)) ** 3
    q, p = q / q.sum(axis=2, keepdims=True), (p / p.sum(axis=2, keepdims=True)).astype(np.float32)
    chain = rng.integers(0, V, (B, K)), q, p, rng.integers(0, K + 1, B), rng.random((B, K)), rng.random(B)
    assert_same_as_the_chain(verify_tree(**as_tree(*chain), siblings=siblings), chain, K)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=100)
@given(tree_inputs(), st.randoms(use_true_random=False))
def test_permuting_the_rows_permutes_the_result(inputs, random):
    order = np.arange(len(inputs["token"]))
    random.shuffle(order)
    tables = ("q", "p", "siblings")
    permuted = {name: value if name in tables or value is None else value[order] for name, value in inputs.items()}
    assert_same(verify_tree(**permuted), [result[order] for result in verify_tree(**inputs)])


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_a_generator_draws_the_accept_uniforms_and_then_the_final_ones(siblings):
    inputs = random_trees(6, 30, 5, 6, siblings)
    rng = np.random.default_rng(11)
    inputs["accept_uniforms"], inputs["final_uniforms"] = rng.random((30, 5)), rng.random(30)
    expected = verify_tree(**inputs)
    del inputs["accept_uniforms"], inputs["final_uniforms"]
    assert_same(verify_tree(**inputs, rng=np.random.default_rng(11)), expected)


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_inputs_may_be_read_only(siblings):
    inputs = random_trees(7, 50, 6, 9, siblings)
    before = {name: np.copy(value) for name, value in inputs.items() if isinstance(value, np.ndarray)}
    for name in before:
        inputs[name].flags.writeable = False
    verify_tree(**inputs)
    for name, value in before.items():
        np.testing.assert_array_equal(inputs[name], value)


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SIBLINGS)
def test_holds_a_few_rows_of_the_vocabulary_whatever_the_batch(siblings):
    V = 50_000
    inputs = random_trees(8, 40, 9, V, siblings, np.float32)
    tracemalloc.start()
    try:
        verify_tree(**inputs, validate=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * V * 8


@pytest.mark.parametrize("integer", [np.int32, np.uint16, np.uint64])
def test_any_integer_type_will_do(integer):
    inputs = random_trees(5, 30, 5, 6)
    expected = verify_tree(**inputs)
    for name in ("token", "num_nodes", "q_row", "p_row"):
        inputs[name] = inputs[name].astype(integer)
    assert_same(verify_tree(**inputs), expected)


@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize(("B", "N"), [(0, 0), (0, 3), (3, 0)])
def test_no_rows_and_no_nodes(B, N, siblings):
    inputs = random_trees(1, B, N, 4, siblings)
    out, num_out, nodes = verify_tree(**inputs)
    assert out.shape == (B, 1)
    assert nodes.shape == (B, 0)
    assert (num_out == 1).all()
    assert (out >= 0).all()
