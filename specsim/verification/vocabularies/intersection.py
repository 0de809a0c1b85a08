"""Drafting with the tokens that drafter and target share: token-level intersection (TLI).

Timor et al. 2025 (arXiv:2502.05202), section 4, algorithm 4. With S the shared tokens and s = q(S) their mass,

    q'(x) = q(x)/s for x in S, and 0 elsewhere.

Drafts are sampled from q', a distribution over the target's vocabulary, so any verifier that is lossless for every q is
lossless with q'. One draft is accepted with probability Σ min(p, q'), at most p(S): of the target's mass outside S
nothing is ever drafted. Knows nothing of verifiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from specsim.errors import InputError, Problem, invalid, raise_if_any
from specsim.verification.arrays import Floats, Int64s, Ints
from specsim.verification.rows import located
from specsim.verification.summation import mass
from specsim.verification.vocabularies.rows import check_distributions, check_form, place_of


class VocabularyIntersection:
    """Which tokens a drafter shares with its target.

    Attributes:
        d2t: the target's id of each of the drafter's tokens, -1 where the target lacks it; [Vd], int64, read-only.
        t2d: the drafter's id of each of the target's tokens, -1 where the drafter lacks it; [V], int64, read-only.
        shared: the drafter's ids of the shared tokens, ascending; [n], int64, read-only.

    Raises:
        InputError: an id is none of the target's, two tokens of the drafter are the same one, or none is shared.

    Example:
        >>> import numpy as np
        >>> both = VocabularyIntersection.of_tokens(["b", "x", "a"], ["a", "b", "c"])
        >>> both.d2t
        array([ 1, -1,  0])
        >>> both.restrict(np.array([0.125, 0.5, 0.375]))
        array([0.75, 0.25, 0.  ])
    """

    d2t: Int64s
    t2d: Int64s
    shared: Int64s

    def __init__(self, d2t: Ints, target_size: int) -> None:
        size: object = target_size
        if not isinstance(size, int | np.integer) or size < 1:
            raise invalid("target_size", "", target_size, "must be a whole number of tokens, 1 or more")
        d2t = np.asarray(d2t)
        if d2t.ndim != 1 or d2t.dtype.kind not in "iu":
            found = f"{d2t.dtype}, shape {d2t.shape}"
            raise InputError([Problem("d2t", "", found, "must be whole numbers, one for each token of the drafter")])
        raise_if_any(_problems(d2t, int(target_size)))
        self.d2t = d2t.astype(np.int64)
        self.shared = np.flatnonzero(self.d2t >= 0)
        self.t2d = np.full(target_size, -1, dtype=np.int64)
        self.t2d[self.d2t[self.shared]] = self.shared
        for ids in (self.d2t, self.t2d, self.shared):
            ids.flags.writeable = False

    @classmethod
    def of_tokens(cls, drafter: Sequence[str | bytes], target: Sequence[str | bytes]) -> VocabularyIntersection:
        """The intersection of two vocabularies, given as the texts of their tokens in the order of ids.

        Texts must be written alike: one tokenizer's mark for a space is not another's.

        Args:
            drafter: Vd texts; they differ.
            target: V texts; they differ.

        Raises:
            InputError: a text stands twice in one vocabulary, or none stands in both.
        """
        for name, tokens in (("drafter", drafter), ("target", target)):
            first: dict[str | bytes, int] = {}
            repeated = [x for x, text in enumerate(tokens) if first.setdefault(text, x) != x]
            remedy = "is an earlier token too; each must have a text of its own"
            raise_if_any(Problem(name, f"(token={x})", repr(tokens[x]), remedy) for x in repeated[:1])
        ids = {text: x for x, text in enumerate(target)}
        return cls(np.array([ids.get(text, -1) for text in drafter], dtype=np.int64), len(target))

    def restrict(self, q: Floats, *, validate: bool = True) -> Floats:
        """The distributions q' from which drafts are to be sampled, over the target's vocabulary.

        Args:
            q: distributions over the drafter's vocabulary, float32 or float64, shape [..., Vd].
            validate: check that they are distributions; switch off only where the caller vouches for them.

        Returns:
            q' of the same type, shape [..., V]; masses are summed in float64.

        Raises:
            InputError: the last axis is not the drafter's vocabulary, a row gives no shared token any mass, or (if
                validating) is no distribution. The first such row is named by its indices i0, i1, ..
        """
        q = np.asarray(q)
        check_form("q", q)
        if q.shape[-1] != len(self.d2t):
            raise invalid("q", "shape", q.shape, f"must end in {len(self.d2t)}, the size of the drafter's vocabulary")
        if validate:
            check_distributions("q", q)
        batch, V = q.shape[:-1], len(self.t2d)
        kept = q.reshape(-1, q.shape[-1])[:, self.shared].astype(np.float64, copy=False)
        total = mass(kept)
        empty = np.flatnonzero(total == 0)
        remedy = (
            "is the mass of all shared tokens, which leaves nothing to draft: restrict q before top-k and top-p, or end"
            " the draft here"
        )
        raise_if_any(located("q", place_of(empty, batch), np.arange(len(empty)), total[empty], remedy))
        restricted = np.zeros((len(kept), V), dtype=q.dtype)
        restricted[:, self.d2t[self.shared]] = kept / total[:, None]
        return restricted.reshape(*batch, V)


def _problems(d2t: Ints, V: int) -> Iterator[Problem]:
    """What is wrong with an id map [Vd] into V tokens."""
    bad = np.flatnonzero((d2t < -1) | (d2t >= V))
    remedy = f"must be a token of the target, from 0 to {V - 1}, or -1 where the target has none"
    yield from located("d2t", {"token": np.arange(len(d2t))}, bad, d2t[bad], remedy)
    _, first = np.unique(d2t, return_index=True)
    repeated = np.setdiff1d(np.flatnonzero(d2t >= 0), first)
    remedy = "is the target's token of an earlier entry too; each must have its own"
    yield from located("d2t", {"token": np.arange(len(d2t))}, repeated, d2t[repeated], remedy)
    if not (d2t >= 0).any():
        yield Problem("d2t", "", "", "must share a token with the target; without any there is nothing to draft")
