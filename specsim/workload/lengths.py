"""How long prompts and outputs are, and which class a request belongs to.

Knows nothing of models or memory: whether a request fits is the scheduler's question. From tables and traces, prompt
and output are drawn together, because in real traffic they depend on each other; from textbook distributions they are
independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim.arrays import Ints
from specsim.errors import Problem, raise_if_any
from specsim.workload.prefixes import Prefixes
from specsim.workload.quantiles import JointQuantiles, lengths_at


@dataclass(frozen=True)
class Lengths:
    """Lengths of requests and their attributes, all int64 [requests].

    Attributes:
        prompt: tokens sent, at least 1 [tokens].
        output: tokens to generate, at least 1 [tokens].
        priority: lower numbers are served first; None where all are equal.
        domain: index of the acceptance domain, or the trace's domain, from 0; None where all are equal.
        of_class: index of the class in a mixture, from 0; None without one.
        prefixes: prefixes of the prompts; None where nothing is known to be shared.
        recording: index of the request in a recording, from 0, -1 for none; None where all are -1.
    """

    prompt: Ints
    output: Ints
    priority: Ints | None = None
    domain: Ints | None = None
    of_class: Ints | None = None
    prefixes: Prefixes | None = None
    recording: Ints | None = None

    def __getitem__(self, chosen: Ints | slice) -> Lengths:
        """Some of the requests."""
        priority, domain, of_class = (
            None if column is None else column[chosen] for column in (self.priority, self.domain, self.of_class)
        )
        prefixes = None if self.prefixes is None else self.prefixes[chosen]
        recording = None if self.recording is None else self.recording[chosen]
        return Lengths(self.prompt[chosen], self.output[chosen], priority, domain, of_class, prefixes, recording)


class InFlight(NamedTuple):
    """The requests of a closed loop, of which some may be in service when it begins.

    Attributes:
        lengths: of all requests.
        received: of the first of them, the output tokens that they have; 0 where the prompt is yet to be computed. None
            where the loop begins empty.
    """

    lengths: Lengths
    received: Ints | None = None


def fixed_lengths(num_requests: int, prompt_tokens: int, output_tokens: int) -> Lengths:
    """The same lengths for every request [tokens].

    Raises:
        InputError: a length is below 1.
    """
    given = {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens}
    remedy = "write a whole number of tokens, at least 1"
    raise_if_any(Problem("fixed_lengths", name, repr(value), remedy) for name, value in given.items() if value < 1)
    return Lengths(np.full(num_requests, prompt_tokens), np.full(num_requests, output_tokens))


def table_lengths(num_requests: int, table: JointQuantiles, rng: np.random.Generator) -> Lengths:
    """Independent draws from a joint quantile table. A longer draw begins with the shorter one."""
    return Lengths(*lengths_at(table, rng.random((num_requests, 2))))


def resampled_lengths(num_requests: int, observed: Lengths, rng: np.random.Generator) -> Lengths:
    """Independent draws, with replacement, of the observed requests: the traffic's mix without its order.

    A request drawn twice has the same lengths but not the same text, so prompts share nothing.
    """
    return replace(observed, prefixes=None)[rng.integers(observed.prompt.size, size=num_requests)]


def replayed_lengths(num_requests: int, observed: Lengths, first: int = 0) -> Lengths:
    """The observed requests in order, from index ``first``, cyclically."""
    return observed[np.arange(first, first + num_requests) % observed.prompt.size]


def chosen_classes(shares: Sequence[float], uniforms: ArrayLike) -> Ints:
    """The class index that each uniform in [0, 1) chooses, in proportion to the shares, int64 [requests]."""
    ends = np.cumsum(shares)[:-1] / sum(shares)
    return np.searchsorted(ends, np.asarray(uniforms), side="right")


def mixed_lengths(shares: Sequence[float], classes: Sequence[Lengths], uniforms: ArrayLike) -> Lengths:
    """Requests each of one class.

    Args:
        shares: of the classes, in proportion.
        classes: [classes] of all [requests], from which each request takes its own class's.
        uniforms: in [0, 1), [requests]; each chooses a class.
    """
    chosen = chosen_classes(shares, uniforms)
    requests = np.arange(chosen.size)
    prompt, output = (np.stack([getattr(part, name) for part in classes]) for name in ("prompt", "output"))
    unset = np.zeros(chosen.size, np.int64)
    priority, domain = (
        np.stack([unset if getattr(part, name) is None else getattr(part, name) for part in classes])
        for name in ("priority", "domain")
    )
    recording = np.stack([unset - 1 if part.recording is None else part.recording for part in classes])
    taken = [column[chosen, requests] for column in (prompt, output, priority, domain, recording)]
    recorded = None if (recording < 0).all() else taken[4]
    return Lengths(taken[0], taken[1], taken[2], taken[3], chosen, recording=recorded)
