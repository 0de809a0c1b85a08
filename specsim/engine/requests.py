"""The state of every request of a run, as arrays indexed by request number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RequestTable:
    """Lengths, progress and times of all requests.

    Args:
        prompt_tokens, output_tokens: lengths [N]; request numbers are positions in them.
    """

    def __init__(self, prompt_tokens: Ints, output_tokens: Ints) -> None:
        never = np.full(len(prompt_tokens), np.nan)
        self.prompt_tokens = prompt_tokens
        self.output_tokens = output_tokens
        self.computed_prompt = np.zeros_like(prompt_tokens)
        self.emitted = np.zeros_like(output_tokens)
        self.catch_up = np.ones_like(output_tokens)
        self.arrival, self.admitted, self.first_token, self.finish = (never.copy() for _ in range(4))

    def __len__(self) -> int:
        return len(self.prompt_tokens)

    def emit(self, requests: Ints, tokens: Ints, now: float) -> Ints:
        """Add output tokens, mark first and last times, and return the requests whose output is complete."""
        before = self.emitted[requests]
        self.first_token[requests[(before == 0) & (tokens > 0)]] = now
        self.emitted[requests] = before + tokens
        done: Ints = requests[before + tokens == self.output_tokens[requests]]
        self.finish[done] = now
        return done
