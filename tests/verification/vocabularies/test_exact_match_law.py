"""An exact match emits the target's own samples, whatever text is drafted: all outcomes in fractions; mutants fail.

The drafter knows letters, a and b. The target also has "ab" and tokenises by the longest match, so that three letters
become two or three tokens. Every text is put to the verifier with every cell of its uniforms, at the cell's first and
last float: all probabilities are eighths, so that cumulative sums are exact.
"""

import re
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from support.exact_match_mutants import BY_ACCEPTANCE, BY_THE_LAW

from specsim.verification import retokenise, verify_exact_match

EIGHTHS, V, START, LETTERS = 8, 3, 3, 3
TARGET_TOKENS = ["a", "b", "ab"]
# The target's next token after a, b, ab and at the start; the drafter's next letter after a, b and at the start.
TARGET = np.array([[2, 5, 1], [0, 3, 5], [4, 4, 0], [3, 1, 4]])
DRAFTER = np.array([[2, 6], [5, 3], [4, 4]])


def decode(ids):
    return "".join("ab"[x] for x in ids)


def encode(text):
    return [TARGET_TOKENS.index(piece) for piece in re.findall("ab|a|b", text)]


def letters_law():
    """The probability of each text of three letters."""
    law = {}
    for ids in product(range(2), repeat=LETTERS):
        law[ids] = Fraction(1)
        for before, x in pairwise((2, *ids)):
            law[ids] *= Fraction(int(DRAFTER[before, x]), EIGHTHS)
    return law


LETTERS_LAW = letters_law()


def batch():
    """Each text as the target's tokens with each cell of its uniforms, its ends and size; padding is poisoned."""
    texts = list(LETTERS_LAW)
    ids, lengths = retokenise(np.array(texts), np.full(len(texts), LETTERS), decode, encode)
    K = ids.shape[1]
    rows = []
    for text, row, n in zip(texts, ids, lengths, strict=True):
        contexts = [START, *row[:n]]
        edges = [sorted({0, *TARGET[context].cumsum()}) for context in contexts]
        for cell in product(*(pairwise(cuts) for cuts in edges)):
            size = Fraction(1)
            for low, high in cell:
                size *= Fraction(int(high - low), EIGHTHS)
            unused = [np.nan] * (K - n)
            first = [low / EIGHTHS for low, _ in cell]
            last = [np.nextafter(high / EIGHTHS, 0) for _, high in cell]
            rows.append((text, row, n, [*first, *unused], [*last, *unused], size))
    draft, num_draft = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    p = TARGET[np.column_stack([np.full(len(rows), START), draft])] / EIGHTHS
    p[np.arange(K + 1) > num_draft[:, None]] = np.nan
    return (
        [row[0] for row in rows],
        draft,
        num_draft,
        p,
        [np.array([row[k] for row in rows]) for k in (3, 4)],
        [row[5] for row in rows],
    )


TEXTS, DRAFT, NUM_DRAFT, P, UNIFORMS, SIZES = batch()


def target_law(length):
    """The target's own law of a number of tokens."""
    law = {(): Fraction(1)}
    for _ in range(length):
        law = {
            (*tokens, x): share * Fraction(int(TARGET[tokens[-1] if tokens else START, x]), EIGHTHS)
            for tokens, share in law.items()
            for x in range(V)
        }
    return law


def wrong_laws(verify):
    """Wrong probabilities of what is emitted, continued by the target to four tokens, text by text."""
    wrong = 0
    due = target_law(4)
    for uniforms in UNIFORMS:
        out, num_out = verify(DRAFT, P, NUM_DRAFT, uniforms=uniforms)
        found = defaultdict(lambda: defaultdict(Fraction))
        for text, tokens, n, size in zip(TEXTS, out.tolist(), num_out.tolist(), SIZES, strict=True):
            found[text][tuple(tokens[:n])] += size
        for law in found.values():
            for length in range(4):
                for tokens in [tokens for tokens in law if len(tokens) == length]:
                    share = law.pop(tokens)
                    for x, p_x in enumerate(TARGET[tokens[-1] if tokens else START].tolist()):
                        law[*tokens, x] += share * Fraction(p_x, EIGHTHS)
            wrong += sum(law[tokens] != due.get(tokens, 0) for tokens in {*law, *due})
    return wrong


def psi(tokens):
    """The probability that the drafted text is tokenised as something that begins with these tokens."""
    return sum(share for ids, share in LETTERS_LAW.items() if tuple(encode(decode(ids)))[: len(tokens)] == tokens)


def kept_at_least(count, law):
    """P(a number of drafts is kept) by the formula: the sum of p·ψ over sequences of tokens, ψ that of the whole."""
    return sum(share * psi(tokens) for tokens, share in law(count).items())


def wrong_acceptance(verify):
    """Wrong probabilities of keeping 1, 2 or 3 drafts or more."""
    wrong = 0
    for uniforms in UNIFORMS:
        _, num_out = verify(DRAFT, P, NUM_DRAFT, uniforms=uniforms)
        for count in (1, 2, 3):
            found = sum(
                LETTERS_LAW[text] * size
                for text, n, size in zip(TEXTS, num_out.tolist(), SIZES, strict=True)
                if n - 1 >= count
            )
            wrong += found != kept_at_least(count, target_law)
    return wrong


def test_all_probabilities_are_the_targets_for_each_text():
    assert len(LETTERS_LAW) == 8
    assert set(NUM_DRAFT) == {2, 3}
    assert wrong_laws(verify_exact_match) == 0


def test_drafts_are_kept_as_often_as_the_formula_says():
    assert wrong_acceptance(verify_exact_match) == 0


@pytest.mark.parametrize("mutant", BY_THE_LAW)
def test_mutants_are_killed_by_the_law(mutant):
    assert wrong_laws(mutant) > 0


@pytest.mark.parametrize("mutant", BY_ACCEPTANCE)
def test_others_are_lossless_and_killed_by_the_acceptance(mutant):
    assert wrong_laws(mutant) == 0
    assert wrong_acceptance(mutant) > 0
