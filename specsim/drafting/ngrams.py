"""Language models that count: the n-grams of a text, each order mixed with the order below.

P_n(x | h) = (1 − b) · count(h x)/count(h) + b · P_{n−1}(x | h without its oldest token), down to P_0 = 1/V: Jelinek and
Mercer's interpolation ("Interpolated estimation of Markov source parameters from sparse data", 1980) with one weight b.
A context that never occurred is replaced by its longest ending that did. So a model is a table of rows, one for each
context that occurs, and a map from context and token to the next context.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from specsim.arrays import Floats, Ints

MOST_ENTRIES = 2**24
"""Contexts times tokens of a table; 128 MiB."""


class Ngrams(NamedTuple):
    """Models of all orders up to n. Contexts are numbered by length; the empty one is 0.

    Attributes:
        rows: distributions [R, V].
        first: number of contexts shorter than 0, 1, .. n tokens: a model of order m has the first[m] first rows [n+1].
        shorter: of a context, the one without its oldest token; of the empty one itself [R].
        step: context and token → next context, of the model of order n [R, V].
        starts: the contexts met along the text, from the n-th token on.
    """

    rows: Floats
    first: Ints
    shorter: Ints
    step: Ints
    starts: Ints


def tokens_of(text: str, unit: Literal["byte", "word"], vocabulary: int) -> Ints:
    """Token ids of a text, the most frequent first, int64 [tokens]; all beyond the vocabulary share its last id."""
    units = np.frombuffer(text.encode(), np.uint8) if unit == "byte" else np.array(text.split() or [""])
    _, place, count = np.unique(units, return_inverse=True, return_counts=True)
    rank = np.empty(len(count), np.int64)
    rank[np.argsort(-count, kind="stable")] = np.arange(len(count))
    return np.minimum(rank[place], vocabulary - 1)


def count_ngrams(tokens: Ints, order: int, interpolation: float) -> Ngrams:
    """The n-gram models of a text.

    Args:
        tokens: of the text, ids from 0 [tokens].
        order: n, of the longest n-grams.
        interpolation: b, the weight of the order below.

    Raises:
        ValueError: the text is too short, or has more contexts than fit.
    """
    V = int(tokens.max(initial=0)) + 1
    if V < 2 or len(tokens) <= order:
        what = f"{len(tokens)} tokens, {V} of them distinct"
        raise ValueError(f"has {what}, too few for n-grams of {order}; give a longer one")
    met = _contexts(tokens, order, V)
    first = np.concatenate([[0], np.cumsum([len(codes) for codes, _ in met])])
    if first[-1] * V > MOST_ENTRIES:
        raise ValueError(
            f"has {first[-1]} contexts for n-grams of {order} with {V} tokens, more than the {MOST_ENTRIES // V} that "
            "fit; write a lower target_order or vocabulary, or give a shorter one"
        )
    rows, shorter, step = np.empty((first[-1], V)), np.zeros(first[-1], np.int64), np.zeros((first[-1], V), np.int64)
    for length, (codes, places) in enumerate(met):
        own = slice(first[length], first[length + 1])
        count = np.bincount(places * V + tokens[length:], minlength=len(codes) * V).reshape(-1, V)
        below = np.full((1, V), 1 / V)
        if length:
            shorter[own] = first[length - 1] + np.searchsorted(met[length - 1][0], codes % V ** (length - 1))
            below, step[own] = rows[shorter[own]], step[shorter[own]]
        rows[own] = (1 - interpolation) * count / count.sum(axis=1, keepdims=True) + interpolation * below
        if length + 1 < order:
            longer = met[length + 1][0]
            before = first[length] + np.searchsorted(codes, longer // V)
            step[before, longer % V] = first[length + 1] + np.arange(len(longer))
    return Ngrams(rows, first, shorter, step, first[-2] + met[-1][1])


def _contexts(tokens: Ints, order: int, V: int) -> list[tuple[Ints, Ints]]:
    """For lengths 0, 1, .. order − 1 the contexts that occur before a token, ascending, and the one at each position.

    A context is a number to the base V, its newest token the last digit.
    """
    codes, found = np.zeros(len(tokens), np.int64), []
    for length in range(order):
        found.append(np.unique(codes, return_inverse=True))
        codes = codes[1:] + tokens[: len(codes) - 1] * V**length
    return found
