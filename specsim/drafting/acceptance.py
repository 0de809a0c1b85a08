"""An acceptance source hands the verifier real arrays whose overlap is the acceptance that the user gives.

Rows of p and q are built as p = α·c + (1−α)·a and q = α·c + (1−α)·b, where c has full support and a and b live on
disjoint halves of the vocabulary. Then min(p, q) = α·c, so Σ min(p, q) = α exactly, the acceptance of one draft token
(Leviathan et al., arXiv 2211.17192), and for α > 0 every token can be drafted and emitted. The verifier alone decides
what is accepted; nothing here counts as "accepted".

Drafts that are chosen rather than drawn (an argmax, an n-gram) are accepted with the probability that p gives them:
``first_choice_rows`` makes that the given acceptance.

Under the token rule a draft is accepted with probability α whatever the shapes of c, a and b. Under the block rule
acceptance depends on them, so its gain is a property of these made-up shapes (Dirichlet with a given concentration),
independent from position to position; a real pair of models may gain more or less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Floats, Ints
from specsim.drafting.chain_rows import ChainRows
from specsim.drafting.variation import no_variation


def overlapping_rows(
    overlap: ArrayLike, vocabulary: int, rng: np.random.Generator, concentration: float = 1.0
) -> tuple[Floats, Floats]:
    """Random pairs (p, q) with Σ min(p, q) equal to ``overlap``, both float64 [n, V].

    Args:
        overlap: α per row, in [0, 1] [n].
        vocabulary: tokens per row V, at least 2.
        rng: decides the shapes of the rows.
        concentration: of the Dirichlet distributions of c, a and b; 1 is uniform over all shapes, less has peaks.
    """
    alpha = np.asarray(overlap, dtype=np.float64)[:, None]
    rows, half = len(alpha), vocabulary // 2
    common = rng.dirichlet(np.full(vocabulary, concentration), rows)
    target_only, draft_only = np.zeros((2, rows, vocabulary))
    target_only[:, :half] = rng.dirichlet(np.full(half, concentration), rows)
    draft_only[:, half:] = rng.dirichlet(np.full(vocabulary - half, concentration), rows)
    p: Floats = alpha * common + (1 - alpha) * target_only
    q: Floats = alpha * common + (1 - alpha) * draft_only
    return p, q


def first_choice_rows(p: Floats, choice: Ints, acceptance: Floats) -> Floats:
    """Rows [n, V] that give the chosen token exactly this probability, and scale the other probabilities.

    A draft that was chosen and not sampled is accepted with the probability that p gives it. These are real rows with
    that probability, whatever the shape of the rest; with an acceptance of 1 nothing is left for the rest.

    Args:
        p: rows, each with some probability on other tokens than the chosen one [n, V].
        choice: the token chosen in each row [n].
        acceptance: the probability to give it [n].
    """
    rows, n = p.copy(), np.arange(len(p))
    rows[n, choice] = 0.0
    rows *= ((1 - acceptance) / rows.sum(axis=1))[:, None]
    rows[n, choice] = acceptance
    return rows


class PositionAcceptance:
    """Proposes drafts and scores them from one (p, q) pair per draft position, the same for every request.

    Args:
        conditional: P(position i accepted | all before it accepted) [K]; K is the longest draft.
        vocabulary: tokens per row, V.
        rng: decides the shapes of the rows, which acceptance by the token rule does not depend on.
        concentration: of the shapes, as for ``overlapping_rows``. The block rule accepts more than the token rule; how
            much more depends on the shapes.
        sampled: drafts are drawn from q; otherwise they are its most likely tokens, and no q is handed out.
        greedy: the target decodes at temperature 0.
    """

    def __init__(
        self,
        conditional: ArrayLike,
        vocabulary: int,
        rng: np.random.Generator,
        concentration: float = 1.0,
        *,
        sampled: bool = True,
        greedy: bool = False,
    ) -> None:
        self._conditional = np.asarray(conditional, dtype=np.float64)
        self._vocabulary, self._greedy = vocabulary, greedy
        # one more row of p: the bonus token's, for which no draft competes
        p, q = overlapping_rows(np.append(self._conditional, 1.0), vocabulary, rng, concentration)
        self._p, self._q, self._sampled = p, q[:-1], sampled
        self._choice = self._q.argmax(axis=1)
        if not sampled:
            self._p[:-1] = first_choice_rows(p[:-1], self._choice, self._conditional)
        self._draft_cdf = np.cumsum(self._q, axis=1)
        self._draft_cdf /= self._draft_cdf[:, -1:]

    @property
    def rows(self) -> ChainRows:
        """The tables of one domain."""
        return ChainRows(
            longest=len(self._q),
            sampled=self._sampled,
            draft_cdf=self._draft_cdf,
            guide=(self._draft_cdf[:, None, :] <= np.arange(self._vocabulary)[:, None] / self._vocabulary).sum(axis=2),
            choice=self._choice,
            conditional=self._conditional,
            drafter=self._q,
            q=self._q if self._sampled else self._q[:0],
            p=np.concatenate([self._p, np.eye(self._vocabulary)]),
            greedy=np.array([self._greedy]),
            variation=no_variation(len(self._q)),
        )

    def propose(self, uniforms: Floats) -> Ints:
        """Draft tokens [B, K]: drawn from q by inverse CDF with ``uniforms`` [B, K] in [0, 1), or its argmax."""
        if not self._sampled:
            return np.broadcast_to(self._choice[: uniforms.shape[1]], uniforms.shape)
        drafts = np.empty(uniforms.shape, dtype=np.int64)
        for position in range(uniforms.shape[1]):
            drafts[:, position] = self._draft_cdf[position].searchsorted(uniforms[:, position], side="right")
        return drafts

    def score(self, draft: Ints) -> tuple[Floats | None, Floats]:
        """(q [B, K, V], p [B, K+1, V]) that drafts [B, K] are drawn from and judged by; q is None if not drawn."""
        batch, num_draft_tokens = draft.shape
        q = (
            np.broadcast_to(self._q[:num_draft_tokens], (batch, num_draft_tokens, self._vocabulary))
            if self._sampled
            else None
        )
        p = np.broadcast_to(self._p[: num_draft_tokens + 1], (batch, num_draft_tokens + 1, self._vocabulary))
        return q, p
