"""Models that count: against dictionaries of counts, context by context."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.drafting import ngrams
from specsim.drafting.ngrams import count_ngrams, tokens_of


def context_of(models, tokens):
    """The context after some tokens."""
    context = 0
    for token in tokens:
        context = int(models.step[context, token])
    return context


TEXTS = st.lists(st.integers(0, 3), min_size=6, max_size=60).filter(lambda tokens: len(set(tokens)) > 1)


def numbered(tokens):
    """The tokens that occur, as 0, 1, ..."""
    return np.unique(tokens, return_inverse=True)[1]


def by_dictionary(tokens, order, b):
    """context → distribution, for every context that occurs before a token."""
    V, found = max(tokens) + 1, {}
    for length in range(order):
        counts = {}
        for i in range(length, len(tokens)):
            counts.setdefault(tuple(tokens[i - length : i]), Counter())[tokens[i]] += 1
        for context, seen in counts.items():
            below = found[context[1:]] if length else np.full(V, 1 / V)
            share = np.array([seen[x] for x in range(V)]) / sum(seen.values())
            found[context] = (1 - b) * share + b * below
    return found


def longest_known(found, tokens, most):
    """The longest ending of some tokens, no longer than ``most``, that is a context."""
    return next(end for n in range(most, -1, -1) if (end := tuple(tokens[len(tokens) - n :])) in found)


@settings(max_examples=150)
@given(TEXTS, st.integers(1, 4), st.floats(0.01, 0.99), st.lists(st.integers(0, 3), max_size=12))
def test_rows_and_contexts_are_those_of_counting(text, order, b, path):
    text = numbered(text)
    models, found = count_ngrams(text, order, b), by_dictionary(text.tolist(), order, b)
    assert len(models.rows) == len(found) == models.first[-1]
    path = [token % (max(text) + 1) for token in path]
    for n in range(len(path) + 1):
        row = models.rows[context_of(models, path[:n])]
        np.testing.assert_allclose(row, found[longest_known(found, path[:n], min(order - 1, n))], rtol=1e-12)


@given(TEXTS, st.integers(1, 4))
def test_shorter_contexts_forget_the_oldest_token(text, order):
    text = numbered(text)
    models = count_ngrams(text, order, 0.1)
    for i in range(order - 1, len(text)):
        recent = text[i - order + 1 : i]
        context = context_of(models, recent)
        assert models.starts[i - order + 1] == context
        if order > 1:
            assert models.shorter[context] == context_of(models, recent[1:])


@given(TEXTS, st.integers(1, 4))
def test_lower_orders_are_the_first_rows(text, order):
    text = numbered(text)
    high, low = count_ngrams(text, 4, 0.2), count_ngrams(text, order, 0.2)
    np.testing.assert_array_equal(high.rows[: high.first[order]], low.rows)


def test_tokens_are_numbered_by_frequency_and_the_rare_are_one():
    assert tokens_of("to be or not to be to", "word", 256).tolist() == [0, 1, 3, 2, 0, 1, 0]
    assert tokens_of("to be or not to be to", "word", 3).tolist() == [0, 1, 2, 2, 0, 1, 0]
    assert tokens_of("aab", "byte", 256).tolist() == [0, 0, 1]
    assert len(tokens_of("ä", "byte", 256)) == 2


@pytest.mark.parametrize("text", ["", "aaaa", "ab"])
def test_texts_that_make_no_model_are_refused(text):
    with pytest.raises(ValueError, match="too few"):
        count_ngrams(tokens_of(text, "byte", 256), 3, 0.1)


def test_tables_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(ngrams, "MOST_ENTRIES", 20)
    with pytest.raises(ValueError, match="more than the 5 that fit"):
        count_ngrams(tokens_of("abacabadabacaba", "byte", 256), 3, 0.1)
