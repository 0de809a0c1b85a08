"""Processed rows equal a slow reference that says what each filter keeps, and have the limits that they must have."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim.errors import InputError
from specsim.verification.processing.processors import LazyTable, Processors, process
from specsim.verification.rows import row_sum_tolerance


def slow(logits, temperature=1.0, top_k=None, top_p=None, min_p=None):
    """One row at a time, each token asked whether it is kept, in the words of the module's docstring."""
    if temperature == 0:
        p = [float(x == logits.index(max(logits))) for x in range(len(logits))]
    else:
        weights = [np.exp((x - max(logits)) / temperature) for x in logits]
        p = [w / sum(weights) for w in weights]
    if min_p is not None:
        p = normalised([x if x >= min_p * max(p) else 0.0 for x in p])
    if top_k is not None:
        p = normalised([x if sum(y > x for y in p) < top_k else 0.0 for x in p])
    if top_p is not None:
        p = normalised([x if sum(y for y in p if y > x) < top_p else 0.0 for x in p])
    return p


def normalised(p):
    return [x / sum(p) for x in p]


@st.composite
def settings_of_rows(draw, R, V):
    def per_row(elements):
        return draw(st.lists(elements, min_size=R, max_size=R).map(np.array) | elements)

    return {
        "temperature": per_row(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
        "top_k": draw(st.none()) if draw(st.booleans()) else per_row(st.integers(1, V + 1)),
        # Never a sum of the probabilities below, on which rounding would decide.
        "top_p": draw(st.none()) if draw(st.booleans()) else per_row(st.sampled_from([0.0123, 0.456, 0.789, 1.0])),
        "min_p": draw(st.none()) if draw(st.booleans()) else per_row(st.sampled_from([0.0, 0.0123, 0.456, 0.999])),
    }


@st.composite
def tables(draw):
    """Logits with ties and masked tokens, never a whole row masked, and parameters."""
    R, V = draw(st.integers(0, 4)), draw(st.integers(1, 8))
    logits = draw(hnp.arrays(np.float64, (R, V), elements=st.sampled_from([-np.inf, 0.0, 1.0, 2.5, -3.0])))
    logits[:, draw(st.integers(0, V - 1))] = draw(st.sampled_from([0.0, 1.0]))
    return logits, draw(settings_of_rows(R, V))


def of_row(parameters, r):
    return {n: v if v is None or np.ndim(v) == 0 else v[r] for n, v in parameters.items()}


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=400)
@given(tables())
def test_equals_the_slow_reference(table):
    logits, parameters = table
    found = process(logits, **parameters)
    assert found.shape == logits.shape
    assert found.dtype == np.float64
    for r, row in enumerate(found):
        expected = np.array(slow(logits[r].tolist(), **of_row(parameters, r)))
        np.testing.assert_allclose(row, expected, rtol=1e-14, atol=1e-300)
        np.testing.assert_array_equal(row > 0, expected > 0)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(tables(), st.randoms(use_true_random=False))
def test_probabilities_are_processed_like_their_logits(table, random):
    logits, parameters = table
    scale = random.choice([1e-3, 1.0, 7.0])
    found = process(scale * np.exp(logits), kind="probabilities", **parameters)
    np.testing.assert_allclose(found, process(logits, **parameters), rtol=1e-12)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(tables(), st.randoms(use_true_random=False))
def test_permuting_the_vocabulary_permutes_the_result(table, random):
    logits, parameters = table
    order = list(range(logits.shape[1]))
    random.shuffle(order)
    parameters["temperature"] = np.maximum(parameters["temperature"], 0.5)  # at 0 the lowest id wins a tie
    found, expected = process(logits[:, order], **parameters), process(logits, **parameters)[:, order]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_array_equal(found > 0, expected > 0)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=100)
@given(tables(), st.data())
def test_only_the_rows_that_are_asked_for_are_processed(table, data):
    logits, parameters = table
    R = len(logits)
    rows = np.array(data.draw(st.lists(st.integers(0, R - 1), max_size=6)) if R else [], dtype=np.int64)
    expected = process(logits, **parameters)[rows]
    unread = np.setdiff1d(np.arange(R), rows)
    logits[unread] = np.nan
    for value in parameters.values():
        if np.ndim(value) == 1:
            value[unread] = -7
    np.testing.assert_array_equal(process(logits, rows=rows, **parameters), expected)
    np.testing.assert_array_equal(LazyTable(logits, Processors(**parameters))[rows], expected)


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
def test_nothing_asked_for_is_the_identity(kind):
    p = np.random.default_rng(0).dirichlet(np.ones(50), size=20)
    table = np.log(p) if kind == "logits" else p
    for nothing in ({}, {"top_k": 50}, {"top_k": 99}, {"top_p": 1.0}, {"min_p": 0.0}, {"temperature": 1}):
        np.testing.assert_allclose(process(table, kind=kind, **nothing), p, rtol=1e-13)


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
def test_limits_of_the_temperature(kind):
    p = np.array([[0.2, 0.4, 0.1, 0.3, 0.0]])
    table = p
    if kind == "logits":
        table = np.log(p, where=p > 0, out=np.full_like(p, -np.inf))
    for cold in (0.0, 5e-324, 1e-300, 1e-4):
        np.testing.assert_array_equal(process(table, kind=kind, temperature=cold), [[0, 1, 0, 0, 0]])
    for hot in (1e12, 1.7e308):
        np.testing.assert_allclose(process(table, kind=kind, temperature=hot), [[0.25] * 4 + [0]], atol=1e-11)


def test_temperature_zero_takes_the_lowest_of_equals():
    np.testing.assert_array_equal(process(np.array([[1.0, 3.0, 3.0]]), temperature=0), [[0, 1, 0]])


def test_ties_stay_or_go_together():
    p = np.array([[0.4, 0.2, 0.2, 0.2]])
    kept = [((process(p, kind="probabilities", **only) > 0).sum()) for only in ({"top_k": 2}, {"top_p": 0.5})]
    assert kept == [4, 4]
    np.testing.assert_array_equal(process(p, kind="probabilities", top_p=0.3), [[1, 0, 0, 0]])


def test_the_token_that_crosses_top_p_stays():
    p = np.array([[0.5, 0.25, 0.125, 0.125]])
    for top_p, kept in ((0.5, 1), (np.nextafter(0.5, 1), 2), (0.75, 2), (0.76, 4), (1e-9, 1)):
        assert (process(p, kind="probabilities", top_p=top_p) > 0).sum() == kept


def test_the_filters_are_applied_in_the_order_of_vllm():
    p = np.array([[0.4, 0.3, 0.2, 0.1]])
    # Of the two that top-k leaves, the first has 4/7 and is enough for top-p = 0.5: by p itself it would not be.
    np.testing.assert_array_equal(process(p, kind="probabilities", top_k=2, top_p=0.5), [[1, 0, 0, 0]])
    # At T = 1/2 the second has 9/16 of the highest; min-p sees that, and not 3/4.
    found = process(p, kind="probabilities", temperature=0.5, min_p=0.6)
    np.testing.assert_array_equal(found, [[1, 0, 0, 0]])
    # Min-p first leaves (4, 3, 2)/9, whose first two are below top-p = 0.8; of p the first three would be too few.
    np.testing.assert_allclose(process(p, kind="probabilities", min_p=0.5, top_p=0.77), [[4 / 7, 3 / 7, 0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_rows_are_normalised_and_agree_with_a_full_sort(dtype):
    rng = np.random.default_rng(1)
    V = 40_000
    logits = (rng.normal(size=(4, V)) * np.array([[0.0], [1.0], [4.0], [12.0]])).astype(dtype)
    for parameters in (
        {"top_p": 0.9},
        {"top_p": 0.999999},
        {"top_k": 50},
        {"min_p": 0.05, "top_k": 1000, "top_p": 0.5},
    ):
        found = process(logits, **parameters)
        assert (np.abs(found.sum(axis=1) - 1) <= row_sum_tolerance(np.float64, V)).all()
        for r in range(4):
            np.testing.assert_array_equal(found[r] > 0, sorted_reference(logits[r], **parameters))


def sorted_reference(logits, top_k=None, top_p=None, min_p=None):
    """Which tokens are kept, by sorting everything; without the ties that this table does not have."""
    logits = logits.astype(np.float64)
    kept = np.ones(len(logits), dtype=bool)
    if min_p is not None:
        kept &= logits >= logits.max() + np.log(min_p)
    order = np.argsort(-logits, kind="stable")
    if top_k is not None:
        kept &= logits >= logits[order[top_k - 1]]
    if top_p is not None:
        p = np.where(kept, np.exp(logits - logits.max()), 0.0)
        p /= p.sum()
        before = np.concatenate([[0.0], p[order].cumsum()[:-1]])
        threshold = p[order][before < top_p][-1]
        kept &= p >= threshold
    return kept


def bad(change, message):
    return pytest.param(change, message, id=message[:30])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        bad({"table": np.array([[0.0, 1.0], [-np.inf, -np.inf]])}, r"table: \(row=1\) is -inf: .* no token is left"),
        bad({"table": np.array([[np.nan, 1.0], [0.0, 0.0]])}, r"table: \(row=0\) is nan: must be a number or"),
        bad({"table": np.array([[np.inf, 1.0], [0.0, 0.0]])}, r"table: \(row=0\) is inf: must be a number or"),
        bad({"kind": "probabilities", "table": np.array([[0.5, 0.5], [0, 0.0]])}, r"table: \(row=1\) is 0.0: .* left"),
        bad({"kind": "probabilities", "table": np.array([[-0.5, 1], [0, 1.0]])}, r"table: \(row=0\) is -0.5: must be"),
        bad({"kind": "scores"}, "kind is 'scores': must be logits or probabilities"),
        bad({"table": np.zeros(3)}, r"table: shape is \(3,\): must be \[R, V\]"),
        bad({"table": np.zeros((2, 2), np.float16)}, r"table: dtype is 'float16': must be float32"),
        bad({"temperature": -1.0}, r"temperature: \(row=0\) is -1.0: must be 0 or more.*\(1 more like it\)"),
        bad({"temperature": [1.0, np.nan]}, r"temperature: \(row=1\) is nan"),
        bad({"temperature": [1.0, 1.0, 1.0]}, r"temperature: shape is \(3,\): must be one number, or one per row, \(2"),
        bad({"top_k": 0}, r"top_k: \(row=0\) is 0: must be a whole number"),
        bad({"top_k": 2.5}, r"top_k: dtype is float64: must be a whole number"),
        bad({"top_p": 0.0}, r"top_p: \(row=0\) is 0.0: must be above 0"),
        bad({"top_p": [0.5, 1.5]}, r"top_p: \(row=1\) is 1.5: must be above 0"),
        bad({"min_p": 1.5}, r"min_p: \(row=0\) is 1.5: must be from 0 to 1"),
        bad({"rows": np.array([0, 2])}, r"rows: \(b=1\) is 2: must be from 0 to 1"),
        bad({"rows": np.array([0.5])}, r"rows is .*: must be whole numbers"),
    ],
)
def test_what_cannot_be_processed_is_refused(change, message):
    good = {"table": np.array([[0.0, 1.0], [2.0, -np.inf]])}
    process(**good)
    with pytest.raises(InputError) as caught:
        process(**good | change)
    assert len(caught.value.problems) == 1
    assert re.match(message, str(caught.value)), str(caught.value)


def test_all_problems_of_the_parameters_are_listed_at_once():
    with pytest.raises(InputError) as caught:
        process(np.zeros((2, 2)), temperature=-1, top_k=0, top_p=2.0, min_p=-1.0)
    assert [problem.where for problem in caught.value.problems] == ["temperature", "top_k", "top_p", "min_p"]


def test_the_table_is_not_written_to():
    for kind in ("logits", "probabilities"):
        table = np.random.default_rng(2).random((3, 9))
        before = table.copy()
        process(table, kind=kind, temperature=0.7, top_k=4, top_p=0.8, min_p=0.1)
        np.testing.assert_array_equal(table, before)
