"""How siblings were drawn decides how they are judged: the three schemes of multi-candidate verification.

At a node with target p the children are tested in order against a residual r, at first p. A child x that was drawn
from q' passes with probability min(1, r(x)/q'(x)); after a rejection r becomes max(0, r - q') normalised, by the
argument of Leviathan et al. 2023 (arXiv:2211.17192) applied to r and q'. So whatever the first children said, the next
token is distributed as r, and with them as p:

- with replacement (SpecInfer, arXiv:2305.09781, algorithm 2): q' = q for every child;
- without replacement (Sequoia, arXiv:2402.12374, algorithm 2): q' = q without earlier siblings' tokens, normalised;
- one-hot (tokens chosen, not drawn): q' is all on x, so x passes with probability r(x) and is struck out of r.

Neither r nor q' is ever divided by its sum. With s = Σr and m = Σq' the child passes iff u·(s·q'(x)) < m·r(x), and r
becomes max(0, m·r - s·q'), scaled by a power of two: inputs in whole fractions of a power of two thus stay exact. Rows
of p and q as they are given count as summing to 1, as they do in `verify_chain`.

Knows nothing of how a walk goes from node to node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from specsim.verification.arrays import Float64s, Int64s, Ints
from specsim.verification.summation import mass
from specsim.verification.trees.forest import Forest, Siblings
from specsim.verification.trees.topology import Links

# Of the power of two that a residual is scaled by; one over it must still be a number.
_SMALLEST_EXPONENT = -1000


@dataclass(frozen=True)
class Trial:
    """One child per row, to be tested.

    Attributes:
        forest: the trees.
        links: their links.
        b: index of the tree [n].
        i: index of the node in it [n].
        token: its token [n].
    """

    forest: Forest
    links: Links
    b: Int64s
    i: Int64s
    token: Ints

    def of_rows(self, chosen: Int64s) -> Trial:
        """The tests of these indices [m]."""
        return Trial(self.forest, self.links, self.b[chosen], self.i[chosen], self.token[chosen])


Proposal: TypeAlias = Callable[[Trial], tuple[Float64s, Float64s]]
Shrink: TypeAlias = Callable[[Trial, Float64s, Float64s], Float64s]


@dataclass(frozen=True)
class Scheme:
    """The rule for one way of drawing siblings.

    Attributes:
        proposal: q'(x) of the tested children and the mass of q', both unnormalised [n].
        shrink: residuals after a rejection [n, V], given those before, which it may overwrite, and their masses [n].
        measure: the mass of residuals against which another sibling will be tested [n].
    """

    proposal: Proposal
    shrink: Shrink
    measure: Callable[[Float64s], Float64s] = mass


def sampled_weight(trial: Trial) -> tuple[Float64s, Float64s]:
    """q(x), and 1 for the mass of q; both [n]."""
    q, row = trial.forest.drafter_rows(trial.b, trial.i)
    return q[row, trial.token].astype(np.float64, copy=False), np.ones(len(row))


def weight_among_remaining(trial: Trial) -> tuple[Float64s, Float64s]:
    """q(x), and the mass of q without the tokens of earlier siblings, 1 where there are none; both [n]."""
    weight, total = sampled_weight(trial)
    later = np.flatnonzero(trial.links.previous_sibling[trial.b, trial.i] >= 0)
    if len(later):
        total[later] = mass(remaining(trial.of_rows(later)))
    return weight, total


def certain(trial: Trial) -> tuple[Float64s, Float64s]:
    """Probabilities 1 and 1, both [n]: the token was chosen, not drawn."""
    ones = np.ones(len(trial.b))
    return ones, ones


def drafter_distribution(trial: Trial) -> Float64s:
    """A copy of the row of q that each child was drawn from [n, V]."""
    q, row = trial.forest.drafter_rows(trial.b, trial.i)
    return q[row].astype(np.float64, copy=False)


def remaining(trial: Trial) -> Float64s:
    """The row of q that each child was drawn from, without the tokens of its earlier siblings [n, V]."""
    weights = drafter_distribution(trial)
    j, earlier = np.arange(len(trial.b)), trial.i
    while len(j):
        earlier = trial.links.previous_sibling[trial.b[j], earlier]
        j, earlier = j[earlier >= 0], earlier[earlier >= 0]
        weights[j, trial.forest.token[trial.b[j], earlier]] = 0.0
    return weights


def subtract_drafter(trial: Trial, residual: Float64s, residual_mass: Float64s) -> Float64s:
    """Weights max(0, r - s·q) for residuals r [n, V] of mass s [n] (arXiv:2305.09781, algorithm 2)."""
    return _excess(residual, residual_mass, drafter_distribution(trial), np.ones(len(residual)))


def subtract_remaining(trial: Trial, residual: Float64s, residual_mass: Float64s) -> Float64s:
    """Weights max(0, m·r - s·q') [n, V], where q' is q without the tokens of earlier siblings and m its mass."""
    _, total = weight_among_remaining(trial)
    return _excess(residual, residual_mass, remaining(trial), total)


def strike_out(trial: Trial, residual: Float64s, residual_mass: Float64s) -> Float64s:
    """The residuals [n, V] without the rejected tokens."""
    residual[np.arange(len(residual)), trial.token] = 0.0
    return residual


def _excess(r: Float64s, s: Float64s, q: Float64s, m: Float64s) -> Float64s:
    """max(0, m·r - s·q) over the power of two in s, so that many rejections do not underflow; both are overwritten."""
    _, exponent = np.frexp(s)
    exponent = np.maximum(exponent, _SMALLEST_EXPONENT)
    r *= np.ldexp(m, 1 - exponent)[:, None]
    q *= np.ldexp(s, 1 - exponent)[:, None]
    np.subtract(r, q, out=r)
    return np.maximum(r, 0.0, out=r)


SCHEMES: dict[Siblings, Scheme] = {
    "with_replacement": Scheme(sampled_weight, subtract_drafter),
    "without_replacement": Scheme(weight_among_remaining, subtract_remaining),
    "one_hot": Scheme(certain, strike_out),
}
