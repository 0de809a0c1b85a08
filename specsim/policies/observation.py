"""What an engine can know when it decides how many tokens to draft."""

from __future__ import annotations

from typing import NamedTuple


class Observation(NamedTuple):
    """Seen at the start of a step.

    Attributes:
        num_decodes: requests about to draft and verify.
        num_waiting: requests not yet admitted.
        context_tokens: Σ of the decoding requests' contexts.
    """

    num_decodes: int
    num_waiting: int
    context_tokens: int
