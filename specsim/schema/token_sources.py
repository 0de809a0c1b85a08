"""Acceptance that nobody states as a figure: it is read from a recording."""

from __future__ import annotations

from typing import Literal

from specsim.schema.base import Input


class ReplayAcceptance(Input):
    """What was accepted of real requests, position by position of the output."""

    kind: Literal["replay"]
    file: str
    """Path of a recording: JSONL, a request a line, with prompt_tokens, output_tokens and lists. Each request takes one
    of those recorded: that of which its lengths are, or one that is drawn."""
    field: str
    """Which list: for each output position from 0 on, how many tokens a verify that starts there emits (accepted + 1).
    Beyond its end a list starts anew."""
    source: str = ""
    """Where the recording comes from; printed with the result."""

    @property
    def varies(self) -> bool:
        """Whether acceptance depends on more than the position in a draft."""
        return True

    @property
    def measured_positions(self) -> int | None:
        """How many positions the figures cover; the recording's own, which this does not know."""
        return None
