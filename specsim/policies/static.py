"""The same number of draft tokens for every request at every step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specsim.policies.observation import Observation

Ints = NDArray[np.int64]


class Static:
    """A policy that looks at nothing; ``num_draft_tokens`` 0 is no speculation."""

    def __init__(self, num_draft_tokens: int) -> None:
        self._num_draft_tokens = num_draft_tokens

    def __call__(self, observation: Observation, state: None) -> tuple[Ints, None]:
        """Draft lengths [num_decodes] for this step, and no memory."""
        return np.full(observation.num_decodes, self._num_draft_tokens, dtype=np.int64), state
