"""String-level exact match: re-tokenised drafts, the target's text whatever is drafted, acceptance, what is refused."""

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.errors import InputError
from specsim.verification import draw_tokens, retokenise, verify_chain, verify_exact_match, verify_greedy

PIECES = [b"a", b"b", b"ab", b"ba"]


def decode(ids):
    return b"".join(b"ab"[x : x + 1] for x in ids)


def encode(text):
    return [PIECES.index(piece) for piece in re.findall(b"ab|ba|a|b", text)]


def test_each_row_is_tokenised_as_a_whole_and_padding_is_not_read():
    draft = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 99], [99, 99, 99]])
    ids, lengths = retokenise(draft, np.array([3, 3, 2, 0]), decode, encode)
    np.testing.assert_array_equal(ids, [[2, 0], [3, 1], [0, 0], [-1, -1]])
    np.testing.assert_array_equal(lengths, [2, 2, 2, 0])
    assert ids.dtype == lengths.dtype == np.int64


@pytest.mark.parametrize("B", [0, 2])
def test_nothing_drafted_is_nothing_to_keep(B):
    ids, lengths = retokenise(np.zeros((B, 3), int), np.zeros(B, int), decode, encode)
    assert ids.shape == (B, 0)
    p = np.broadcast_to([0.0, 1.0], (B, 1, 2))
    out, num_out = verify_exact_match(ids, p, lengths, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(out, np.ones((B, 1)))
    np.testing.assert_array_equal(num_out, np.ones(B))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.lists(st.integers(0, 1), max_size=6), min_size=1, max_size=5))
def test_the_text_survives(rows):
    draft = np.full((len(rows), 6), -1)
    for b, row in enumerate(rows):
        draft[b, : len(row)] = row
    ids, lengths = retokenise(draft, np.array([len(row) for row in rows]), decode, encode)
    for b, row in enumerate(rows):
        assert b"".join(PIECES[x] for x in ids[b, : lengths[b]]) == decode(row)
        assert (ids[b, lengths[b] :] == -1).all()


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 4), st.sampled_from([np.float32, np.float64]))
def test_the_text_is_what_the_target_says_alone(seed, V, K, dtype):
    """Uniforms are keyed by output position, drafts are anything, ragged and long or short: not a token changes."""
    rng = np.random.default_rng(seed)
    B, T = 4, 6
    table = rng.dirichlet(np.full(V, 0.5), V + 1).astype(dtype)  # by the token before, the start last
    table /= table.sum(axis=1, keepdims=True, dtype=dtype)
    u = rng.random((B, T + K + 1))
    alone = np.full((B, T), V)
    for t in range(T):
        alone[:, t] = draw_tokens(table[alone[:, t - 1] if t else np.full(B, V)], uniforms=u[:, t])
    text, length = np.full((B, T + K + 1), V), np.zeros(B, int)
    while (length < T).any():
        draft, num_draft = rng.integers(0, V, (B, K)), rng.integers(0, K + 1, B)
        at = np.minimum(length, T)[:, None] + np.arange(K + 1)
        before = np.where(length > 0, text[np.arange(B), np.minimum(length, T) - 1], V)
        p = table[np.column_stack([before, draft])]
        p[np.arange(K + 1) > num_draft[:, None]] = np.nan
        draft[np.arange(K) >= num_draft[:, None]] = -1
        out, num_out = verify_exact_match(draft, p, num_draft, uniforms=np.take_along_axis(u, at, axis=1))
        for b in np.flatnonzero(length < T):
            text[b, length[b] : length[b] + num_out[b]] = out[b, : num_out[b]]
        length = np.where(length < T, length + num_out, length)
    np.testing.assert_array_equal(text[:, :T], alone)


@pytest.mark.parametrize("V", [3, 3000])
def test_at_temperature_0_it_is_the_greedy_rule(V):
    rng = np.random.default_rng(V)
    best = rng.integers(0, V, (50, 4))
    draft, num_draft = np.where(rng.random((50, 3)) < 0.7, best[:, :3], 0), rng.integers(0, 4, 50)
    one_hot = (np.arange(V) == best[:, :, None]).astype(np.float32)
    found = verify_exact_match(draft, one_hot, num_draft, rng=rng)
    for array, due in zip(found, verify_greedy(draft, best, num_draft), strict=True):
        np.testing.assert_array_equal(array, due)


def lattice(size, units=6):
    """All distributions over a number of tokens, in parts of a unit."""
    return [[Fraction(x, units) for x in row] for row in product(range(units + 1), repeat=size) if sum(row) == units]


def test_it_never_accepts_more_than_the_rejection_rule():
    """Σ p·q ≤ Σ min(p, q), with equality just where p or q is certain, or nothing is common."""
    rows, equal = lattice(3), 0
    for p, q in product(rows, rows):
        exact, rejection = sum(x * y for x, y in zip(p, q, strict=True)), sum(map(min, p, q))
        assert exact <= rejection
        assert (exact == rejection) == (1 in (*p, *q) or rejection == 0)
        equal += exact == rejection
    assert 0 < equal < len(rows) ** 2


def test_acceptance_of_both_rules_by_sampling():
    """A drafter that is the target: the rejection rule accepts all, the exact match Σ p², within 4 standard errors."""
    rng = np.random.default_rng(5)
    p, B = np.array([0.5, 0.25, 0.25]), 100_000
    draft = rng.choice(3, (B, 1), p=p)
    p_rows, one = np.broadcast_to(p, (B, 2, 3)), np.ones(B, int)
    _, num_out = verify_exact_match(draft, p_rows, one, rng=rng)
    assert abs((num_out - 1).mean() - 0.375) < 4 * np.sqrt(0.375 * 0.625 / B)
    _, num_out = verify_chain(draft, p_rows[:, :1], p_rows, one, rng=rng)
    assert (num_out == 2).all()


GOOD = {"draft": np.array([[0, 1]]), "p": np.full((1, 3, 2), 0.5), "num_draft": np.array([2])}
WRONG = [
    ({"draft": np.array([[0, 2]])}, r"draft: \(b=0, i=1\) is 2: must be from 0 to V - 1 = 1"),
    ({"num_draft": np.array([3])}, r"num_draft: \(b=0\) is 3: must be from 0 to K = 2"),
    ({"p": np.full((1, 3, 2), 0.6)}, r"p: \(b=0, i=0\) is 1.2: is the sum of the row"),
    ({"p": np.full((1, 2, 2), 0.5)}, r"p: shape is \(1, 2, 2\): must be \(1, 3, 2\)"),
    ({"p": np.full((1, 3, 2), 1)}, "p: dtype is int64: must be floating-point numbers"),
    ({"draft": np.array([0, 1])}, r"draft: shape is \(2,\): must be \[B, K\]"),
    ({"uniforms": np.array([[0.5, 0.5, 1.0]])}, r"uniforms: \(b=0, i=2\) is 1.0: must be in \[0, 1\)"),
    (
        {"uniforms": np.zeros((1, 2))},
        r"uniforms is float64, shape \(1, 2\): must be floating-point numbers, shape \(1,",
    ),
    ({"rng": np.random.default_rng(0)}, "randomness is rng, uniforms: give either rng or uniforms"),
    ({"uniforms": None}, "randomness is nothing: give either rng or uniforms"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_refused(wrong, message):
    with pytest.raises(InputError) as caught:
        verify_exact_match(**{**GOOD, "uniforms": np.full((1, 3), 0.5), **wrong})
    assert re.match(message, str(caught.value)), str(caught.value)


def test_all_problems_are_listed_at_once():
    with pytest.raises(InputError) as caught:
        verify_exact_match(np.array([[5, 0]]), np.full((1, 3, 2), 0.6), np.array([2]), uniforms=np.ones((1, 3)))
    assert [problem.where for problem in caught.value.problems] == ["draft", "p", "uniforms"]


def test_counts_that_do_not_fit_are_refused_before_a_tokenizer_is_asked():
    with pytest.raises(InputError, match=r"num_draft: \(b=0\) is 4: must be from 0 to K = 3"):
        retokenise(np.zeros((1, 3), int), np.array([4]), decode, encode)
