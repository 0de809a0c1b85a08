"""How long prompts and outputs are: fixed, drawn from a joint quantile table, or those of a trace.

Knows nothing of models or memory: whether a request fits is the scheduler's question. Prompt and output are always
drawn together, because in real traffic they depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specsim.errors import InputError, Problem
from specsim.workload.quantiles import JointQuantiles, lengths_at

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Lengths:
    """Lengths of requests [tokens], both of shape [requests], at least 1.

    Attributes:
        prompt: tokens sent.
        output: tokens to generate.
    """

    prompt: Ints
    output: Ints


def fixed_lengths(num_requests: int, prompt_tokens: int, output_tokens: int) -> Lengths:
    """The same lengths for every request [tokens]."""
    given = {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens}
    problems = [
        Problem("fixed_lengths", name, repr(value), "write a whole number of tokens, at least 1")
        for name, value in given.items()
        if value < 1
    ]
    if problems:
        raise InputError(problems)
    return Lengths(np.full(num_requests, prompt_tokens), np.full(num_requests, output_tokens))


def table_lengths(num_requests: int, table: JointQuantiles, rng: np.random.Generator) -> Lengths:
    """Independent draws from a joint quantile table. A longer draw begins with the shorter one."""
    return Lengths(*lengths_at(table, rng.random((num_requests, 2))))


def resampled_lengths(num_requests: int, observed: Lengths, rng: np.random.Generator) -> Lengths:
    """Independent draws, with replacement, of the pairs observed: the traffic's mix without its order."""
    chosen = rng.integers(observed.prompt.size, size=num_requests)
    return Lengths(observed.prompt[chosen], observed.output[chosen])


def replayed_lengths(num_requests: int, observed: Lengths, first: int = 0) -> Lengths:
    """The pairs observed in their own order, from the one numbered ``first``; after the last comes the first again."""
    chosen = np.arange(first, first + num_requests) % observed.prompt.size
    return Lengths(observed.prompt[chosen], observed.output[chosen])
