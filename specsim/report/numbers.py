"""Lists of numbers given on the command line, separated by commas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from specsim.errors import Problem

Number = TypeVar("Number", int, float)


def read_list(
    text: str,
    read: Callable[[str], Number],
    allowed: Callable[[Number], bool],
    option: str,
    remedy: str,
    problems: list[Problem],
) -> list[Number]:
    """The numbers of a list.

    Args:
        text: what was given.
        read: turns an entry into a number, or raises ValueError.
        allowed: which numbers may stand there.
        option: that the list was given with, for the message.
        remedy: what to write instead, for the message.
        problems: entries that are no such number are added here.
    """
    found = []
    for entry in text.split(","):
        try:
            value = read(entry)
        except ValueError:
            value = None
        if value is None or not allowed(value):
            problems.append(Problem(option, "", repr(entry.strip()), f"{remedy}, several by commas"))
        else:
            found.append(value)
    return found
