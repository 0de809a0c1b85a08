"""Textbook distributions of lengths, and how clipping them to bounds changes their means.

Prompt and output are independent of each other, unlike in real traffic: see ``quantiles`` for that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from specsim.arrays import Ints
from specsim.workload.lengths import Lengths


class Spread(NamedTuple):
    """A distribution of lengths [tokens].

    Attributes:
        mean, sd: of the lengths before they are rounded and clipped; for a lognormal too, not of its logarithm.
        low, high: bounds; draws beyond are clipped to them.
        logarithmic: lognormal instead of normal.
    """

    mean: float
    sd: float
    low: int
    high: int
    logarithmic: bool

    @property
    def of_logarithm(self) -> tuple[float, float]:
        """Mean and standard deviation of a lognormal's logarithm."""
        variance = math.log1p((self.sd / self.mean) ** 2)
        return math.log(self.mean) - variance / 2, math.sqrt(variance)


def uniform_lengths(
    num_requests: int, prompt: tuple[int, int], output: tuple[int, int], rng: np.random.Generator
) -> Lengths:
    """Uniform whole lengths between two bounds, both included. A longer draw begins with the shorter one."""
    low, high = np.array([prompt, output]).T
    drawn = low + np.floor(rng.random((num_requests, 2)) * (high - low + 1)).astype(np.int64)
    return Lengths(*drawn.T.copy())


def spread_lengths(num_requests: int, prompt: Spread, output: Spread, rng: np.random.Generator) -> Lengths:
    """Normal or lognormal lengths, rounded to whole tokens and clipped. A longer draw begins with the shorter one."""
    normal = rng.standard_normal((num_requests, 2))
    return Lengths(_tokens(prompt, normal[:, 0]), _tokens(output, normal[:, 1]))


def _tokens(spread: Spread, normal: np.ndarray) -> Ints:
    if spread.logarithmic:
        mean, sd = spread.of_logarithm
        top = math.log(spread.high) + 1  # clipped anyway; else exp could overflow
        drawn = np.exp(np.minimum(mean + sd * normal, top))
    else:
        drawn = spread.mean + spread.sd * normal
    tokens: Ints = np.rint(np.clip(drawn, spread.low, spread.high)).astype(np.int64)
    return tokens


def clipped_mean(spread: Spread) -> float:
    """The mean after clipping, before rounding [tokens].

    E[clip(X)] = low·P(X < low) + E[X; low ≤ X ≤ high] + high·P(X > high), each term in closed form.
    """
    if spread.sd == 0:
        return min(max(spread.mean, spread.low), spread.high)
    if spread.logarithmic:
        mean, sd = spread.of_logarithm
        below, above = (math.log(spread.low) - mean) / sd, (math.log(spread.high) - mean) / sd
        inside = spread.mean * (_normal_cdf(above - sd) - _normal_cdf(below - sd))
    else:
        below, above = (spread.low - spread.mean) / spread.sd, (spread.high - spread.mean) / spread.sd
        inside = spread.mean * (_normal_cdf(above) - _normal_cdf(below))
        inside -= spread.sd * (_normal_density(above) - _normal_density(below))
    return spread.low * _normal_cdf(below) + inside + spread.high * _normal_cdf(-above)


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _normal_density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
