"""Bad trees are refused in words that say which row, what, and what instead, and all of it at once."""

import re

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.verification import verify_tree

pytestmark = pytest.mark.usefixtures("core")

B, N, V = 3, 4, 5


def good_inputs(siblings="with_replacement"):
    """Row 0 has four nodes (two children of the root, two of the first), row 1 has two, row 2 none."""
    rng = np.random.default_rng(0)
    q_row = np.array([[0, 0, 1, 1], [2, 2, 9, 9], [9, 9, 9, 9]])
    if siblings == "one_hot":
        q_row[:2] = -1
    return {
        "parents": np.array([[-1, -1, 0, 0], [-1, 0, 9, 9], [9, 9, 9, 9]]),
        "token": np.array([[0, 1, 2, 3], [4, 4, -1, -1], [-1, -1, -1, -1]]),
        "num_nodes": np.array([4, 2, 0]),
        "q_row": q_row,
        "p_row": np.array([[0, 1, 2, 3, 4], [0, 1, 5, 99, 99], [6, 99, 99, 99, 99]]),
        "q": rng.dirichlet(np.ones(V), size=4),
        "p": rng.dirichlet(np.ones(V), size=8),
        "siblings": siblings,
        "accept_uniforms": rng.random((B, N)),
        "final_uniforms": rng.random(B),
    }


def problems_of(siblings="with_replacement", **changed):
    with pytest.raises(InputError) as caught:
        verify_tree(**{**good_inputs(siblings), **changed})
    return [str(problem) for problem in caught.value.problems]


def with_entry(name, place, value):
    array = good_inputs()[name].copy()
    array[place] = value
    return {name: array}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_entry("parents", (0, 2), 2), r"parents: \(b=0, i=2\) is 2: must be -1 .* or a node before this one"),
        (with_entry("parents", (1, 0), 0), r"parents: \(b=1, i=0\) is 0: must be -1"),
        (with_entry("parents", (0, 3), -2), r"parents: \(b=0, i=3\) is -2: must be -1"),
        (with_entry("token", (0, 1), -1), r"token: \(b=0, i=1\) is -1: must be from 0 to 4; padding begins at num_nod"),
        (with_entry("token", (1, 1), V), r"token: \(b=1, i=1\) is 5: must be from 0 to 4"),
        (with_entry("num_nodes", 1, N + 1), r"num_nodes: \(b=1\) is 5: must be from 0 to N = 4"),
        (with_entry("num_nodes", 2, -1), r"num_nodes: \(b=2\) is -1: must be from 0 to N = 4"),
        ({"num_nodes": np.array([4, 2, 2**64 - 1], np.uint64)}, r"num_nodes: \(b=2\) is 18446744073709551615: must"),
        (with_entry("q_row", (0, 3), 4), r"q_row: \(b=0, i=3\) is 4: must be from 0 to 3"),
        (with_entry("q_row", (1, 1), -1), r"q_row: \(b=1, i=1\) is -1: must be from 0 to 3"),
        (with_entry("p_row", (0, 4), 8), r"p_row: \(b=0, i=4\) is 8: must be from 0 to 7"),
        (with_entry("p_row", (2, 0), -1), r"p_row: \(b=2, i=0\) is -1: must be from 0 to 7"),
        (with_entry("q", 2, [0.25, 0.25, 0.25, 0.25, 0]), r"token: \(b=1, i=0\) is 4: .* q gives it probability 0"),
        (with_entry("q", (2, 0), np.nan), r"q: \(row=2\) is nan: .* must be finite"),
        (with_entry("p", (6, 0), np.inf), r"p: \(row=6\) is inf: .* must be finite"),
        (with_entry("p", (5, 1), -0.5), r"p: \(row=5\) is -0.5: .* must not be negative"),
        (with_entry("q", 1, 0.3), r"q: \(row=1\) is 1.5: is the sum of the row, and must be 1 within"),
        (with_entry("p", 4, 0.2 + 1e-12), r"p: \(row=4\) is 1.000000000005: is the sum of the row"),
        (with_entry("accept_uniforms", (1, 1), 1.0), r"accept_uniforms: \(b=1, i=1\) is 1.0: must be in \[0, 1\)"),
        (with_entry("final_uniforms", 2, np.nan), r"final_uniforms: \(b=2\) is nan: must be in \[0, 1\)"),
        ({"num_nodes": np.zeros(B + 1, int)}, r"num_nodes: shape is \(4,\): must be \(3,\)"),
        ({"num_nodes": np.zeros(B)}, r"num_nodes: dtype is float64: must be integers"),
        ({"token": np.zeros((B, N))}, r"token: dtype is float64: must be integers"),
        ({"token": np.zeros(B, int)}, r"token: shape is \(3,\): must be \[B, N\]"),
        ({"parents": np.zeros((B, N + 1), int)}, r"parents: shape is \(3, 5\): must be \(3, 4\)"),
        ({"q_row": np.zeros((B, N + 1), int)}, r"q_row: shape is \(3, 5\): must be \(3, 4\)"),
        ({"p_row": np.zeros((B, N), int)}, r"p_row: shape is \(3, 4\): must be \(3, 5\)"),
        ({"q": np.full((4, V + 1), 1 / (V + 1))}, r"q: shape is \(4, 6\): must be \(4, 5\)"),
        ({"p": np.full((8, 1, V), 1 / V)}, r"p: shape is \(8, 1, 5\): must be \(8, 5\)"),
        ({"p": np.full((8, V), 1 / V, np.float16)}, r"p: dtype is float16: must be float32 or float64"),
        ({"q": np.full((4, V), 1 / V, np.float16)}, r"q: dtype is float16: must be float32 or float64"),
        ({"q": np.zeros((4, V), int)}, r"q: dtype is int64: must be float32 or float64"),
        ({"accept_uniforms": np.zeros((B, 1))}, r"accept_uniforms: shape is \(3, 1\): must be \(3, 4\)"),
        ({"q": None}, r"q and q_row: must be given for siblings='with_replacement'"),
        ({"q_row": None}, r"q and q_row: must be given for siblings='with_replacement'"),
    ],
)
def test_one_mistake_is_one_problem_that_names_its_place(change, message):
    problems = problems_of(**change)
    assert len(problems) == 1
    assert re.match(message, problems[0]), problems[0]


@pytest.mark.parametrize("siblings", ["without_replacement", "one_hot"])
def test_siblings_that_cannot_be_equal_must_not_be(siblings):
    token = good_inputs()["token"]
    token[0, 3] = token[0, 2]
    (problem,) = problems_of(siblings, token=token)
    assert problem.startswith("token: (b=0, i=3) is 2: repeats the token of an earlier sibling")
    verify_tree(**good_inputs() | {"token": token})


def test_one_hot_tokens_were_not_sampled():
    inputs = good_inputs("one_hot")
    for nothing in ({}, {"q": None}, {"q": None, "q_row": None}, {"q_row": None}):
        verify_tree(**inputs | nothing)
    inputs["q_row"][0, 1] = 1
    (problem,) = problems_of("one_hot", q_row=inputs["q_row"])
    assert problem.startswith("q_row: (b=0, i=1) is 1: must be -1 for siblings='one_hot'")


@pytest.mark.parametrize("validate", [False, True])
def test_there_are_three_schemes(validate):
    with pytest.raises(InputError, match="siblings is 'typical': must be one of with_replacement, without_replacement"):
        verify_tree(**good_inputs() | {"siblings": "typical"}, validate=validate)


def test_all_kinds_of_problems_are_listed_at_once():
    changes = [
        with_entry("num_nodes", 2, 7),
        with_entry("parents", (0, slice(0, 2)), 5),
        with_entry("token", (1, 0), 9),
        with_entry("p_row", (0, 0), 77),
        with_entry("p", (slice(1, 3), slice(None)), 0.3),
        with_entry("q_row", (1, 0), -1),
        with_entry("q", 0, -0.25),
        with_entry("final_uniforms", 1, 1.5),
    ]
    problems = problems_of(**{name: array for change in changes for name, array in change.items()})
    names = ["num_nodes", "parents", "token", "p_row", "p", "q_row", "q", "final_uniforms"]
    assert [problem.split(":")[0] for problem in problems] == names
    assert "(1 more like it)" in problems[1]
    assert "(1 more like it)" in problems[4]


def test_randomness_comes_from_exactly_one_source():
    with pytest.raises(InputError, match="randomness is rng, accept_uniforms, final_uniforms: give either rng, or"):
        verify_tree(**good_inputs(), rng=np.random.default_rng(0))


def test_padding_is_not_judged():
    inputs = good_inputs()
    inputs["q"][3] = inputs["p"][7] = np.nan
    inputs["accept_uniforms"][1, 2:] = inputs["accept_uniforms"][2] = 77
    verify_tree(**inputs)
