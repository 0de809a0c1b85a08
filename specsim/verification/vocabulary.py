"""A draft vocabulary that is a part of the target's, as EAGLE-3's and FR-Spec's are.

The drafter's distribution over its own few tokens is one over the target's vocabulary that gives the others no
probability, so a verifier that is lossless for any q is lossless through the map. Knows nothing of verifiers.
"""

from __future__ import annotations

import numpy as np

from specsim.errors import InputError, Problem, invalid, raise_if_any
from specsim.verification.arrays import Floats, Int64s, Ints


class VocabularyMap:
    """Which token of the target each token of the drafter is.

    Attributes:
        d2t: the target's id of each of the drafter's tokens, shape [Vd], int64, read-only. (Where a checkpoint holds
            offsets, as EAGLE-3's `d2t` does, add `np.arange(Vd)`.)
        target_size: how many tokens the target has, V.
    """

    d2t: Int64s
    target_size: int

    def __init__(self, d2t: Ints, target_size: int) -> None:
        size: object = target_size
        if not isinstance(size, int | np.integer) or size < 1:
            raise invalid("target_size", "", target_size, "must be a whole number of tokens, 1 or more")
        d2t = np.asarray(d2t)
        if d2t.ndim != 1 or d2t.dtype.kind not in "iu" or len(d2t) == 0:
            found = f"{d2t.dtype}, shape {d2t.shape}"
            raise InputError([Problem("d2t", "", found, "must be whole numbers, one for each token of the drafter")])
        outside = np.flatnonzero((d2t < 0) | (d2t >= target_size))
        remedy = f"must be a token of the target, from 0 to {target_size - 1}"
        problems = [Problem("d2t", f"(token={x})", str(d2t[x]), remedy) for x in outside[:1]]
        _, first = np.unique(d2t, return_index=True)
        repeated = np.setdiff1d(np.arange(len(d2t)), first)
        remedy = "is the target's token of an earlier entry too; each must have its own"
        problems += [Problem("d2t", f"(token={x})", str(d2t[x]), remedy) for x in repeated[:1]]
        raise_if_any(problems)
        self.d2t, self.target_size = d2t.astype(np.int64), int(target_size)
        self.d2t.flags.writeable = False

    def to_target(self, draft: Ints) -> Int64s:
        """The target's ids of drafted tokens, int64, any shape; negative ids are padding and become -1.

        Raises:
            InputError: an id is not one of the drafter's.
        """
        draft = np.asarray(draft)
        if draft.dtype.kind not in "iu":
            raise invalid("draft", "dtype", str(draft.dtype), "must be integers; convert it first")
        outside = draft[draft >= len(self.d2t)]
        if len(outside):
            raise invalid("draft", "", int(outside[0]), f"must be a token of the drafter, below {len(self.d2t)}")
        return np.where(draft < 0, -1, self.d2t[np.maximum(draft, 0).astype(np.int64)])

    def scatter(self, q: Floats) -> Floats:
        """Distributions over the drafter's vocabulary, shape [..., Vd], as ones over the target's, [..., V].

        The type stays; tokens that the drafter does not have get probability 0.

        Raises:
            InputError: the last axis is not the drafter's vocabulary.
        """
        q = np.asarray(q)
        if q.dtype not in (np.float32, np.float64):
            raise invalid(
                "q", "dtype", str(q.dtype), "must be float32 or float64; convert it, and normalise its rows again"
            )
        if q.ndim == 0 or q.shape[-1] != len(self.d2t):
            raise invalid("q", "shape", q.shape, f"must end in {len(self.d2t)}, the size of the drafter's vocabulary")
        wide = np.zeros((*q.shape[:-1], self.target_size), dtype=q.dtype)
        wide[..., self.d2t] = q
        return wide
