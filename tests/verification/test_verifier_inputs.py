"""Bad input is refused in words that say which row, what, and what instead, and all of it at once."""

import re

import numpy as np
import pytest

from specsim.errors import InputError
from specsim.verification import verify_block, verify_chain, verify_greedy
from specsim.verification.rows import row_sum_tolerance

pytestmark = pytest.mark.usefixtures("core")

B, K, V = 3, 2, 4


def good_inputs():
    """Row 0 has two drafts, row 1 one, row 2 none."""
    rng = np.random.default_rng(0)
    return {
        "draft": np.array([[0, 1], [2, -1], [-1, -1]]),
        "q": rng.dirichlet(np.ones(V), size=(B, K)),
        "p": rng.dirichlet(np.ones(V), size=(B, K + 1)),
        "num_draft": np.array([2, 1, 0]),
        "accept_uniforms": rng.random((B, K)),
        "final_uniforms": rng.random(B),
    }


def problems_of(**changed):
    with pytest.raises(InputError) as caught:
        verify_chain(**{**good_inputs(), **changed})
    return [str(problem) for problem in caught.value.problems]


def with_entry(name, place, value):
    array = good_inputs()[name].copy()
    array[place] = value
    return {name: array}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_entry("draft", (0, 1), -1), r"draft: \(b=0, i=1\) is -1: must be from 0 to V - 1 = 3"),
        (with_entry("draft", (1, 0), V), r"draft: \(b=1, i=0\) is 4: must be from 0 to V - 1 = 3"),
        (with_entry("q", (0, 1), [0.5, 0.0, 0.25, 0.25]), r"draft: \(b=0, i=1\) is 1: .* q gives it probability 0"),
        (with_entry("num_draft", 1, K + 1), r"num_draft: \(b=1\) is 3: must be from 0 to K = 2"),
        ({"num_draft": np.array([2, 1, 2**64 - 1], np.uint64)}, r"num_draft: \(b=2\) is 18446744073709551615: must be"),
        (with_entry("num_draft", 2, -1), r"num_draft: \(b=2\) is -1: must be from 0 to K = 2"),
        ({"p": np.full((3, 3, 4), 0.25, np.float16)}, r"p: dtype is float16: must be float32 or float64"),
        (with_entry("q", (1, 0, 3), np.nan), r"q: \(b=1, i=0\) is nan: .* must be finite"),
        (with_entry("p", (1, 1, 0), np.inf), r"p: \(b=1, i=1\) is inf: .* must be finite"),
        (with_entry("p", (2, 0, 1), -0.5), r"p: \(b=2, i=0\) is -0.5: .* must not be negative"),
        (with_entry("q", (0, 0), 0.3), r"q: \(b=0, i=0\) is 1.2: is the sum of the row, and must be 1 within"),
        (with_entry("p", (0, 2), 0.25 + 1e-12), r"p: \(b=0, i=2\) is 1.000000000004: is the sum of the row"),
        (with_entry("accept_uniforms", (0, 0), 1.0), r"accept_uniforms: \(b=0, i=0\) is 1.0: must be in \[0, 1\)"),
        (with_entry("final_uniforms", 2, np.nan), r"final_uniforms: \(b=2\) is nan: must be in \[0, 1\)"),
        ({"num_draft": np.zeros(B + 1, int)}, r"num_draft: shape is \(4,\): must be \(3,\)"),
        ({"num_draft": np.zeros(B)}, r"num_draft: dtype is float64: must be integers"),
        ({"draft": np.zeros((B, K))}, r"draft: dtype is float64: must be integers"),
        ({"p": np.zeros((B, K, V))}, r"p: shape is \(3, 2, 4\): must be \(3, 3, 4\)"),
        ({"q": np.zeros((B, K, V + 1))}, r"q: shape is \(3, 2, 5\): must be \(3, 2, 4\)"),
        ({"q": np.zeros((B, K, V), int)}, r"q: dtype is int64: must be floating-point numbers"),
        ({"accept_uniforms": np.zeros((B, 1))}, r"accept_uniforms: shape is \(3, 1\): must be \(3, 2\)"),
        ({"draft": np.zeros(B, int)}, r"draft: shape is \(3,\): must be \[B, K\]"),
    ],
)
def test_one_mistake_is_one_problem_that_names_its_place(change, message):
    problems = problems_of(**change)
    assert len(problems) == 1
    assert re.match(message, problems[0]), problems[0]


def test_an_empty_vocabulary_is_refused():
    (problem,) = problems_of(q=np.zeros((B, K, 0)), p=np.zeros((B, K + 1, 0)))
    assert problem.startswith("p: shape is (3, 3, 0): must be (3, 3, 1)")


def test_all_kinds_of_problems_are_listed_at_once():
    changes = [
        with_entry("draft", (0, 0), 9),
        with_entry("num_draft", 2, 7),
        with_entry("q", (1, 0), -0.25),
        with_entry("p", (0, slice(0, 2)), 0.3),
        with_entry("final_uniforms", 1, 1.5),
    ]
    problems = problems_of(**{name: array for change in changes for name, array in change.items()})
    assert [problem.split(":")[0] for problem in problems] == ["num_draft", "draft", "q", "p", "final_uniforms"]
    assert "(1 more like it)" in problems[3]


def test_shapes_are_all_judged_before_values():
    problems = problems_of(q=np.zeros((1, 1, V)), p=np.zeros(V), num_draft=np.zeros((B, 1), int))
    assert [problem.split(" is ")[0] for problem in problems] == ["num_draft: shape", "q: shape", "p: shape"]


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ((), "nothing"),
        (("accept_uniforms",), "accept_uniforms"),
        (("final_uniforms",), "final_uniforms"),
        (("rng", "accept_uniforms", "final_uniforms"), "rng, accept_uniforms, final_uniforms"),
    ],
)
def test_randomness_comes_from_exactly_one_source(sources, found):
    inputs = good_inputs() | {"rng": np.random.default_rng(0)}
    for name in {"rng", "accept_uniforms", "final_uniforms"} - set(sources):
        del inputs[name]
    for validate in (True, False):
        with pytest.raises(InputError, match=f"randomness is {found}: give either rng, or both"):
            verify_chain(**inputs, validate=validate)


def test_what_greedy_rows_and_drafts_that_were_not_sampled_leave_unread_is_not_judged():
    inputs = good_inputs() | {"greedy": np.array([True, False, False])}
    inputs["q"][0] = inputs["accept_uniforms"][0] = inputs["final_uniforms"][0] = np.nan
    for verify in (verify_chain, verify_block):
        verify(**inputs)
        verify(**inputs | {"q": None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"greedy": np.array([True, False])}, r"greedy: shape is \(2,\): must be \(3,\)"),
        ({"greedy": np.array([1, 0, 0])}, r"greedy: dtype is int64: must be booleans"),
        ({"q": None} | with_entry("draft", (0, 1), 4), r"draft: \(b=0, i=1\) is 4: must be from 0 to V - 1 = 3"),
        ({"greedy": np.ones(3, bool)} | with_entry("draft", (0, 1), -1), r"draft: \(b=0, i=1\) is -1: must be from 0"),
        ({"greedy": np.ones(3, bool)} | with_entry("p", (0, 1), 0.5), r"p: \(b=0, i=1\) is 2.0: is the sum"),
    ],
)
def test_the_rest_of_them_is(change, message):
    for verify in (verify_chain, verify_block):
        with pytest.raises(InputError, match=message) as caught:
            verify(**{**good_inputs(), **change})
        assert len(caught.value.problems) == 1


def test_padding_is_not_judged():
    inputs = good_inputs()
    inputs["q"][1, 1] = inputs["q"][2] = np.nan
    inputs["p"][1, 2] = inputs["p"][2, 1:] = [np.inf, -np.inf, -1, np.nan]
    inputs["accept_uniforms"][1, 1] = inputs["accept_uniforms"][2] = 77
    inputs["draft"][2] = 10**15
    verify_chain(**inputs)


@pytest.mark.parametrize(
    ("dtype", "V"),
    # Half precision ends where single probabilities of a long row underflow.
    [(np.float16, 2), (np.float16, 32), (np.float16, 1000)]
    + [(dtype, V) for dtype in (np.float32, np.float64) for V in (2, 32, 1000, 128_256)],
)
def test_rows_normalised_in_their_own_type_are_within_the_tolerance(dtype, V):
    logits = np.random.default_rng(V).normal(size=(20, V)).astype(dtype)
    weights = np.exp(logits)
    summed_one_by_one = np.cumsum(weights, axis=1, dtype=dtype)[:, -1:]
    error = np.abs((weights / summed_one_by_one).sum(axis=1, dtype=np.float64) - 1)
    assert (error <= row_sum_tolerance(dtype, V)).all()


def test_the_tolerance_is_tight_where_the_vocabulary_is_small():
    assert row_sum_tolerance(np.float64, 32) < 1e-14
    assert row_sum_tolerance(np.float32, 32) < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draft": np.array([[0, -1], [0, 0]])}, r"draft: \(b=0, i=1\) is -1: must be a token id"),
        (
            {"target_argmax": np.array([[0, 1, 2], [0, -3, 0]])},
            r"target_argmax: \(b=1, i=1\) is -3: must be a token id",
        ),
        ({"target_argmax": np.zeros((2, 2), int)}, r"target_argmax: shape is \(2, 2\): must be \(2, 3\)"),
        ({"target_argmax": np.zeros((2, 3))}, r"target_argmax: dtype is float64: must be integers"),
        ({"num_draft": np.array([3, 1])}, r"num_draft: \(b=0\) is 3: must be from 0 to K = 2"),
    ],
)
def test_the_greedy_verifier_is_as_strict(change, message):
    inputs = {
        "draft": np.array([[0, 1], [0, -1]]),
        "target_argmax": np.array([[0, 1, 2], [0, 1, -1]]),
        "num_draft": np.array([2, 1]),
    }
    verify_greedy(**inputs)
    with pytest.raises(InputError, match=message) as caught:
        verify_greedy(**{**inputs, **change})
    assert len(caught.value.problems) == 1
