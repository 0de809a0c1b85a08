"""Turns of phrase that several reports share."""

from __future__ import annotations


def draft_tokens(number: int) -> str:
    """``1 draft token``, ``3 draft tokens``."""
    return f"{number} draft token{'s' if number > 1 else ''}"


def from_to(low: object, high: object) -> str:
    """``1 to 8``, or the one value where both are the same."""
    return str(low) if str(low) == str(high) else f"{low} to {high}"
