"""verify_rows on rows of tables gives what the dense verifiers give on the gathered arrays, and checks its rows."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.errors import InputError
from specsim.verification import verify_block, verify_chain, verify_rows

pytestmark = pytest.mark.usefixtures("core")

DENSE = {"token": verify_chain, "block": verify_block}


def chain_parents(B, N):
    return np.broadcast_to(np.arange(N) - 1, (B, N))


def row_inputs(seed, B=6, N=4, V=5, num_rows=7, one_hot=0.3, dtype=np.float64):
    """Random tables with many zeros, nodes that share rows, some nodes not sampled, greedy rows, poisoned padding."""
    rng = np.random.default_rng(seed)
    q, p = rng.integers(0, 4, (2, num_rows, V)) + np.eye(V)[rng.integers(0, V, (2, num_rows))]
    q, p = ((table / table.sum(axis=1, keepdims=True)).astype(dtype) for table in (q, p))
    q_row, p_row = rng.integers(0, num_rows, (B, N)), rng.integers(0, num_rows, (B, N + 1))
    token = np.where(q[q_row] > 0, rng.random((B, N, V)), -1.0).argmax(axis=2)
    not_sampled = rng.random((B, N)) < one_hot
    q_row[not_sampled] = -1
    token[not_sampled] = rng.integers(0, V, not_sampled.sum())
    num_nodes = rng.integers(0, N + 1, B)
    accept, final, greedy = rng.random((B, N)), rng.random(B), rng.random(B) < 0.3
    padding = np.arange(N) >= num_nodes[:, None]
    token[padding], q_row[padding], accept[padding] = -7, 10**9, np.nan
    p_row[np.arange(N + 1) > num_nodes[:, None]] = -5
    q_row[greedy], accept[greedy], final[greedy] = 10**9, np.nan, np.nan
    return {
        "parents": chain_parents(B, N),
        "token": token,
        "num_nodes": num_nodes,
        "q": q,
        "q_row": q_row,
        "p": p,
        "p_row": p_row,
        "greedy": greedy,
        "accept_uniforms": accept,
        "final_uniforms": final,
    }


def gathered(rows):
    """The same inputs as dense arrays; a token that was not sampled gets a one-hot row, padding NaN."""
    q_row, p_row = rows["q_row"], rows["p_row"]
    V, tables = rows["p"].shape[1], {name: rows[name] for name in ("q", "p")}
    dense = {
        name: np.where(
            ((index >= 0) & (index < len(tables[name])))[..., None],
            tables[name][np.clip(index, 0, len(tables[name]) - 1)],
            np.nan,
        )
        for name, index in (("q", q_row), ("p", p_row))
    }
    one_hot = q_row == -1
    dense["q"][one_hot] = np.eye(V)[rows["token"][one_hot]]
    passed_on = ("greedy", "accept_uniforms", "final_uniforms")
    return {"draft": rows["token"], "num_draft": rows["num_nodes"], **dense} | {name: rows[name] for name in passed_on}


def assert_same(result, expected):
    for found, wanted in zip(result, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == np.int64


@pytest.mark.slow
@pytest.mark.parametrize("rule", DENSE)
@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]), st.sampled_from([0.0, 0.3, 1.0]))
def test_equals_the_dense_verifier_on_gathered_rows(rule, seed, dtype, one_hot):
    rows = row_inputs(seed, dtype=dtype, one_hot=one_hot)
    expected = DENSE[rule](**gathered(rows))
    assert_same(verify_rows(**rows, rule=rule), expected)
    assert_same(verify_rows(**rows, rule=rule, validate=False), expected)


@pytest.mark.parametrize("rule", DENSE)
@pytest.mark.parametrize("table", [None, np.zeros((0, 5))], ids=["none", "empty"])
def test_no_table_of_drafters_is_needed_where_no_token_was_sampled(rule, table):
    rows = row_inputs(1, B=50, one_hot=1.0)
    expected = DENSE[rule](**gathered(rows) | {"q": None})
    assert_same(verify_rows(**rows | {"q": table}, rule=rule), expected)


def test_rows_of_large_tables_are_not_gathered():
    V, B, N = 4096, 2000, 4
    p = np.random.default_rng(0).dirichlet(np.ones(V), 3)
    rows = row_inputs(0, B=B, N=N, num_rows=3) | {"q": p, "p": p, "greedy": None}
    rows["token"], rows["q_row"] = np.zeros((B, N), np.int64), np.arange(B)[:, None] % 3 + np.zeros(N, np.int64)
    tracemalloc.start()
    try:
        verify_rows(**rows, validate=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10e6 < B * N * V * 8


def good_inputs():
    """Row 0 has two nodes, the second not sampled; row 1 one; row 2 none."""
    return {
        "parents": chain_parents(3, 2),
        "token": np.array([[0, 3], [2, -1], [-1, -1]]),
        "num_nodes": np.array([2, 1, 0]),
        "q": np.full((2, 4), 0.25),
        "q_row": np.array([[0, -1], [1, 77], [77, 77]]),
        "p": np.full((3, 4), 0.25),
        "p_row": np.array([[0, 1, 2], [0, 1, 77], [2, 77, 77]]),
        "accept_uniforms": np.full((3, 2), 0.5),
        "final_uniforms": np.full(3, 0.5),
    }


def with_entry(name, place, value):
    array = np.array(good_inputs()[name])
    array[place] = value
    return {name: array}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_entry("parents", (0, 1), -1), r"parents: \(b=0, i=1\) is -1: must be i - 1"),
        (with_entry("q_row", (1, 0), 2), r"q_row: \(b=1, i=0\) is 2: must be from -1 to 1"),
        (with_entry("q_row", (0, 0), -2), r"q_row: \(b=0, i=0\) is -2: must be from -1 to 1"),
        (with_entry("p_row", (0, 2), -1), r"p_row: \(b=0, i=2\) is -1: must be from 0 to 2"),
        (with_entry("p_row", (1, 1), 3), r"p_row: \(b=1, i=1\) is 3: must be from 0 to 2"),
        ({"q": None}, r"q_row: \(b=0, i=0\) is 0: must be from -1 to -1, .* \(1 more like it\)"),
        (with_entry("token", (1, 0), 4), r"token: \(b=1, i=0\) is 4: must be from 0 to V - 1 = 3; shorten num_nodes"),
        (with_entry("num_nodes", 1, 3), r"num_nodes: \(b=1\) is 3: must be from 0 to N = 2"),
        (with_entry("q", 1, [0.5, 0.5, 0, 0]), r"token: \(b=1, i=0\) is 2: .* q gives it probability 0"),
        (with_entry("p", (2, 3), np.nan), r"p: \(row=2, b=0, i=2\) is nan: .* must be finite"),
        (with_entry("q", (1, 0), 0.5), r"q: \(row=1, b=1, i=0\) is 1.25: is the sum of the row"),
        (with_entry("accept_uniforms", (1, 0), 1.0), r"accept_uniforms: \(b=1, i=0\) is 1.0"),
        ({"p_row": np.zeros((3, 2), int)}, r"p_row: shape is \(3, 2\): must be \(3, 3\)"),
        ({"q_row": np.zeros((3, 2))}, r"q_row: dtype is float64: must be integers"),
        ({"q": np.zeros((2, 5))}, r"q: shape is \(2, 5\): must be \(2, 4\)"),
        ({"greedy": np.zeros(3, int)}, r"greedy: dtype is int64: must be booleans"),
        ({"token": np.zeros(3, int)}, r"token: shape is \(3,\): must be \[B, K\]"),
    ],
)
def test_one_mistake_is_one_problem_that_names_its_place(change, message):
    verify_rows(**good_inputs())
    with pytest.raises(InputError, match=message) as caught:
        verify_rows(**{**good_inputs(), **change})
    assert len(caught.value.problems) == 1


def test_rows_that_nothing_refers_to_are_not_judged():
    inputs = good_inputs()
    for table in ("q", "p"):
        inputs[table] = np.vstack([inputs[table], np.full((1, 4), np.nan)])
    verify_rows(**inputs)
